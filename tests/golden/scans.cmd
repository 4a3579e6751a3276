fill 2000 + filtered 0 256 -1 65535 + filtered 10 200 1000 60000
fill 2000 + filtered -5 300 -9223372036854775808 9223372036854775807 + filtered 256 257 0 1
fill 2000 + filtered 0 255 65535 70000 + filtered 255 256 -1 65536 + filtered -1 0 -2 -1
fill 2000 + unlike 7 311 + unlike -1 -1 + unlike 255 65536 + unlike 256 70000
fill 30 + wide
fill 2000 + wide
fill 2000 + grouped
fill 2000 + moving 1 + moving 7
fill 2000 + overflow 0 + overflow 100
fill 2000 + overflow 9223372036854775000

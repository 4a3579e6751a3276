fill + all
fill + replace 2 zwei + all
fill + again 4 + all
fill + again 3
fill + name 2 + name_or 2 + name_or 9 + ask 1 + ask 7
name 1
fill + pair 20 9 + pair 20 8
fill + slice 20 + slice 15
fill + range 20 2 9 + range 20 4 4 + range 20 9 2 + from 20 5 + to 20 4 + outer_range 15 25
fill + counts 20
fill + ends 20
fill + ends 15

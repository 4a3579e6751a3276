basics
divide 7 2 + divide -7 2 + divide 7 -2 + divide -7 -2
divide -9223372036854775808 2
negate 5
add_one 9223372036854775806
one_less -9223372036854775807
times 3037000499 3037000499
literals
associative + grouped
large_steps 1

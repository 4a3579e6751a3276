up 1 3 + up 3 3 + up 4 3 + up -2 1
last_numbers
first_numbers -9223372036854775807
never
once
table 3
halves 20
jumps 20
inner_jumps
early 50
collatz 27
sum 1000

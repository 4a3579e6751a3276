fibonacci 20
parity 7
all
constant
order
deep 100
deep 100000
in_values
left_to_right

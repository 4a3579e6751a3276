sign -3 + sign 0 + sign 5 + sign 50
chosen 6 + chosen 7
chain -1 + chain 0 + chain 1
clamped -5 + clamped 5 + clamped 15
constant
no_else 0 + no_else 2 + no_else 5

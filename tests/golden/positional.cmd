fill + all + size + ends
fill + at 2 + at_or 2 + at_or 3 + at_or -1 + ask 0 + ask 3
fill + at 3
fill + at -1
growing 4
fill + change 1 zwei + all
fill + sorted_under + all
fill + emptied + size
fill + gone
ends

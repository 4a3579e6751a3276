inserting
deleting
changing
cleared
nested
in_slice 2
fill 7 + halve
fill 7 + by_call

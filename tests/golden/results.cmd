scalar_int + scalar_text + scalar_bool + scalar_real + scalar_date
nothing
no_rows
emitted 2 + emitted 10
returned true + returned false
fill + early 0 + early 9 + all

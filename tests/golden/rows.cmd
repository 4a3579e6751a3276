fill + follow
fill + deleted
fill + deleted_key
fill + twice
fill + back
fill + calls
fill + in_loop
fill + branches true + branches false
fill + key_columns + two

fill + remove 2 + show
fill + remove 9
fill + remove_row 3 + show + remove_row 3
fill + remove_first + show
fill + empty + show + show_p + empty_p + show_p
fill + set 2 new + append 2 er + show

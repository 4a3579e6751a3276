ints
more_reals -2.5 + more_reals 1.25
texts
lengths "größe"
tests "banana" "an" + tests "banana" "ban" + tests "banana" "na" + tests "banana" "x"
dates
bad_int "12x"
bad_date "2020-13-01"
too_large 1e30
smallest -9223372036854775808
half 2020-08-01

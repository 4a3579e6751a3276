basics
infinite 3.0
compare 1.5 2.5 + compare 2.5 2.5 + compare 3.5 2.5
not_compare 1.0 2.0 + not_compare 2.0 1.0
nan + nan_compare + zeros

literals --format json
joined hello world
grown 5
compare abc abd + compare abc abc + compare b abc
constant

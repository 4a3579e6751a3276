open 1 100 + open 2 50 + transfer 1 2 30 + all
open 1 100 + open 2 50 + transfer 1 2 130 + all
open 1 100 + transfer 1 3 30
checked 3 + checked 4
empty_first
no_key 5

put1 + miss
miss2 Ann
miss2 "a\"bcdefghijklmnopqrstuvwxyzäääääääöüüüüüüüüüüü"
miss2 'two	words'
dup
rown
fst
lst
add1 9223372036854775807
sub1 -5 9223372036854775807
sub1 5 -9223372036854775807
mul 3 7
neg -9223372036854775808
ab -9223372036854775808
div 3 0
div -9223372036854775808 -1
mod -3 0
dat 2020-01-01 99999999
dat 2020-01-01 -99999999
i x1
i ''
r 1,5
dt 2020-02-30
ymd 2023 2 29
ir 1e300
ir nan
sub abc -1 2
sub abc 0 -2
del
dele
gone
sums
hole
twice
column
beyond
spelled x12

truth true true + truth true false + truth false true + truth false false
short 0 + short 1 + short 5
precedence
nested 1 2 3 + nested 3 2 1 + nested 2 3 1 + nested 1 1 2
kept true + kept false

fresh
keyed
recursive
texts

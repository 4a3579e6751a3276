fill 3 + sum 3 4
blocks 1 + blocks 0
compact 1 + compact 0

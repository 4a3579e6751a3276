# A made-up package graph of a Debian release's size: 56,000 packages, 283,000 dependencies.
# Most dependencies go to a few packages with small numbers, as in a real one.
BEGIN {
  OFS = "\t"
  srand(12)
  print "package", "needed"
  packages = 56000
  for (made = 0; made < 283000;) {
    from = 1 + int(rand() * packages)
    to = 1 + int(from * rand() * rand() * rand())
    if (to < from && !((from, to) in done)) {
      done[from, to] = 1
      print "pkg-" from, "pkg-" to
      made++
    }
  }
}

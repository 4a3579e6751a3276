# Debian package records (apt-cache dumpavail) to one line a dependency: package TAB needed.
# Depends and Pre-Depends; every alternative counts; versions and architectures are dropped.
BEGIN { FS = ": "; OFS = "\t"; print "package", "needed" }
/^Package: / { package = $2; next }
/^(Pre-)?Depends: / {
  sub(/^[^:]*: /, "")
  gsub(/\([^)]*\)|\[[^]]*\]|:[a-z0-9]+|[ ]/, "")
  n = split($0, part, /[,|]/)
  for (i = 1; i <= n; i++)
    if (part[i] != "" && !((package, part[i]) in done)) {
      done[package, part[i]] = 1
      print package, part[i]
    }
}

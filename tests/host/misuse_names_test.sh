#!/bin/bash
# misuse_test.c leaves out no function of the headers that can tell what was wrong.
set -euo pipefail
missing=$(cat "$SRC"/host/include/pure/*.h | tr '\n' ' ' | grep -o 'PURE_API[^;]*;' |
  grep 'pure_error \*error)' | grep -o 'pure_[a-z0-9_]*(' | sort -u |
  while read -r name; do
    grep -qF "MISUSED($name" "$SRC/tests/host/misuse_test.c" || echo "$name)"
  done)
[ -z "$missing" ] || { echo "misuse_test.c does not call $missing"; exit 1; }
echo "1 passed, 0 failed"

#!/bin/bash
# The tests of the compiled tiers under the thread sanitizer. Not a ctest; takes ten minutes.
# usage: tests/long/tsan.sh [TEST...]      default: all of tests/jit
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p build
tests=("$@")
[ ${#tests[@]} -gt 0 ] || tests=($(cd tests/jit && ls *.c | sed 's/\.c$//'))
{ cmake --preset tsan && cmake --build --preset tsan --target pure_llvmjit "${tests[@]/#/tests_jit_}"; } \
  >build/tsan.log 2>&1 || { tail -n 40 build/tsan.log >&2; exit 1; }
export SRC=$PWD CK_FORK=no PURE_SANITIZE=thread PURE_JIT_CACHE=off PURE_RANDOM_PROGRAMS=1 PURE_RANDOM_SMALL=40
failed=0
for name in "${tests[@]}"; do
  if build/tsan/tests/jit/"$name" >"build/tsan-$name.log" 2>&1; then
    echo "ok    $name"
  else
    echo "FAIL  $name: build/tsan-$name.log"
    failed=1
  fi
done
exit $failed

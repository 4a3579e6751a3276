#!/bin/bash
# The long property test of the list layer: every layout against the naive model, under the
# address and undefined behaviour sanitizers. Not a ctest; takes some minutes.
# usage: tests/long/property.sh [OPS [SEED]]     default: 2000000 operations, a seed from the clock
set -euo pipefail
cd "$(dirname "$0")/../.."
ops=${1:-2000000}
seed=${2:-$(date +%s)}
mkdir -p build
{ cmake --preset asan && cmake --build --preset asan --target tests_lists_property_test; } \
  >build/property.log 2>&1 || { tail -n 40 build/property.log >&2; exit 1; }
export UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS=allocator_may_return_null=1:strict_string_checks=1
echo "seed $seed, $ops operations"
exec build/asan/tests/lists/property_test --ops "$ops" --seed "$seed"

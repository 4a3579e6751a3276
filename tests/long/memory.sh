#!/bin/bash
# The stress of list memory under the thread sanitizer, then under the address sanitizer: four
# threads that come and go, random sizes with contents checked, inboxes of two slots, decay of one
# millisecond. Not a ctest; takes 20 minutes.
# usage: tests/long/memory.sh [SECONDS]      default: 600 for each sanitizer
set -euo pipefail
cd "$(dirname "$0")/../.."
export MEM_STRESS_SECONDS=${1:-600} CK_FORK=no CK_RUN_CASE=stress
mkdir -p build
for preset in tsan asan; do
  { cmake --preset $preset && cmake --build --preset $preset --target tests_lists_mem_threads_test; } \
    >build/memory.log 2>&1 || { tail -n 40 build/memory.log >&2; exit 1; }
  echo "$preset, $MEM_STRESS_SECONDS s"
  build/$preset/tests/lists/mem_threads_test
done

#!/bin/bash
# Compiles and drops 10,000 times: resident memory and mappings at the end, beside those after 500.
# Not a ctest; takes some minutes.
# usage: tests/long/rounds.sh [ROUNDS]      default: 10000
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p build
{ cmake --preset release && cmake --build --preset release --target tests_jit_rounds_test pure_llvmjit; } \
  >build/rounds.log 2>&1 || { tail -n 40 build/rounds.log >&2; exit 1; }
PURE_JIT_CACHE=off exec build/release/tests/jit/rounds_test --rounds "${1:-10000}" --from 500

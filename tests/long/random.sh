#!/bin/bash
# Random programs at every level against `step`, small ones and some large ones; a line for each
# thousand small ones. Not a ctest; 100,000 take half an hour of one processor.
# usage: tests/long/random.sh [SMALL [LARGE [SEED]]]      default: 100000 200 1
set -euo pipefail
cd "$(dirname "$0")/../.."
mkdir -p build
{ cmake --preset release && cmake --build --preset release --target tests_jit_random pure_llvmjit; } \
  >build/random.log 2>&1 || { tail -n 40 build/random.log >&2; exit 1; }
echo "${1:-100000} small and ${2:-200} large programs from seed ${3:-1} on"
PURE_JIT_CACHE=off PURE_RANDOM_SMALL=${1:-100000} PURE_RANDOM_PROGRAMS=${2:-200} PURE_RANDOM_SEED=${3:-1} \
  exec build/release/tests/jit/random

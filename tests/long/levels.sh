#!/bin/bash
# Every golden program at every level, compiled at once and in the background, and with 20 seeds of
# PURE_JIT_STRESS=deopt and =layout: first through pure-run, each line of each .cmd; then all functions
# of all programs on rows made from seeds. Not a ctest; takes some ten minutes.
# usage: tests/long/levels.sh [SEEDS]      default: 20
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${1:-20}
mkdir -p build
{ cmake --preset release && cmake --build --preset release; } >build/levels.log 2>&1 ||
  { tail -n 40 build/levels.log >&2; exit 1; }
python3 tests/jit/support/levels.py --run build/release/host/pure-run --seeds "$seeds" --background --cache
SRC=$PWD PURE_JIT_CACHE=off PURE_STRESS_SEEDS=$seeds build/release/tests/jit/programs

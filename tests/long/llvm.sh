#!/bin/bash
# Builds the compiled tiers against another LLVM, and runs their tests. Not a ctest; takes minutes.
# usage: tests/long/llvm.sh LLVM_CONFIG      such as /usr/lib/llvm-22/bin/llvm-config
set -euo pipefail
cd "$(dirname "$0")/../.."
config=$(realpath "${1:?usage: tests/long/llvm.sh LLVM_CONFIG}")
version=$("$config" --version)
build=build/llvm-$version
mkdir -p "$build"
{ cmake -G Ninja -S . -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPURE_WERROR=ON \
    -DPURE_LLVM_CONFIG="$config" && cmake --build "$build"; } >"$build/build.log" 2>&1 ||
  { tail -n 40 "$build/build.log" >&2; exit 1; }
echo "LLVM $version"
exec ctest --test-dir "$build" -R '^(ir|jit)/' --output-on-failure

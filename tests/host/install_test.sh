#!/bin/bash
# Installs the build, moves the tree elsewhere, and uses it from there as a stranger would: gcc with
# pkg-config, shared and static, CMake with find_package, pure-run with the plug-in.
set -euo pipefail
[ -z "$PURE_SANITIZE" ] || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME=$dir PURE_JIT_CACHE=off

cmake --install "$BUILD" --prefix "$dir/first" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
mkdir "$dir/second"
mv "$dir/first" "$dir/second/pure"
root=$dir/second/pure
lib=$(dirname "$(find "$root" -name libpure.so)")
export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
passed=0

# same WHAT EXPECTED FOUND
same() {
  if [ "$2" != "$3" ]; then
    printf '%s: expected\n%s\nfound\n%s\n' "$1" "$2" "$3"
    exit 1
  fi
  passed=$((passed + 1))
}

mkdir "$dir/elsewhere"
cd "$dir/elsewhere"
cp "$SRC/host/examples/c/minimal.c" .
gcc -Wall -Wextra -Werror -std=c99 minimal.c $(pkg-config --cflags --libs pure) -o shared
same "shared" $'2\n3' "$(./shared)"
gcc minimal.c $(pkg-config --cflags pure) -L"$lib" -l:libpure.a \
  $(pkg-config --static --libs pure | sed 's/-lpure//') -o static
same "static" $'2\n3' "$(env -u LD_LIBRARY_PATH ./static)"
version=$(pkg-config --modversion pure)
same "version" "pure-run $version" "$("$root/bin/pure-run" --version)"
same "soname" "libpure.so.${version%.*}" \
  "$(objdump -p "$lib/libpure.so" | awk '$1 == "SONAME" { print $2 }')"

printf '#include <pure/pure.h>\n#include <pure/arrow.h>\n%s\n' \
  'int main() { return pure_version()[0] == 0; }' >plus.cc
g++ -Wall -Wextra -Werror -std=c++11 plus.cc $(pkg-config --cflags --libs pure) -o plus
./plus
passed=$((passed + 1))

# The examples as they are installed, with their own CMake file.
examples=$(find "$root" -name minimal.c -printf '%h\n')
{ cmake -S "$examples" -B examples -DCMAKE_PREFIX_PATH="$root" -DCMAKE_BUILD_TYPE=Release &&
  cmake --build examples && ctest --test-dir examples --output-on-failure; } >log 2>&1 ||
  { cat log; exit 1; }
same "examples" "100% tests passed, 0 tests failed out of 6" "$(grep 'tests passed' log)"
same "allocator" "0 bytes not given back" "$(examples/allocator | tail -n 1)"

# Functions of a library, and the plug-in beside the library or where PURE_PLUGIN_DIR says.
same "geo" $'city,km\nOslo,839\nParis,876\nRome,1181' \
  "$("$root/bin/pure-run" "$SRC/host/examples/geo.pure" --extern examples/geo.so near 52.5 13.4)"
cat >loop.pure <<'END'
query f(n: int): int {
  var s = 0
  for i in 1..n { s += i % 7 }
  return s
}
END
tiers() { PURE_JIT_CACHE=off PURE_JIT_SYNC=1 PURE_JIT_THRESHOLD=1 "$@" loop.pure --stats f 100000 2>&1 >/dev/null; }
if [ -e "$lib/pure/libpure-llvmjit.so" ]; then
  compiled="LLVM .* [1-9][0-9]* compiled"
  tiers "$root/bin/pure-run" | grep "$compiled" >/dev/null || { tiers "$root/bin/pure-run"; exit 1; }
  mkdir nowhere plugins
  cp "$lib/pure/libpure-llvmjit.so" plugins
  mv "$lib/pure" "$lib/gone"
  tiers env PURE_PLUGIN_DIR="$PWD/plugins" "$root/bin/pure-run" | grep "$compiled" >/dev/null
  tiers "$root/bin/pure-run" | grep "there is no libpure-llvmjit.so" >/dev/null
  passed=$((passed + 3))
fi
for page in man1/pure-run.1 man3/pure.3; do
  [ -s "$root/share/man/$page" ] || { echo "no $page"; exit 1; }
  passed=$((passed + 1))
done
echo "$passed passed, 0 failed"

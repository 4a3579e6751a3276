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
# The lines of the tutorial, as they stand there.
cp minimal.c hello.c
grep '^gcc hello.c ' "$SRC/docs/embedding.md" >lines
same "lines of the tutorial" 2 "$(wc -l <lines)"
while read -r line; do
  rm -f hello
  bash -c "$line"
  case $line in
  *--static*)
    same "$line" $'2\n3' "$(env -u LD_LIBRARY_PATH ./hello)"
    objdump -p hello | grep 'NEEDED.*libpure' && { echo "$line: the shared library is needed"; exit 1; }
    ;;
  *) same "$line" $'2\n3' "$(./hello)" ;;
  esac
done <lines
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
  # Of the engine, the loop and the function.
  same "reasons" 3 "$(tiers env PURE_PLUGIN_DIR="$PWD/nowhere" "$root/bin/pure-run" |
    grep -c "there is no libpure-llvmjit.so in $PWD/nowhere")"
  passed=$((passed + 2))
fi

# A program with the library in itself, far from the plug-in: it is told where, or says why not.
cat >tier.c <<'END'
#include <pure/pure.h>
#include <stdio.h>
int main(int n, char **args) {
  pure_jit_options tiers = {.size = sizeof tiers, .plugin_dir = n > 1 ? args[1] : NULL};
  pure_engine_options options = {.size = sizeof options, .environment = true, .tiers = &tiers};
  pure_jit_stats s = {.size = sizeof s};
  pure_engine *engine;
  if (pure_engine_new(&options, &engine, NULL) != PURE_OK)
    return 1;
  pure_engine_jit_stats(engine, &s);
  printf("%s\n", s.reason ? s.reason : "ready");
  bool compiles = pure_engine_jit(engine) != PURE_JIT_0;
  pure_engine_jit_stats(engine, &s);
  printf("%s %s\n", compiles ? "compiles" : "interprets", s.reason ? s.reason : "with LLVM");
  pure_engine_release(engine);
}
END
gcc tier.c $(pkg-config --static --cflags --libs pure) -o tier
nowhere="there is no libpure-llvmjit.so in $PWD/nothing"
same "no plug-in" "$nowhere"$'\n'"interprets $nowhere" "$(./tier "$PWD/nothing")"
interprets="the engine was made to interpret only (PURE_JIT_0)"
same "level 0" "$interprets"$'\n'"interprets $interprets" "$(PURE_JIT=0 ./tier)"
installed=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$BUILD/CMakeCache.txt")
if [ ! -e "$installed/lib/pure" ] && [ ! -e /usr/lib/pure ]; then
  ./tier | grep "^there is no .* nor in $installed/.*plugin_dir" >/dev/null || { ./tier; exit 1; }
  passed=$((passed + 1))
fi
if [ -d plugins ]; then
  same "plugin_dir" $'ready\ncompiles with LLVM' "$(./tier "$PWD/plugins")"
  # libc itself in the program: LLVM would bring a second one.
  if gcc -static tier.c $(pkg-config --static --cflags --libs pure) -o tier-static 2>/dev/null; then
    refused="a program linked with -static cannot load libpure-llvmjit.so; link libc dynamically"
    same "linked with -static" "$refused"$'\n'"interprets $refused" "$(./tier-static "$PWD/plugins")"
  fi
  same "PURE_PLUGIN_DIR" $'ready\ncompiles with LLVM' "$(PURE_PLUGIN_DIR=$PWD/plugins ./tier)"
fi
# The pages that are installed lead to one another.
docs=$(dirname "$(find "$root" -name embedding.md)")
for page in $(grep -oh '](\([a-z-]*\.md\)' "$docs"/*.md | sed 's/^](//' | sort -u); do
  [ -s "$docs/$page" ] || { echo "a page links to $page, which is not installed"; exit 1; }
  passed=$((passed + 1))
done
for page in man1/pure-run.1 man3/pure.3; do
  [ -s "$root/share/man/$page" ] || { echo "no $page"; exit 1; }
  passed=$((passed + 1))
done
echo "$passed passed, 0 failed"

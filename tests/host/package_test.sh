#!/bin/bash
# Makes the Debian packages, looks at what they need, installs them into a root of their own, runs
# what is in there, and removes them again.
set -euo pipefail
[ -z "$PURE_SANITIZE" ] || exit 77
command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null || exit 77
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export HOME=$dir PURE_JIT_CACHE=off

cd "$dir"
cpack --config "$BUILD/CPackConfig.cmake" -B "$dir/made" >log 2>&1 || { cat log; exit 1; }
core=$(echo made/pure_*.deb) dev=$(echo made/libpure-dev_*.deb) jit=$(echo made/pure-jit_*.deb)
field() { dpkg-deb -f "$1" "$2"; }
fail() { echo "$*"; exit 1; }

[[ $(field "$core" Depends) == *libffi* ]] || fail "pure needs libffi: $(field "$core" Depends)"
[[ $(field "$core" Depends) != *[lL][lL][vV][mM]* ]] || fail "pure depends on LLVM"
[[ $(field "$dev" Depends) == *"pure (="* ]] || fail "libpure-dev: $(field "$dev" Depends)"
packages=("$core" "$dev")
if [ -e "$jit" ]; then
  [[ $(field "$jit" Depends) == *[lL][lL][vV][mM]* ]] || fail "pure-jit: $(field "$jit" Depends)"
  packages+=("$jit")
fi
for package in "${packages[@]}"; do
  if dpkg-deb -c "$package" | grep -E ' \./(usr/local|home|tmp|root)' >/dev/null; then
    fail "$package has files in odd places"
  fi
done

if [ "$(id -u)" -ne 0 ]; then
  for package in "${packages[@]}"; do dpkg-deb -x "$package" root; done
else
  mkdir -p root/var/lib/dpkg/{info,updates,triggers}
  touch root/var/lib/dpkg/{status,available}
  # The packages call ldconfig; this machine's own cache is none of theirs.
  mkdir bin
  printf '#!/bin/sh\necho called >>"%s/ldconfig"\n' "$dir" >bin/ldconfig
  chmod +x bin/ldconfig
  export PATH=$dir/bin:$PATH
  into_root() {
    dpkg --root="$dir/root" --force-depends --force-script-chrootless --no-triggers "$@" \
      >log 2>&1 || { cat log; exit 1; }
  }
  into_root -i "${packages[@]}"
  [ -s ldconfig ] || fail "the library is not made known to the loader"
fi
run=$dir/root/usr/bin/pure-run
answer=$("$run" "$SRC/host/examples/bank.pure" --load "accounts=$SRC/host/examples/bank.csv" \
  per_branch | wc -l)
[ "$answer" -gt 1 ] || fail "pure-run answers $answer lines"
if [ -e "$jit" ]; then
  PURE_JIT_CACHE=off PURE_JIT_SYNC=1 PURE_JIT_THRESHOLD=1 "$run" --stats "$SRC/host/examples/bank.pure" \
    --load "accounts=$SRC/host/examples/bank.csv" per_branch 2>&1 |
    grep "LLVM .* [1-9][0-9]* compiled" >/dev/null || fail "the plug-in is not found"
fi

if [ "$(id -u)" -eq 0 ]; then
  names=()
  for package in "${packages[@]}"; do names+=("$(field "$package" Package)"); done
  into_root -P "${names[@]}"
  left=$(find root -path root/var -prune -o -type f -print -o -type l -print)
  [ -z "$left" ] || fail "left behind: $left"
fi
echo "${#packages[@]} passed, 0 failed"

#!/bin/bash
# Pure for AArch64: cross-built, run under qemu-user, compared byte by byte with this machine's own
# answers, faults and work, on the interpreter and in compiled code. Not a ctest; takes minutes.
# usage: tests/long/aarch64.sh [LEVEL...]      default: 0 3
#        tests/long/aarch64.sh --build         builds, and runs nothing: build/aarch64/pure-run, pure-serve
#
# Needs the packages gcc-aarch64-linux-gnu and qemu-user, and those of ./check. The libraries of the
# other architecture are unpacked below build/aarch64/sysroot by an apt of its own state there:
# nothing of another architecture is installed on this machine.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "${1:-}" = --build ] && only_build=1 || only_build=0
levels=("${@:-0 3}")
here=$PWD/build/aarch64
sysroot=$here/sysroot
wanted="libllvm19 libxxhash-dev libffi-dev libedit-dev liblmdb-dev libmicrohttpd-dev libjansson-dev"

for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get dpkg; do
  command -v "$tool" >/dev/null || {
    echo "no $tool: apt-get install gcc-aarch64-linux-gnu qemu-user" >&2
    exit 1
  }
done

# An apt that knows one architecture, and no installed packages.
foreign() {
  local tool=$1
  shift
  "$tool" -o Dir::State="$here/apt/state" -o Dir::Cache="$here/apt/cache" -o Dir::State::status="$here/apt/status" \
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root "$@"
}

unpack_sysroot() {
  mkdir -p "$here/apt/state/lists/partial" "$here/apt/cache/archives/partial" "$here/debs" "$sysroot"
  : >"$here/apt/status"
  foreign apt-get -qq update
  local packages
  packages=$(foreign apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
    --no-replaces --no-enhances $wanted | grep '^[a-z]' | sort -u)
  # Of llvm-19-dev the headers alone are wanted, not what else it needs.
  (cd "$here/debs" && foreign apt-get -qq download $packages llvm-19-dev)
  for deb in "$here"/debs/*.deb; do
    dpkg -x "$deb" "$sysroot"
  done
  echo "$wanted" >"$sysroot/complete"
}

# What llvm-config of the other architecture would say, and what cmake has to know.
write_tools() {
  cat >"$here/llvm-config" <<EOF
#!/bin/sh
case "\$1" in
--version) sed -n 's/^#define LLVM_VERSION_STRING "\(.*\)"/\1/p' $sysroot/usr/include/llvm-19/llvm/Config/llvm-config.h ;;
--includedir) echo $here/include ;;
--libdir) echo $sysroot/usr/lib/llvm-19/lib ;;
*) echo $(readlink -f "$sysroot/usr/lib/aarch64-linux-gnu/libLLVM.so.19.1") ;;
esac
EOF
  for program in pure-run pure-serve; do
    cat >"$here/$program" <<EOF
#!/bin/sh
exec qemu-aarch64 -L $sysroot $here/build/host/$program "\$@"
EOF
    chmod +x "$here/$program"
  done
  chmod +x "$here/llvm-config"
  mkdir -p "$here/include"
  ln -sfn "$sysroot/usr/include/llvm-19/llvm" "$here/include/llvm"
  ln -sfn "$sysroot/usr/include/llvm-c-19/llvm-c" "$here/include/llvm-c"
  cat >"$here/toolchain.cmake" <<EOF
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH $sysroot)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_C_FLAGS_INIT "-idirafter $sysroot/usr/include/aarch64-linux-gnu -idirafter $sysroot/usr/include")
set(paths "-Wl,-rpath-link,$sysroot/usr/lib/aarch64-linux-gnu:$sysroot/lib/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "\${paths}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "\${paths}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "\${paths}")
EOF
}

build() {
  export PKG_CONFIG_LIBDIR=$sysroot/usr/lib/aarch64-linux-gnu/pkgconfig PKG_CONFIG_SYSROOT_DIR=$sysroot
  cmake -G Ninja -S . -B "$here/build" -DCMAKE_TOOLCHAIN_FILE="$here/toolchain.cmake" -DBUILD_TESTING=OFF \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DPURE_WERROR=ON -DPURE_LLVM_CONFIG="$here/llvm-config"
  cmake --build "$here/build" --target programs
}

[ "$(cat "$sysroot/complete" 2>/dev/null)" = "$wanted" ] || unpack_sysroot
write_tools
(build) >"$here/build.log" 2>&1 || { tail -n 40 "$here/build.log" >&2; exit 1; }
file -L "$here/build/host/pure-run" 2>/dev/null || true
[ -e "$here/build/llvmjit/libpure-llvmjit.so" ] || { echo "the plug-in was not built: $here/build.log" >&2; exit 1; }
[ $only_build = 1 ] && exit
native=${PURE_RUN:-$PWD/build/release/host/pure-run}
[ -x "$native" ] || { echo "no $native: build the preset release, or set PURE_RUN" >&2; exit 1; }
exec python3 tests/jit/support/levels.py --base "$native" --run "$here/pure-run" --cache --levels "$(IFS=,; echo "${levels[*]}" | tr ' ' ,)"

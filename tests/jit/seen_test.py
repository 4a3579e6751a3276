#!/usr/bin/env python3
"""What people can see of the compiled tiers through pure-run: dumps, statistics, files for perf,
the cache, and what is said where there is no plug-in."""
import glob
import os
import re
import struct
import subprocess
import sys
import tempfile

RUN = os.environ.get("PURE_RUN")
PROGRAM = """query total(n: int): int {
  var s = 0
  for i in 1 .. n {
    s += i * i % 7
  }
  return s
}
"""
WARM = "2000000"


def run(folder, *options, **environment):
    path = os.path.join(folder, "sum.pure")
    with open(path, "w", encoding="utf-8") as text:
        text.write(PROGRAM)
    env = dict(os.environ, PURE_JIT_SYNC="1", PURE_JIT_CACHE="off")
    env.update(environment)
    done = subprocess.run([RUN, *options, path, "total", WARM], cwd=folder, env=env,
                          capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "4000001", done.stdout
    return done.stderr


def test_dumps(folder):
    said = run(folder, "--jit", "2", "--dump", "ir", "--dump", "llvm", "--dump", "asm")
    assert "---- ir of total:3" in said and "region total fn 0" in said
    assert "---- llvm of total:3" in said and "define i32" in said
    assert "---- asm of total:3" in said and "total:3" in said
    assert run(folder, "--jit", "2", PURE_JIT_DUMP="ir:other") == ""
    assert "---- ir of" in run(folder, "--jit", "2", PURE_JIT_DUMP="ir:total")


def test_statistics(folder):
    said = run(folder, "--jit", "2", "--stats")
    assert re.search(r"asked for 2, LLVM \d+\.\d+\.\d+; 1 compiled", said), said
    assert re.search(r"total:3 .* level 2\n  compiled 1 times", said), said
    said = run(folder, "--jit", "2", PURE_JIT_STATS="1")
    assert re.search(r"^jit: total:3: level 2, [\d.]+ ms .*bytes$", said, re.M), said


def test_no_plugin(folder):
    said = run(folder, "--jit", "3", "--stats", PURE_PLUGIN_DIR=folder)
    assert "everything ran on the interpreter: there is no libpure-llvmjit.so" in said, said
    assert "interpreter" in said


def test_perf(folder):
    said = run(folder, "--jit", "2", PURE_JIT_PERF="map,jitdump", PURE_JIT_STATS="1")
    dumps = glob.glob(os.path.join(folder, "jit-*.dump"))
    assert len(dumps) == 1, (dumps, said)
    process = re.search(r"jit-(\d+)\.dump", dumps[0]).group(1)
    table = f"/tmp/perf-{process}.map"
    with open(table, encoding="utf-8") as lines:
        assert re.fullmatch(r"[0-9a-f]+ [0-9a-f]+ total:3\n", lines.read())
    os.unlink(table)
    with open(dumps[0], "rb") as dump:
        data = dump.read()
    magic, version, head = struct.unpack_from("=III", data)
    assert (magic, version) == (0x4A695444, 1)
    kinds, at = [], head
    while at < len(data):
        kind, size = struct.unpack_from("=II", data, at)
        kinds.append(kind)
        if kind == 2:
            count = struct.unpack_from("=Q", data, at + 24)[0]
            line = struct.unpack_from("=I", data, at + 32 + 8)[0]
            assert count > 0 and 1 <= line <= 6 and b"sum.pure\0" in data[at:at + size]
        at += size
    assert kinds == [2, 0], kinds  # lines, then the code they are of


def test_cache(folder):
    cache = os.path.join(folder, "cache")
    first = run(folder, "--jit", "2", "--stats", PURE_JIT_CACHE=cache)
    assert "1 compiled, 0 from the cache" in first, first
    second = run(folder, "--jit", "2", "--stats", PURE_JIT_CACHE=cache)
    assert "0 compiled, 1 from the cache" in second and "LLVM" not in second, second


def test_bad_environment(folder):
    for name, value in (("PURE_JIT_SYNC", "2"), ("PURE_JIT_PERF", "maps"),
                        ("PURE_JIT_THRESHOLD", "-1"), ("PURE_JIT_STRESS", "deopt:x")):
        try:
            run(folder, "--jit", "2", **{name: value})
        except subprocess.CalledProcessError as error:
            assert error.returncode == 2 and name in error.stderr, (error.returncode, error.stderr)
        else:
            raise AssertionError(f"{name}={value} was taken")


def main():
    if not RUN:
        print("skipped: PURE_RUN does not say what to run")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        if "there is no libpure-llvmjit.so" in run(folder, "--jit", "2", "--stats"):
            print("skipped: built without LLVM")
            return 77
    failed = 0
    tests = [(name, test) for name, test in sorted(globals().items()) if name.startswith("test_")]
    for name, test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
            except (AssertionError, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"{name}: {error} {getattr(error, 'stderr', '')}")
    print(f"{len(tests) - failed} passed, {failed} failed")
    return failed > 0


sys.exit(main())

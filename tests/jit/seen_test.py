#!/usr/bin/env python3
"""What people can see of the compiled tiers through pure-run: dumps, statistics, files for perf,
the cache, and what is said where there is no plug-in."""
import ctypes
import errno
import glob
import os
import re
import shutil
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


def forbid_executable():
    """From here on the kernel refuses mprotect(..., PROT_EXEC), as hardened systems do: a seccomp
    filter of five instructions over the number and the third argument of a system call."""
    numbers = {"x86_64": 10, "aarch64": 226}
    program = b"".join(struct.pack("=HBBI", *line) for line in (
        (0x20, 0, 0, 0),                                  # the number
        (0x15, 0, 3, numbers[os.uname().machine]),        # mprotect?
        (0x20, 0, 0, 32),                                 # its rights
        (0x45, 0, 1, 4),                                  # executable?
        (0x06, 0, 0, 0x00050000 | errno.EACCES),
        (0x06, 0, 0, 0x7FFF0000)))
    libc = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(program, len(program))
    filters = ctypes.create_string_buffer(struct.pack("@HP", len(program) // 8, ctypes.addressof(code)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    assert libc.prctl(22, 2, ctypes.byref(filters), 0, 0) == 0, os.strerror(ctypes.get_errno())


def run(folder, *options, before=None, **environment):
    path = os.path.join(folder, "sum.pure")
    with open(path, "w", encoding="utf-8") as text:
        text.write(PROGRAM)
    env = dict(os.environ, PURE_JIT_SYNC="1", PURE_JIT_CACHE="off")
    env.update(environment)
    done = subprocess.run([RUN, *options, path, "total", WARM], cwd=folder, env=env,
                          capture_output=True, text=True, check=True, preexec_fn=before)
    assert done.stdout.split()[-1] == "4000001", done.stdout
    return done.stderr


def test_dumps(folder):
    said = run(folder, "--jit", "2", "--dump", "ir")  # at once, the whole of it
    assert "---- ir of total:2" in said and "region total fn 0 pc 0" in said, said
    said = run(folder, "--jit", "2", "--dump", "ir", "--dump", "llvm", "--dump", "asm", PURE_JIT_THRESHOLD="300000")
    assert "---- ir of total:3" in said and "region total fn 0" in said
    assert "---- llvm of total:3" in said and "define i32" in said
    assert "---- asm of total:3" in said and "total:3" in said
    assert "---- ir of" not in run(folder, "--jit", "2", PURE_JIT_DUMP="ir:other")
    assert "---- ir of" in run(folder, "--jit", "2", PURE_JIT_DUMP="ir:total")
    said = run(folder, "--jit", "2", "--dump", "ir", PURE_JIT_THRESHOLD="1000000000")
    assert said.startswith("pure-run: --dump: nothing was compiled: "), said


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


def test_other_plugins(folder):
    """What lies where the plug-in is looked for is no plug-in, has no door, or is of another version."""
    place = os.path.join(folder, "libpure-llvmjit.so")
    with open(place, "wb") as file:
        file.write(b"not a library")
    said = run(folder, "--jit", "3", "--stats", PURE_PLUGIN_DIR=folder)
    assert "everything ran on the interpreter: " in said and "libpure-llvmjit.so" in said, said
    for text, words in (("int nothing;", "pure_jit_plugin"),
                        ("const void *pure_jit_plugin(void) { static const unsigned abi[9] = {1}; return abi; }",
                         "the plug-in is of another version")):
        os.unlink(place)
        if shutil.which("cc") is None:
            return
        subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", place], input=text, text=True, check=True)
        said = run(folder, "--jit", "3", "--stats", PURE_PLUGIN_DIR=folder)
        assert "everything ran on the interpreter: " in said and words in said, said


def test_no_executable_memory(folder):
    """Said once; the answer is the interpreter's."""
    for environment in ({}, {"PURE_JIT_CACHE": os.path.join(folder, "cache")}):
        said = run(folder, "--jit", "3", "--stats", before=forbid_executable, PURE_JIT_STATS="1",
                   PURE_JIT_THRESHOLD="1000", **environment)
        assert "everything ran on the interpreter: " in said and "ermission denied" in said, said
        assert len(re.findall("refused: .*ermission denied", said)) == 1, said
        run(folder, "--jit", "3", **environment)  # what is in the cache now cannot be used either
        said = run(folder, "--jit", "3", "--stats", before=forbid_executable, **environment)
        assert "everything ran on the interpreter: " in said, said


def test_memory(folder):
    said = run(folder, "--jit", "2", "--stats", PURE_JIT_PERF="gdb")
    heap = re.search(r"([\d.]+) MB  of LLVM's heap, about", said)
    # Sanitizers have a heap of their own, of which nobody tells.
    assert os.environ.get("PURE_SANITIZE") or (heap and 0.1 < float(heap.group(1)) < 500), said
    assert re.search(r"[\d.]+ MB  registered for gdb, 1 objects", said), said
    assert "registered for gdb" not in run(folder, "--jit", "2", "--stats")


def test_whose_code(folder):
    """Each loop has an answer to why it is not compiled."""
    path = os.path.join(folder, "nest.pure")
    with open(path, "w", encoding="utf-8") as text:
        text.write("query nest(n: int): int {\n  var s = 0\n  for i in 1 .. n {\n    for k in 1 .. 9 {\n"
                   "      s += k\n    }\n  }\n  for i in 1 .. 2 {\n    s += i\n  }\n  return s\n}\n")
    done = subprocess.run([RUN, "--jit", "2", "--stats", path, "nest", "200000"], capture_output=True, text=True,
                          check=True, env=dict(os.environ, PURE_JIT_SYNC="1"))
    said = done.stderr
    assert re.search(r"nest:3 .* level 2\n  compiled 1 times", said), said
    assert re.search(r"nest:4 .* level 2\n  in the code of nest:3\n", said), said
    assert re.search(r"nest:8 .* interpreter\n  not enough work was done there yet", said), said


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
    for watching in ({"PURE_JIT_PERF": "gdb"}, {"PURE_JIT_VERIFY": "1"}, {"PURE_JIT_DUMP": "ir"}):
        said = run(folder, "--jit", "2", "--stats", PURE_JIT_CACHE=cache, **watching)
        assert "1 compiled, 0 from the cache" in said, said


def test_stress(folder):
    for words in ("deopt", "deopt:3", "layout:4", "deopt:3,layout:4", "layout,deopt", "layout:4,deopt:3"):
        run(folder, "--jit", "2", PURE_JIT_STRESS=words)


def test_plugin_is_found_through_path(folder):
    """pure-run is started by its bare name, from a folder where there is nothing."""
    found = os.environ | {"PATH": os.path.dirname(RUN) + ":" + os.environ["PATH"],
                          "PURE_JIT_SYNC": "1", "PURE_JIT_THRESHOLD": "0"}
    found.pop("PURE_PLUGIN_DIR", None)
    run(folder, "--jit", "2")  # writes the program
    done = subprocess.run([os.path.basename(RUN), "--jit", "2", "--stats", "sum.pure", "total", "1000"], cwd=folder,
                          env=found, capture_output=True, text=True, check=True)
    assert re.search(r"[1-9]\d* compiled", done.stderr), done.stderr


def test_bad_environment(folder):
    for name, value in (("PURE_JIT_SYNC", "2"), ("PURE_JIT_PERF", "maps"),
                        ("PURE_JIT_THRESHOLD", "-1"), ("PURE_JIT_STRESS", "deopt:x"),
                        ("PURE_JIT_STRESS", "deopt:3x,layout"), ("PURE_JIT_STRESS", "deop")):
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

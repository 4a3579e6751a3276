#!/usr/bin/env python3
"""Breakpoints of gdb on lines of a program hold in compiled code."""
import os
import shutil
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


def gdb(folder, *commands):
    words = ["gdb", "-nx", "-batch", "-ex", "set breakpoint pending on", "-ex", "set confirm off"]
    for command in commands:
        words += ["-ex", command]
    words += ["--args", RUN, "--jit", "2", "sum.pure", "total", "2000000"]
    env = dict(os.environ, PURE_JIT_PERF="gdb", PURE_JIT_SYNC="1", PURE_JIT_CACHE="off", DEBUGINFOD_URLS="")
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False).stdout


def main():
    if not RUN:
        print("skipped: PURE_RUN does not say what to run")
        return 77
    if shutil.which("gdb") is None:
        print("skipped: no gdb here")
        return 77
    if os.environ.get("PURE_SANITIZE"):
        print("skipped: sanitizers and gdb want the same things of a process")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "sum.pure"), "w", encoding="utf-8") as text:
            text.write(PROGRAM)
        stats = subprocess.run([RUN, "--jit", "2", "--stats", "sum.pure", "total", "2000000"], cwd=folder,
                               env=dict(os.environ, PURE_JIT_SYNC="1"), capture_output=True, text=True, check=True)
        if "there is no libpure-llvmjit.so" in stats.stderr:
            print("skipped: built without LLVM")
            return 77
        said = gdb(folder, "break sum.pure:4", "run", "backtrace 2", "info source", "delete", "continue")
        if "ptrace" in said or "exited" not in said:
            print(f"skipped: gdb cannot run programs here: {said.splitlines()[-1:]}")
            return 77
    wanted = ["total:3 () at sum.pure:4", "4\t    s += i * i % 7", "Current source file is sum.pure", "4000001",
              "exited normally"]
    missing = [text for text in wanted if text not in said]
    print("\n".join(f"gdb did not say {text!r}" for text in missing))
    print(f"{len(wanted) - len(missing)} passed, {len(missing)} failed")
    return bool(missing)


sys.exit(main())

#!/usr/bin/env python3
"""A second process that finds compiled code in the cache answers sooner than the first, which made it
(and waited for it, so that a busy machine does not end the program before the compile):
medians of processor time, in turn, each pair with a folder of its own."""
import os
import resource
import statistics
import subprocess
import sys
import tempfile

RUN = os.environ.get("PURE_RUN")
ROUNDS = 7
PROGRAM = """query total(n: int): int {
  var s = 0
  for i in 1 .. n {
    s += i * i % 7
  }
  return s
}
"""


def run(folder):
    """Seconds of processor time, the answer, and what --stats says."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([RUN, "--stats", "sum.pure", "total", "60000000"], cwd=folder, capture_output=True, text=True,
                          check=True, env=dict(os.environ, PURE_JIT="auto", PURE_JIT_SYNC="1", PURE_JIT_CACHE=os.path.join(folder, "cache")))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout, done.stderr


def main():
    if not RUN:
        print("skipped: PURE_RUN does not say what to run")
        return 77
    first, second = [], []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "sum.pure"), "w", encoding="utf-8") as text:
                text.write(PROGRAM)
            seconds, answer, said = run(folder)
            if "there is no libpure-llvmjit.so" in said:
                print("skipped: built without LLVM")
                return 77
            again, same, said_again = run(folder)
        if answer != same or "1 compiled, 0 from the cache" not in said or "0 compiled, 1 from the cache" not in said_again:
            print(f"another answer, or not compiled and found again:\n{answer}{said}{same}{said_again}")
            return 1
        first.append(seconds)
        second.append(again)
    ratio = statistics.median(second) / statistics.median(first)
    print(f"first {statistics.median(first) * 1e3:.1f} ms, second {statistics.median(second) * 1e3:.1f} ms, ratio {ratio:.2f}")
    return ratio >= 1


sys.exit(main())

#!/usr/bin/env python3
"""Look-ups of narrow keys in hash lists are remembered on the stack (llvmjit/jit_memo.c): the code of
a loop that groups by two small columns has the table, that of a loop by one wide key has not."""
import os
import subprocess
import sys

GROUPED = """list items (a: int, ok: bool, b: int)
event fill { for i in 0..3999 { add items (i % 200, i % 3 = 0, i * 1000003) } }
query narrow: int {
  local g (a: int, ok: bool, n: int) key (a, ok)
  for r in items {
    let x = g[r.a, r.ok] or (0)
    x.n += 1
  }
  return count(g)
}
query wide: int {
  local g (b: int, ok: bool, n: int) key (b, ok)
  for r in items {
    let x = g[r.b, r.ok] or (0)
    x.n += 1
  }
  return count(g)
}
"""


def dump(query):
    environment = dict(os.environ, PURE_JIT_SYNC="1", PURE_JIT_THRESHOLD="1", PURE_JIT_CACHE="off")
    words = [os.environ["PURE_RUN"], "-", "--jit", "3", "--dump", "llvm", "fill"] + ["+", query] * 4
    done = subprocess.run(words, input=GROUPED, capture_output=True, text=True, timeout=120,
                          check=False, env=environment)
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout + done.stderr


def main():
    narrow, wide = dump("narrow"), dump("wide")
    if "define" not in narrow:
        sys.exit(77)  # no compiled tiers in this build
    assert "%memo" in narrow, "narrow keys: no look-up is remembered"
    assert "define" in wide and "%memo" not in wide, "wide keys cannot be remembered"


main()

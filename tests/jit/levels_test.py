#!/usr/bin/env python3
"""A sample of the golden programs at every level, as tests/long/levels.sh runs all of them."""
import os
import subprocess
import sys

run = os.environ.get("PURE_RUN")
if not run:
    print("skipped: PURE_RUN does not say what to run")
    sys.exit(77)
folder = os.path.dirname(os.path.abspath(__file__))
said = subprocess.run([run, "--stats", os.path.join(folder, "../golden/loops.pure"), "never"], capture_output=True,
                      text=True, check=True, env=dict(os.environ, PURE_JIT="1", PURE_JIT_SYNC="1", PURE_JIT_THRESHOLD="0"))
if "there is no libpure-llvmjit.so" in said.stderr:
    print("skipped: built without LLVM")
    sys.exit(77)
every = "61" if os.environ.get("PURE_SANITIZE") else "13"
sys.exit(subprocess.run([sys.executable, os.path.join(folder, "support/levels.py"), "--run", run, "--seeds", "20",
                         "--background", "--cache", "--every", every], check=False).returncode)

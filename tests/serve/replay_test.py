#!/usr/bin/env python3
"""tests/long/replay.py for ten thousand events."""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "long"))
import replay  # noqa: E402

# Small runs are hardly hot by themselves.
os.environ.update(PURE_JIT_THRESHOLD="20000", PURE_JIT_SYNC="1")
events = "2000" if os.environ.get("PURE_SANITIZE") else "10000"
replay.main(["--small", "--events", events, "--levels", "0,2"])
print("1 passed, 0 failed")

#!/usr/bin/env python3
"""A few rounds of tests/long/crash.py."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "long"))
import crash  # noqa: E402

crash.main(["--rounds", "5", "--flips", "15", "--seed", "7"])
print("1 passed, 0 failed")

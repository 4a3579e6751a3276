#!/usr/bin/env python3
"""perf/serve-bank at a small size: every call at two levels, answers and work compared."""
import json
import os
import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(os.environ["SRC"]) / "perf/serve-bank"
SMALL = ["--accounts", "200", "--rounds", "3", "--repeat", "2", "--json"]


def run(*words):
    done = subprocess.run([sys.executable, str(SCRIPT), *SMALL, *words], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return json.loads(done.stdout)


lines = run("--levels", "0,auto", "--no-instructions")
assert len(lines) == 16 and {line["level"] for line in lines} == {"0", "auto"}, lines
assert {line["call"] for line in lines} >= {"per_branch", "ranks", "transfer"}, lines
for line in lines:
    assert 0 < line["inside_us"] < line["request_us"] and line["instructions"] is None, line
print("1 passed, 0 failed")

#!/usr/bin/env python3
"""TPC-C over HTTP at a small size: answers and rows of every level, the log replayed, and that a
server that answers otherwise is caught."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(os.environ["BUILD"]) / "perf" / "tpcc-http"
SMALL = ["--customers", "30", "--items", "200", "--warm", "0"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
# Small runs are hardly hot by themselves.
ENVIRONMENT |= {"PURE_JIT_THRESHOLD": "20000", "PURE_JIT_SYNC": "1", "PURE_JIT_CACHE": "off"}
KINDS = {"new_order", "payment", "order_status", "delivery", "stock_level"}


def run(*words, status=0):
    done = subprocess.run([str(PROGRAM), *SMALL, *words], capture_output=True, text=True, env=ENVIRONMENT)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


def told(*words):
    return json.loads(run("--json", *words).stdout)


def test_levels_agree():
    """One terminal is answered in one order."""
    first = told("--terminals", "1", "--requests", "500", "--level", "0")
    assert first["requests"] == 500 and first["taken_back"] > 0, first
    assert first["rows_before"] != first["rows_after"], first
    for level in ("2", "3"):
        other = told("--terminals", "1", "--requests", "500", "--level", level)
        for what in ("rows_before", "rows_after", "answers", "taken_back"):
            assert first[what] == other[what], (what, first, other)


def test_many_at_once():
    said = told("--terminals", "4", "--seconds", "1", "--warehouses", "2")
    assert said["requests"] > 50 and set(said["kinds"]) == KINDS, said
    for kind in said["kinds"].values():
        assert 0 < kind["p50"] <= kind["p99"] <= kind["p999"] <= kind["max"], said
    assert sum(kind["n"] for kind in said["kinds"].values()) == said["requests"], said


def test_store():
    """Replays lead to the digest of the checkpoint that the live server left; a killed one's rows come again."""
    with tempfile.TemporaryDirectory() as name:
        store = ["--terminals", "8", "--requests", "1000", "--store", f"{name}/store"]
        said = told(*store)
        assert said["requests"] == 1000 and int(said["digest"], 16) != 0, said
        killed = told(*store, "--kill")
        assert killed["rows_before"] == said["rows_after"], (killed, said)
        assert told(*store)["rows_before"] == killed["rows_after"], killed


def test_wrong_answers_are_caught():
    """A server whose handlers break a condition, and one that refuses all."""
    real = os.environ["PURE_SERVE"]
    source = (pathlib.Path(os.environ["SRC"]) / "host/examples/tpcc.pure").read_text()
    with tempfile.TemporaryDirectory() as name:
        other = pathlib.Path(name) / "tpcc.pure"
        other.write_text(source.replace("  area.ytd += amount\n", ""))
        script = pathlib.Path(name) / "serve"
        for words, why in ((f'"{other}" "$@"', "condition 1 does not hold"), ('"$program" "$@" --limit-work 100', "422")):
            script.write_text(f'#!/bin/sh\nprogram=$1\nshift\nexec "{real}" {words}\n')
            script.chmod(0o755)
            done = run("--serve", str(script), "--terminals", "2", "--requests", "300", status=1)
            assert done.stdout == "" and why in done.stderr, (done.stdout, done.stderr)


def main():
    tests = [test_levels_agree, test_many_at_once, test_store, test_wrong_answers_are_caught]
    for test in tests:
        test()
    print(f"{len(tests)} passed, 0 failed")


sys.exit(main())

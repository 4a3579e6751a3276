#!/usr/bin/env python3
"""TPC-C at a small size: answers, tables, digests, work and conditions of every level and of SQLite,
and that a wrong answer is caught."""
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(os.environ["BUILD"]) / "perf" / "tpcc"
SMALL = ["--customers", "30", "--items", "200", "--slice", "200", "--warm", "400", "--requests", "1000"]
# Small runs are hardly hot by themselves.
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
ENVIRONMENT |= {"PURE_JIT_THRESHOLD": "20000", "PURE_JIT_CACHE": "off"}


def run(*words, status=0, **variables):
    done = subprocess.run([str(PROGRAM), *SMALL, *words], capture_output=True, text=True,
                          env=ENVIRONMENT | variables)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


def sides():
    """Those there are in this build."""
    done = subprocess.run([str(PROGRAM), *SMALL, "--sides", "level_3"], capture_output=True, text=True,
                          env=ENVIRONMENT)
    if "not in this build" in done.stderr:
        return "sqlite,level_0"
    return "sqlite,level_0,level_1,level_2,level_3,auto"


def test_equal(names):
    for scale in (["--warehouses", "1", "--seed", "1"], ["--warehouses", "2", "--seed", "7"]):
        done = run("--sides", names, "--json", *scale)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert len(lines) == names.count(",") + 1, done.stdout
        assert all(len(line["ms"]) == 5 for line in lines), lines


def test_mix(names):
    said = run("--sides", names).stdout
    counts = dict(part.rsplit(" ", 1) for part in said.splitlines()[3].split(", "))
    assert set(counts) == {"new_order", "payment", "order_status", "delivery", "stock_level",
                           "taken back"}, counts
    total = sum(map(int, counts.values()))
    assert total == 1400, counts
    assert 0.38 < int(counts["new_order"]) / total < 0.52, counts
    assert 0.36 < int(counts["payment"]) / total < 0.50, counts
    assert int(counts["taken back"]) > 0, counts


def test_compiled(names):
    """Handlers are compiled, or the levels would all be the interpreter."""
    if "level_2" not in names:
        return
    said = run("--sides", "level_2", "--tiers").stdout
    for handler in ("new_order", "payment", "by_name"):
        line = [l for l in said.splitlines() if l.startswith(f"  function {handler}:")]
        assert line, (handler, said)
    assert "level 2" in said, said


def test_stress(names):
    """Code that leaves at random ends in the same tables."""
    if "level_2" in names:
        run("--sides", "level_0,level_2", "--seed", "3", PURE_JIT_STRESS="deopt:5")
    run("--sides", "sqlite,level_0", "--seed", "4", PURE_JIT_STRESS="layout:3")


def test_wrong_answers_are_caught(names):
    for name in ("sqlite", "level_0"):
        done = run("--sides", names, "--spoil", name, status=1)
        assert done.stdout == "" and "differ" in done.stderr, (done.stdout, done.stderr)


def main():
    if not PROGRAM.exists():
        print("tpcc was not built: there is no SQLite to build it with")
        return 77
    names = sides()
    for name, test in sorted(globals().items()):
        if name.startswith("test_"):
            test(names)
            print("ok", name)
    return 0


sys.exit(main())

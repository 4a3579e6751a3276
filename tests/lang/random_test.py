#!/usr/bin/env python3
"""Runs random programs through pure-run and compares with a model of the language in plain Python.

usage: random_test.py [FIRST_SEED [COUNT]]

Each program calls two events and a query a few times; compared are all rows, the kind and line of the fault that
ends the calls, if one does, and the contents of the stored lists in the end. Environment: PURE_RUN.
"""
import concurrent.futures
import json
import math
import os
import random
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from model.programs import Program  # noqa: E402
from model.values import TooLong  # noqa: E402

SECONDS = 60
FAULT = re.compile(r":(\d+):\d+: fault: (.*)$", re.MULTILINE)


def rows_of(value):
    return [list(row.values()) for row in value]


def plain(value):
    """As JSON has it: reals that are not finite are texts there."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def same(a, b):
    """Equal to the bit and the type: 1, 1.0 and true are three things."""
    return json.dumps(plain(a)) == json.dumps(plain(b))


def call(folder, words):
    return subprocess.run([os.environ["PURE_RUN"], os.path.join(folder, "p.pure"), "--format", "json", *words],
                          capture_output=True, text=True, timeout=SECONDS, stdin=subprocess.DEVNULL, check=False)


def answers(text):
    """The JSON values, one after the other."""
    decoder, at, out = json.JSONDecoder(), 0, []
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        out.append(value)
    return out


def check(program, folder):
    """None, or what differs."""
    results, fault, lists = program.expected()
    ended = [list(map(str, c)) for c in program.calls[:len(results)]]
    shows = [[f"show_{l.name}"] for l in program.lists]
    words = [w for c in ended + shows for w in c + ["+"]][:-1]
    done = call(folder, words)
    if done.returncode != 0:
        return f"status {done.returncode}: {done.stderr}"
    got = [rows_of(v) for v in answers(done.stdout)]
    want = results + [[lists[l.name].find(k, "") for k in lists[l.name].in_order()] for l in program.lists]
    if not same(got, want):
        return f"expected {want}\nprinted  {got}"
    if fault is None:
        return None
    words = [w for c in program.calls[:len(results) + 1] for w in [c[0], str(c[1]), "+"]][:-1]
    done = call(folder, words)
    found = FAULT.search(done.stderr)
    if done.returncode != 1 or not found:
        return f"expected the fault {fault}, but status {done.returncode}: {done.stderr}"
    line, message = int(found.group(1)), found.group(2)
    if line != fault[1] or not message.startswith(fault[0]):
        return f"expected the fault {fault}: {done.stderr}"
    return None


def run_seed(seed):
    """(seed, None or a report, whether it was short enough to run)"""
    program = Program(random.Random(seed))
    source = program.source()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "p.pure"), "w", encoding="utf-8") as out:
            out.write(source)
        done = call(folder, ["--check"])
        if done.returncode != 0:
            return seed, f"does not compile:\n{done.stderr}\n{source}", True
        try:
            report = check(program, folder)
        except TooLong:
            return seed, None, False
    return seed, report and f"{report}\n{source}", True


def main():
    if not os.environ.get("PURE_RUN"):
        print("skipped: PURE_RUN does not say what to run")
        return 77
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 250
    sys.setrecursionlimit(10000)
    failed = ran = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for seed, report, short in pool.map(run_seed, range(first, first + count)):
            ran += short
            if report:
                failed += 1
                print(f"FAIL seed {seed}: {report}", flush=True)
    print(f"{ran} programs run, {failed} failed")
    return 1 if failed or ran < count / 3 else 0


sys.exit(main())

#!/usr/bin/env python3
"""Runs the golden programs at every level and compares all that can be seen of them.

usage: levels.py --run PURE_RUN [--base PURE_RUN] [--levels 0,1,2,3,auto] [--seeds N]
                 [--background] [--cache] [--every N] [NAME]...

Each line of tests/golden and tests/golden-examples NAME.cmd is run by `base` (default: the same
program) on the interpreter, and by `run` at each level: compiled at once (PURE_JIT_SYNC=1), with
--background also behind its back, and with N seeds of PURE_JIT_STRESS=deopt and =layout, which go
round the levels.  With --cache each line runs twice at the highest level, and the second time with
the code that the first one kept.  Standard output, faults, exit status, the work of each call and the bytes of the
lists as --save writes them must be equal.

Where code is compiled at once, each query and event that was called must have run as compiled code,
or have been refused for a reason that is listed: a silent interpreter is a failure.

--every N takes each N-th of the pairs of a line and a way: a sample.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
ENDED = re.compile(r"^jit: (\S+):\d+(?: \(start\))?: level \d, compiled \d+ times, (\d+) runs;", re.M)
REFUSED = re.compile(r"^jit: (\S+):\d+(?: \(start\))?: level \d refused: (.*)$", re.M)
LISTED = {"too much code, or too many registers in it", "the loop never goes round", "too much machine code"}

TWICE = "twice"  # instead of a folder

Line = collections.namedtuple("Line", "base number words")
Way = collections.namedtuple("Way", "name program variables checked")
Seen = collections.namedtuple("Seen", "status out faults rows")


def lines(names):
    """Each line of each .cmd."""
    for folder in ("golden", "golden-examples"):
        folder = os.path.join(ROOT, "tests", folder)
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".cmd") or (names and name[:-4] not in names):
                continue
            with open(os.path.join(folder, name), encoding="utf-8") as text:
                for number, line in enumerate(text, 1):
                    words = shlex.split(line)
                    if words and not words[0].startswith("#"):
                        yield Line(os.path.join(folder, name[:-4]), number, tuple(words))


def ways(o):
    def way(name, checked=False, **variables):
        return Way(name, o.run, dict({"PURE_JIT_CACHE": "off", "PURE_JIT_THRESHOLD": "0"}, **variables), checked)

    compiled = [level for level in o.levels if level != "0"]
    for level in o.levels:
        yield way(f"level {level}", level != "0", PURE_JIT=level, PURE_JIT_SYNC="1")
    for level in compiled if o.background else []:
        yield way(f"level {level}, background", PURE_JIT=level)
    if o.cache and compiled:
        yield way(f"level {compiled[-1]}, cached", True, PURE_JIT=compiled[-1], PURE_JIT_SYNC="1", PURE_JIT_CACHE=TWICE)
    for seed in range(1, o.seeds + 1):
        for kind, levels in (("deopt", compiled), ("layout", o.levels)):
            if levels:
                level = levels[seed % len(levels)]
                yield way(f"level {level}, {kind}:{seed}", kind == "deopt" and level != "0", PURE_JIT=level,
                          PURE_JIT_SYNC="1", PURE_JIT_STRESS=f"{kind}:{seed}")


def run(line, way):
    """What is to be equal, and what the tiers said."""
    with tempfile.TemporaryDirectory() as folder:
        saved = os.path.join(folder, "saved")
        words = [way.program, os.path.basename(line.base) + ".pure", *line.words, "--work"]
        if "--save" not in line.words:
            words += ["--save", saved]
        env = dict(os.environ, PURE_JIT_STATS="1", **way.variables)
        twice = env.get("PURE_JIT_CACHE") == TWICE
        if twice:
            env["PURE_JIT_CACHE"] = os.path.join(folder, "cache")
        for _ in range(2 if twice else 1):
            done = subprocess.run(words, cwd=os.path.dirname(line.base), stdin=subprocess.DEVNULL, capture_output=True,
                                  timeout=600, check=False, env=env)
        rows = ""
        if os.path.exists(saved):
            with open(saved, "rb") as data:
                rows = hashlib.sha256(data.read()).hexdigest()
    errors = done.stderr.decode("utf-8", "surrogateescape")
    faults = "".join(text for text in errors.splitlines(True) if not text.startswith("jit: "))
    return Seen(done.returncode, done.stdout, faults, rows), errors


def missing(errors):
    """Functions that were called and did not run as compiled code, and how many did."""
    ran = {name for name, runs in ENDED.findall(errors) if int(runs) > 0}
    refused = {name for name, why in REFUSED.findall(errors) if why in LISTED}
    called = set(re.findall(r"^work (\S+) \d+$", errors, re.M))
    return called - ran - refused, len(ran)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--run", required=True)
    parser.add_argument("--base")
    parser.add_argument("--levels", default="0,1,2,3,auto", type=lambda text: text.split(","))
    parser.add_argument("--seeds", default=0, type=int)
    parser.add_argument("--background", action="store_true")
    parser.add_argument("--cache", action="store_true")
    parser.add_argument("--every", default=1, type=int)
    parser.add_argument("names", nargs="*")
    o = parser.parse_args()
    o.run = os.path.abspath(o.run)
    plain = Way("interpreter", os.path.abspath(o.base or o.run), {"PURE_JIT": "0"}, False)
    every, all_lines, all_ways = 0, list(lines(o.names)), list(ways(o))
    failed = entered = 0

    def check(line):
        want, report, count = run(line, plain)[0], "", 0
        for way in chosen[line]:
            got, errors = run(line, way)
            place = f"{os.path.relpath(line.base, ROOT)}.cmd:{line.number}: {way.name}"
            for kind in Seen._fields:
                if getattr(want, kind) != getattr(got, kind):
                    report += f"{place}: another {kind}: {getattr(want, kind)!r} / {getattr(got, kind)!r}\n"
            if way.variables["PURE_JIT_CACHE"] == TWICE and re.search(r"bytes$", errors, re.M):
                report += f"{place}: compiled again\n"
            lost, ran = missing(errors) if way.checked else (set(), 0)
            count += ran
            if lost:
                report += f"{place}: not run as compiled code: {', '.join(sorted(lost))}\n"
        return report, count

    chosen = {}
    for line in all_lines:
        chosen[line] = []
        for way in all_ways:
            if every % o.every == 0:
                chosen[line].append(way)
            every += 1
    runs = sum(map(len, chosen.values()))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        for done, (report, count) in enumerate(pool.map(check, [line for line in all_lines if chosen[line]]), 1):
            entered += count
            failed += report != ""
            if report:
                print(report, end="", flush=True)
            if sys.stderr.isatty() or done % 50 == 0:
                print(f"{done} of {len(all_lines)} lines", file=sys.stderr, flush=True)
    print(f"{len(all_lines)} lines, {len(all_ways)} ways, {runs} runs, {entered} functions ran as compiled code, "
          f"{failed} lines differ")
    return 1 if failed or not runs or (entered == 0 and any(way.checked for way in all_ways)) else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Runs golden programs through pure-run and compares what they print.

usage: run_golden_test.py [--update] [DIRECTORY | PROGRAM.pure]...

Environment: PURE_RUN, the program to test; SRC, the root of the sources.
Without arguments: tests/golden, tests/golden-examples (host/examples by links) and
tests/golden-errors.

For each NAME.pure:
  NAME.cmd     a line a run: what follows `pure-run NAME.pure`, split as a shell would;
               empty lines and lines that begin with # are left out; no file: one run with --check
  NAME.out     the standard output of all runs, one after the other; no file: nothing
  NAME.err     the standard error, likewise
  NAME.status  the exit status of each run, a line each; no file: 0, in golden-errors 3
Programs run in their own directory. --update writes what was printed instead of comparing.
"""
import concurrent.futures
import difflib
import os
import shlex
import subprocess
import sys

ROOT = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS = 120


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as text:
        return text.read()


def write(path, text, default):
    """Keeps no file for what is as without it."""
    if text != default:
        with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as out:
            out.write(text)
    elif os.path.exists(path):
        os.remove(path)


def commands(base):
    lines = [line.strip() for line in read(base + ".cmd").splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    return lines or ["--check"]


def run(base):
    """What the runs print and how they end, as the three files have it."""
    out, err, statuses = "", "", ""
    for line in commands(base):
        words = [os.environ["PURE_RUN"], os.path.basename(base) + ".pure", *shlex.split(line)]
        try:
            done = subprocess.run(words, cwd=os.path.dirname(base), stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return out, err, statuses + f"no end after {SECONDS} s\n"
        out += done.stdout.decode("utf-8", "surrogateescape")
        err += done.stderr.decode("utf-8", "surrogateescape")
        statuses += f"{done.returncode}\n"
    return out, err, statuses


def default_status(base):
    wrong = os.path.basename(os.path.dirname(base)) == "golden-errors"
    return ("3\n" if wrong else "0\n") * len(commands(base))


def compare(base):
    """None, or how the runs differ from what is expected."""
    expected = read(base + ".out"), read(base + ".err"), read(base + ".status") or default_status(base)
    report = ""
    for kind, want, got in zip(("out", "err", "status"), expected, run(base)):
        if want != got:
            report += "\n".join(difflib.unified_diff(
                want.splitlines(), got.splitlines(), f"{base}.{kind}", "printed", lineterm="")) + "\n"
            if want.splitlines() == got.splitlines():
                report += "they differ in line ends\n"
    return report or None


def update(base):
    out, err, status = run(base)
    write(base + ".out", out, "")
    write(base + ".err", err, "")
    write(base + ".status", status, default_status(base))


def programs(arguments):
    """The programs named, without .pure."""
    for path in arguments or [os.path.join(ROOT, "tests", d) for d in ("golden", "golden-examples", "golden-errors")]:
        path = os.path.abspath(path)
        if os.path.isdir(path):
            names = sorted(n for n in os.listdir(path) if n.endswith(".pure"))
            yield from (os.path.join(path, n[:-5]) for n in names)
        else:
            yield path.removesuffix(".pure")


def main():
    arguments = sys.argv[1:]
    rewrite = "--update" in arguments
    if not os.environ.get("PURE_RUN"):
        print("skipped: PURE_RUN does not say what to run")
        return 77
    os.environ["PURE_RUN"] = os.path.abspath(os.environ["PURE_RUN"])
    bases = list(programs([a for a in arguments if a != "--update"]))
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        reports = list(pool.map(update if rewrite else compare, bases))
    failed = 0
    for base, report in zip(bases, reports):
        if report:
            failed += 1
            print(f"FAIL {os.path.relpath(base, ROOT)}\n{report}")
    print(f"{len(bases) - failed} passed, {failed} failed")
    return 1 if failed or not bases else 0


sys.exit(main())

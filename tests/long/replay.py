#!/usr/bin/env python3
"""A long log replayed: how long it takes beside the live run, and where it ends.

pure-serve with a durable store is asked for the transactions of TPC-C by perf/tpcc-http until the log has so many
events, then killed: the next start has to do all of them again. At each level that start is timed beside
the live run's time in events (one after another on their thread, without waiting for callers or the disk),
its rows are compared with the live ones, and --verify tells its digest. With --aarch64 the cross-built
pure-serve (tests/long/aarch64.sh --build) replays the same files under qemu.

usage: tests/long/replay.py [--events N] [--levels L,..] [--aarch64] [--small]    (1000000, 0,3)
  --small     few rows at the start, and times are not judged: for short logs
Wrong are: other rows or digests, and a start that took longer than the live events did.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("BUILD", ROOT / "build/release"))
TPCC = BUILD / "perf/tpcc-http"
PURE_SERVE = os.environ.get("PURE_SERVE", str(BUILD / "host/pure-serve"))
AARCH64 = ROOT / "build/aarch64/pure-serve"
# Of ten requests about nine are events; those that fault are not in the log.
EVENTS_OF_REQUESTS = 0.9


def drive(*words):
    done = subprocess.run([TPCC, "--json", "--warm", "0", "--serve", PURE_SERVE, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"tpcc-http: {done.returncode} {done.stderr}")
    return json.loads(done.stdout)


def verify(program, store, level):
    """Seconds in all and in the replay, events and the digest at the end."""
    start = time.monotonic()
    done = subprocess.run([program, "--verify", store, "--jit", level], capture_output=True, text=True)
    seconds = time.monotonic() - start
    if done.returncode:
        sys.exit(f"{program} --verify at level {level}: {done.stderr}")
    found = re.search(r"position (\d+), digest ([0-9a-f]{16}), (\d+) replayed", done.stdout)
    return seconds, int(found[1]), found[2], int(found[3])


def copy(store, folder, name):
    """What a start or an end writes stays out of the log that the others replay."""
    shutil.copytree(store, folder / name)
    return folder / name


def live(folder, options):
    store, words = folder / "live", ["--terminals", 64]
    if options.small:
        words += ["--customers", 30, "--items", 200]
    requests = int(options.events / EVENTS_OF_REQUESTS)
    return store, words, drive(*words, "--store", store, "--kill", "--requests", requests, "--seconds", 1000)


def replay(folder, store, words, said, level):
    again = drive(*words, "--store", copy(store, folder, f"at-{level}"), "--level", level, "--kill", "--requests", 1)
    if again["rows_before"] != said["rows_after"]:
        sys.exit(f"level {level}: the rows are not those of the live run")
    shutil.rmtree(folder / f"at-{level}")
    seconds, position, digest, replayed = verify(PURE_SERVE, store, level)
    print(f"| level {level} | {again['start_seconds']:.1f} | {seconds:.1f} | {replayed} | {digest} |", flush=True)
    assert replayed == position, f"{replayed} of {position} events were replayed"
    return again["start_seconds"], position, digest


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--levels", default="0,3")
    parser.add_argument("--aarch64", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        store, words, said = live(folder, options)
        print(f"live: {said['requests']} requests in {said['seconds']:.1f} s, {said['event_seconds']:.1f} s of it in events\n")
        print("| replay | start s | verify s | events | digest |\n| --- | ---: | ---: | ---: | --- |", flush=True)
        ends, slow = set(), []
        for level in options.levels.split(","):
            seconds, position, digest = replay(folder, store, words, said, level)
            ends.add((position, digest))
            if seconds > said["event_seconds"] and not options.small:
                slow.append(level)
        if options.aarch64:
            seconds, position, digest, replayed = verify(AARCH64, store, "0")
            print(f"| level 0, AArch64 under qemu | | {seconds:.1f} | {replayed} | {digest} |")
            ends.add((position, digest))
        assert len(ends) == 1, f"other ends: {ends}"
        assert position > options.events * 0.97, f"only {position} events are in the log"
        assert not slow, f"the start took longer than the live events at level {slow}"


if __name__ == "__main__":
    main()

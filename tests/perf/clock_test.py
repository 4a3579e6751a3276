#!/usr/bin/env python3
"""The time to run is that of the program, not of the pipe: a writer that waits a second before it
writes makes the load slower by that second, and the run not at all."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SRC = pathlib.Path(os.environ["SRC"])
RUN = os.environ.get("PURE_RUN")
NODES, EDGES, REPEAT = 2000, 20000, 5


def make_edges(path):
    state = 1
    with open(path, "w", encoding="ascii") as out:
        for _ in range(EDGES):
            state = state * 48271 % 2147483647
            source = state % NODES
            state = state * 48271 % 2147483647
            print(source, state % NODES, file=out)


def times(command):
    """Milliseconds to load and to run (the least of some calls), and the answer."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True,
                          env=os.environ | {"PURE_JIT": "0"})
    load = re.search(r"^  load +([\d.]+) ms", done.stderr, re.M)
    least = re.search(r"^  run .*min ([\d.]+)", done.stderr, re.M)
    assert load and least, done.stderr
    return float(load[1]), float(least[1]), done.stdout


def main():
    if not RUN:
        print("skipped: PURE_RUN does not say what to run")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        edges = os.path.join(folder, "edges")
        make_edges(edges)
        call = (f"'{RUN}' '{SRC}/host/examples/bfs.pure' --load edges=-:edges --on-duplicate first "
                f"--stats --repeat {REPEAT} levels 0")
        fast = [times(f"cat '{edges}' | {call}") for _ in range(3)]
        slow = [times(f"(sleep 1; cat '{edges}') | {call}") for _ in range(2)]
        halves = times(f"(head -n 9000 '{edges}'; sleep 1; tail -n +9001 '{edges}') | {call}")
    assert len({answer for *_, answer in fast + slow + [halves]}) == 1 and fast[0][2].strip()
    load, run = min(t[0] for t in fast), min(t[1] for t in fast)
    for slow_load, slow_run, _ in slow + [halves]:
        assert slow_load > 900 and slow_load > load + 500, (load, slow_load)
    # Noise is a part of the run itself; the second that the writer waited is hundreds of runs.
    slow_run = min(t[1] for t in slow + [halves])
    assert run / 3 < slow_run < run * 3 and slow_run < 300, (run, slow_run)
    print(f"load {load:.1f} ms, with the slow writer {slow[0][0]:.1f}; run {run:.3f} and "
          f"{slow_run:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

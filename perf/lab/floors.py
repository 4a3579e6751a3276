"""Beside plain C: the programs of perf/ that have a floor, at the sizes of a run."""
import json
import os
import subprocess

from lab import CannotRun, WrongAnswer

WRONG = 1
# Name by which people know the floor: (environment variable, program, options for `rows`)
FLOORS = {
    "bfs": ("BFS_RUN", "bfs-run", lambda rows: ["--nodes", str(max(rows // 10, 4)), "--edges", str(rows),
                                                "--floors", "none"]),
    "scan": ("SCAN_RUN", "scan-run", lambda rows: ["--rows", str(rows), "--queries", "q1,q6"]),
    "scalar": ("SCALAR_RUN", "scalar-run", lambda rows: ["--n", str(rows)]),
}


def records(tools, name, rows, levels, rounds, clock):
    """A record for each level (and query) of one program at one size."""
    variable, program, options = FLOORS[name]
    path = os.environ.get(variable, str(tools / program))
    words = [path, *options(rows), "--levels", ",".join(map(str, levels)), "--rounds", str(rounds),
             "--clock", clock, "--json"]
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
    variables |= {"PURE_JIT_CACHE": "off", "PURE_JIT_THRESHOLD": str(max(min(rows, 300000), 100))}
    try:
        done = subprocess.run(words, capture_output=True, text=True, env=variables)
    except OSError as why:
        raise CannotRun(f"{path}: {why.strerror}") from None
    if done.returncode == WRONG:
        raise WrongAnswer(f"{name} beside C at {rows} rows: {done.stderr.strip()}")
    if done.returncode != 0:
        raise CannotRun(f"{name} beside C at {rows} rows: exit {done.returncode}: {done.stderr.strip()}")
    found = []
    for line in map(json.loads, done.stdout.splitlines()):
        found.append({"kind": "floor", "floor": f"{name} {line['query']}" if "query" in line else name, "rows": rows,
                      "level": line["level"], "ms": line["pure_ms" if "pure_ms" in line else "ms"],
                      "c_ms": line["c_ms"], "ratio": line["ratio"], "work": line["work"],
                      "clock": clock, "samples": line["samples"]})
    return found

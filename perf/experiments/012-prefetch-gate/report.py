#!/usr/bin/env python3
"""The table, and the plot where gnuplot is installed, of samples.jsonl.

usage: report.py SAMPLES.jsonl FOLDER
Of each size of graph the time of a setting (the geometric mean of the medians of its graphs) over that
of the best one. The last rows are the geometric mean and the worst of each.
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys

NEVER = 1 << 50


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def read(path):
    """nodes -> {bytes: ms}; -1 is level 2."""
    graphs = {}
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        if "level" in row:
            by = graphs.setdefault(row["nodes"], {})
            by.setdefault(row.get("cache", -1), []).append(row["pure_ms"])
    return {n: {s: mean(ms) for s, ms in by.items()} for n, by in graphs.items()}


def name(setting):
    return {-1: "level 2", 0: "always", NEVER: "never"}.get(setting, str(setting))


def regrets(graphs):
    return {n: {s: ms / min(by.values()) for s, ms in by.items()} for n, by in graphs.items()}


def table(found):
    settings = sorted(next(iter(found.values())))
    rows = [["nodes"] + [name(s) for s in settings]]
    rows += [[str(n)] + [f"{by[s]:.3f}" for s in settings] for n, by in found.items()]
    rows.append(["mean"] + [f"{mean([by[s] for by in found.values()]):.3f}" for s in settings])
    rows.append(["worst"] + [f"{max(by[s] for by in found.values()):.3f}" for s in settings])
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.rjust(w) for cell, w in zip(row, widths)))


def plot(graphs, folder):
    if shutil.which("gnuplot") is None:
        return
    script = ["set terminal svg size 760,440 font 'sans,13'", f"set output '{folder / 'gate.svg'}'",
              "set logscale x", "set xlabel 'nodes (ten edges each)'", "set ylabel 'time / never'",
              "set grid", "set key outside right top", "set yrange [0:*]"]
    curves = []
    for at, setting in enumerate(s for s in sorted(next(iter(graphs.values()))) if s != NEVER):
        script += [f"$c{at} << end", *(f"{n} {by[setting] / by[NEVER]:.4f}" for n, by in graphs.items()),
                   "end"]
        curves.append(f"$c{at} using 1:2 with linespoints title '{name(setting)}'")
    script.append("plot " + ", ".join(curves) + ", 1 with lines lc 'black' title 'never'")
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    graphs = read(sys.argv[1])
    table(regrets(graphs))
    plot(graphs, pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The table, and the plot where gnuplot is installed, of samples.jsonl.

usage: report.py SAMPLES.jsonl FOLDER
Of each graph: the median at each distance, over that of level 2, which has no prefetches. The last
column is the geometric mean of each distance's ratio to the best of its graph: the least is the
default.
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys


def read(path):
    """(nodes, edges) -> {distance: median ms}; distance 0 is level 2."""
    graphs = {}
    for line in pathlib.Path(path).read_text().splitlines():
        row = json.loads(line)
        if "level" in row:
            graph = graphs.setdefault((row["nodes"], row["edges"]), {})
            graph[row["distance"]] = row["pure_ms"]
    return graphs


def regret(graphs, distance):
    logs = []
    for medians in graphs.values():
        best = min(ms for d, ms in medians.items() if d)
        logs.append(math.log(medians[distance] / best))
    return math.exp(sum(logs) / len(logs))


def table(graphs):
    distances = sorted(d for d in next(iter(graphs.values())) if d)
    rows = [["distance"] + [f"{n}/{e}" for n, e in graphs] + ["to the best"]]
    for d in distances:
        rows.append([str(d)] + [f"{m[d] / m[0]:.3f}" for m in graphs.values()]
                    + [f"{regret(graphs, d):.3f}"])
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.rjust(w) for cell, w in zip(row, widths)))
    best = min(distances, key=lambda d: regret(graphs, d))
    print(f"best over all graphs: {best}")


def plot(graphs, folder):
    if shutil.which("gnuplot") is None:
        return
    script = ["set terminal svg size 720,420 font 'sans,13'",
              f"set output '{folder / 'distance.svg'}'", "set logscale x 2",
              "set xlabel 'distance, rows'", "set ylabel 'level 3 / level 2'", "set grid",
              "set key outside right top", "set yrange [0:1.1]"]
    curves = []
    for at, ((nodes, edges), medians) in enumerate(graphs.items()):
        script.append(f"$g{at} << end")
        script += [f"{d} {ms / medians[0]:.4f}" for d, ms in sorted(medians.items()) if d]
        script.append("end")
        curves.append(f"$g{at} using 1:2 with linespoints title '{nodes} / {edges}'")
    script.append("plot " + ", ".join(curves))
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    graphs = read(sys.argv[1])
    table(graphs)
    plot(graphs, pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()

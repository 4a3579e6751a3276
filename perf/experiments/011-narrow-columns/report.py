#!/usr/bin/env python3
"""The table, and the plot where gnuplot is installed, of samples.jsonl: cells of 8 bytes over narrow
ones.

usage: report.py SAMPLES.jsonl FOLDER
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys


def read(path):
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return [row for row in rows if "workload" in row]


def table(rows):
    print(f"{'workload':<24}{'level':>6}{'narrow ms':>12}{'wide ms':>12}{'wide/narrow':>13}{'95 %':>16}")
    for r in rows:
        print(f"{r['workload']:<24}{r['level']:>6}{r['a_ms']:12.3f}{r['b_ms']:12.3f}"
              f"{r['pairs']:13.3f}{r['low']:9.3f}-{r['high']:.3f}")
    for level in sorted({r["level"] for r in rows}):
        logs = [math.log(r["pairs"]) for r in rows if r["level"] == level]
        print(f"geometric mean at level {level}: {math.exp(sum(logs) / len(logs)):.3f}")


def plot(rows, folder):
    if shutil.which("gnuplot") is None:
        return
    script = ["set terminal svg size 860,560 font 'sans,13'", f"set output '{folder / 'narrow.svg'}'",
              "set ylabel 'cells of 8 bytes / narrow cells, time'", "set grid y",
              "set yrange [0:*]", "set xtics rotate by -45", "set boxwidth 0.6",
              "set style fill solid 0.6", "set xrange [-0.6:*]", "$d << end"]
    script += [f'{i} "{r["workload"]}, level {r["level"]}" {r["pairs"]:.4f} {r["low"]:.4f} '
               f'{r["high"]:.4f}' for i, r in enumerate(rows)]
    script += ["end", "plot $d using 1:3:xtic(2) with boxes notitle, "
               "$d using 1:3:4:5 with yerrorbars lc 'black' notitle, 1 with lines lc 'black' notitle"]
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    rows = read(sys.argv[1])
    table(rows)
    plot(rows, pathlib.Path(sys.argv[2]))


if __name__ == "__main__":
    main()

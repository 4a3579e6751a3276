#!/usr/bin/env python3
"""The tables, and the plots where gnuplot is installed, of samples.jsonl.

usage: report.py SAMPLES.jsonl FOLDER
array, slices: of each workload the regret of a setting is its median over that of the best setting.
dense: the median, and the peak of memory, of the dense list over those of the hash list.
"""
import json
import math
import pathlib
import shutil
import subprocess
import sys


def read(path):
    rows = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    return [row for row in rows if "what" in row]


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def show(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.rjust(w) for cell, w in zip(row, widths)))


def regrets(rows):
    """(what, level, rows, look-ups) -> {setting: regret}"""
    loads = {}
    for row in rows:
        if row["what"] != "dense":
            key = (row["what"], row["level"], row["rows"], row["lookups"])
            loads.setdefault(key, {})[row["setting"]] = row["ms"]
    return {key: {s: ms / min(by.values()) for s, ms in by.items()} for key, by in loads.items()}


def print_array(found):
    settings = sorted(next(iter(found.values())))
    table = [["what", "level", "rows", "look-ups"] + [str(s) for s in settings]]
    for (what, level, rows, lookups), by in found.items():
        table.append([what, str(level), str(rows), str(lookups)] + [f"{by[s]:.2f}" for s in settings])
    print("regret by setting")
    show(table)
    for name, of in ("mean regret", mean), ("worst regret", max):
        for what in sorted({key[0] for key in found}) + [""]:
            print(f"{name} of {what or 'all'}: " + ", ".join(
                f"{s}: {of([by[s] for key, by in found.items() if what in key or not what]):.3f}"
                for s in settings))


def dense_ratios(rows):
    """(level, rows) -> {sparsity: (time, memory)}, dense over hash"""
    loads = {}
    for row in rows:
        if row["what"] == "dense":
            loads.setdefault((row["level"], row["rows"], row["sparsity"]), {})[row["setting"]] = row
    out = {}
    for (level, rows, sparsity), by in loads.items():
        hashed, dense = by[min(by)], by[max(by)]
        out.setdefault((level, rows), {})[sparsity] = (dense["ms"] / hashed["ms"],
                                                       dense["peak_bytes"] / hashed["peak_bytes"])
    return out


def print_dense(found):
    sparsities = sorted(next(iter(found.values())))
    for at, what in enumerate(("time", "peak of memory of the engine")):
        print(f"dense / hash, {what}, by numbers a key")
        show([["level", "rows"] + [str(s) for s in sparsities]] +
             [[str(level), str(rows)] + [f"{by[s][at]:.2f}" for s in sparsities]
              for (level, rows), by in found.items()])


def plot(folder, name, ylabel, xlabel, curves):
    if shutil.which("gnuplot") is None:
        return
    script = ["set terminal svg size 760,440 font 'sans,13'", f"set output '{folder / name}'",
              "set logscale x 2", f"set xlabel '{xlabel}'", f"set ylabel '{ylabel}'", "set grid",
              "set key outside right top", "set yrange [0:*]"]
    parts = []
    for at, (title, points) in enumerate(curves.items()):
        script += [f"$c{at} << end", *(f"{x} {y:.4f}" for x, y in points), "end"]
        parts.append(f"$c{at} using 1:2 with linespoints title '{title}'")
    script.append("plot " + ", ".join(parts) + ", 1 with lines lc 'black' notitle")
    subprocess.run(["gnuplot"], input="\n".join(script), text=True, check=True)


def main():
    rows, folder = read(sys.argv[1]), pathlib.Path(sys.argv[2])
    array, dense = regrets(rows), dense_ratios(rows)
    print_array(array)
    print_dense(dense)
    curves = {}
    for (what, level, rows, lookups), by in array.items():
        for setting, regret in by.items():
            if what == "array" and level == 0 and rows == max(k[2] for k in array):
                curves.setdefault(f"setting {setting}", []).append((lookups / rows, regret))
    plot(folder, "array.svg", "time / best setting", "look-ups between changes, for each row", curves)
    plot(folder, "dense.svg", "dense / hash, time", "numbers a key",
         {f"level {level}, {rows} rows": [(s, by[s][0]) for s in sorted(by)]
          for (level, rows), by in dense.items()})


if __name__ == "__main__":
    main()

"""The examples that can run alone, and their data: snapshot files of any size."""
import pathlib
import subprocess

from lab import CannotRun

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "host/examples"

# Data is made by events added to the example: `x` runs through a Lehmer generator, and
# `x * n / 2147483647` is a number below n. %s is what is done with the row number i and with two
# nodes a and b, of which there is one for ten rows. Each account has enough for 100 transfers.
MAKE = """
event lab_make(rows: int) {
  let nodes = max(rows / 10, 4)
  var x = 20161
  for i in 1..rows {
    x = x * 48271 %% 2147483647
    let a = x * nodes / 2147483647
    x = x * 48271 %% 2147483647
    let b = x * nodes / 2147483647
    %s
  }
}
"""
EDGE = "put edges (a, b)"
# name of the case: (what is done for a row, function, arguments)
CASES = {
    "bank/per_branch": ('put accounts (i, a % 50, "owner", b)', "per_branch", ()),
    "bank/transfer": ('put accounts (i, a % 50, "owner", b + 100)', "transfer", (1, 2, 1)),
    "bfs/levels": (EDGE, "levels", (0,)),
    "bfs_direction/bfs": (EDGE + "\n    put in_edges (a, b)", "bfs", (0, "nodes")),
    "deps/depths": (EDGE + '\n    if a not in names {\n      put names (a, "p" + text(a))\n'
                    '      put numbers ("p" + text(a), a)\n    }\n'
                    '    if i = 1 { put numbers ("start", a) }', "depths", ("start",)),
    "pagerank/top": (EDGE, "top", (5, 0.85, 5)),
    "sssp/sssp": ("put edges (a, b, real(i % 100))", "sssp", (0,)),
    "triangles/triangles": (EDGE, "triangles", ()),
    "wcc/sizes": (EDGE, "sizes", ()),
}


def chosen(words):
    """The cases that the words name, by example or by example/query; all where there are none."""
    wanted = words or list(CASES)
    return [c for c in CASES if c in wanted or c.split("/")[0] in wanted]


def program_of(case):
    return FOLDER / f"{case.split('/')[0]}.pure"


def make_data(pure_run, case, rows, folder):
    """The case's data as a snapshot file in the folder."""
    program = program_of(case)
    maker, data = folder / f"{program.stem}-make.pure", folder / "data.snapshot"
    maker.write_text(program.read_text() + MAKE % CASES[case][0])
    run = subprocess.run([pure_run, maker, "--save", data, "lab_make", str(rows)],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise CannotRun(f"{case}: cannot make data: {run.stderr.strip()}")
    return data


def call_of(case, rows):
    """The words of the call, as pure-run has them."""
    _, function, arguments = CASES[case]
    return [function, *(str(max(rows // 10, 4)) if a == "nodes" else str(a) for a in arguments)]

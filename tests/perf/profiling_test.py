#!/usr/bin/env python3
"""Profiles: every command of docs/profiling.md runs, and a profile of a search by the clock attributes
most of what runs to loops by their names."""
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SRC = pathlib.Path(os.environ["SRC"])
BUILD = pathlib.Path(os.environ["BUILD"])
RUN = os.environ.get("PURE_RUN")
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
ENVIRONMENT |= {"PURE_JIT_CACHE": "off", "BFS_RUN": str(BUILD / "perf/bfs-run"),
                "PATH": f"{BUILD}/host:{BUILD}/perf:{SRC}/perf:{os.environ['PATH']}"}
FLAME_STACKS = """pure-run  11 12.5:  500000 cpu-clock:
\t  7f01 inner+0x3 (/lib/a.so)
\t  7f02 outer+0x9 (/lib/a.so)

pure-run  11 12.6:  500000 cpu-clock:
\t  7f03 bfs:9 (/tmp/perf-11.map)
\t  7f02 outer+0x9 (/lib/a.so)

        pure-run  11 [001] 12.7:  500000 cpu-clock:  7f04 [unknown] (/lib/b<&>.so)
"""


def command(text, folder, **variables):
    return subprocess.run(["bash", "-e", "-c", text], cwd=folder, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=ENVIRONMENT | variables)


def blocks():
    text = (SRC / "docs/profiling.md").read_text(encoding="utf-8")
    return re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)


def test_flame(folder):
    stacks = folder / "stacks"
    stacks.write_text(FLAME_STACKS)
    done = command(f"flame --folded {stacks}; flame --title 'a & b' {stacks}; flame /dev/null", folder)
    folded, _, picture = done.stdout.partition("<svg")
    assert folded.splitlines() == ["pure-run;[b<&>.so] 1", "pure-run;outer;bfs:9 1",
                                   "pure-run;outer;inner 1"], folded
    assert done.returncode == 3 and "no sample" in done.stderr, done
    assert "<title>outer: 2 samples, 66.7 %</title>" in picture and "a &amp; b" in picture, picture
    assert picture.count("<rect") == 5 and picture.rstrip().endswith("</svg>"), picture


def test_docs(folder):
    """In order, in one folder, as a reader would; what has output there has output here."""
    found = blocks()
    assert len(found) >= 10
    # A tenth of the graph will do.
    small = [b.replace("1000000", "100000").replace("rand() * 100000", "rand() * 10000") for b in found]
    for block in small:
        if "valgrind" in block and shutil.which("valgrind") is None:
            continue
        # Smaller searches are compiled sooner.
        done = command(block, folder, SRC=str(SRC), PURE_JIT_THRESHOLD="200000",
                       PURE_JIT_SYNC="1")
        assert done.returncode == 0, (block, done)
        if "--stats" in block:
            assert re.search(r"^levels:\d+ .* level 3$", done.stdout, re.M), done.stdout
        if "perf report" in block or "flame --folded" in block or "uniq -c" in block:
            assert re.search(r"levels:\d+|bfs\.pure:\d+", done.stdout), (block, done)
        if "perf annotate" in block:
            assert re.search(r"^ *\d+\.\d\d :", done.stdout, re.M), done
    assert "<svg" in (folder / "graph.svg").read_text()


def test_loops_by_name(folder):
    """Of the samples between the first and the last one in a loop, over four of five are in loops."""
    draw = random.Random(1)
    edges = "".join(f"{draw.randrange(5000)} {draw.randrange(5000)}\n" for _ in range(50000))
    (folder / "edges.txt").write_text(edges)
    record = (f"perf record -q -e cpu-clock -F 4000 -o data '{RUN}' '{SRC}/host/examples/bfs.pure' "
              "--load edges=edges.txt --on-duplicate first --repeat 600 levels 0 >answer 2>times")
    done = command(record, folder, PURE_JIT="3", PURE_JIT_PERF="map", PURE_JIT_SYNC="1",
                   PURE_JIT_THRESHOLD="300000")
    assert done.returncode == 0, done
    script = command("perf script -i data -F ip,sym 2>/dev/null", folder).stdout.splitlines()
    names = [line.split(None, 1)[1].strip() for line in script if len(line.split()) > 1]
    named = [bool(re.fullmatch(r"levels:\d+", name)) for name in names]
    assert any(named), sorted(set(names))
    first, last = named.index(True), len(named) - named[::-1].index(True)
    share = sum(named[first:last]) / (last - first)
    print(f"{sum(named)} of {last - first} samples of the run in loops: {100 * share:.1f} %")
    assert sum(named) > 100 and share > 0.8, (share, sum(named))


def cannot():
    """Why nothing can be recorded here, or None."""
    if os.environ.get("PURE_SANITIZE"):
        return "sanitized"
    if not RUN or not (BUILD / "llvmjit/libpure-llvmjit.so").exists():
        return "built without LLVM"
    if shutil.which("perf") is None:
        return "perf is not installed"
    with tempfile.TemporaryDirectory() as folder:
        done = command("perf record -q -e cpu-clock -o data true", folder)
    return None if done.returncode == 0 else f"perf cannot record: {done.stderr.strip()[:200]}"


def main():
    why = cannot()
    for name, test in [(n, t) for n, t in globals().items() if n.startswith("test_")]:
        if why and test is not test_flame:
            continue
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder))
        print(f"ok {name}")
    if why:
        print(f"skipped: {why}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""A compiler with a planted error, whose level 2 stops each loop one row early (planted/planted.c): every
program of perf/ that runs level 2 says so, and prints no time; level 1 and level 3 are as they were."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SRC = pathlib.Path(os.environ["SRC"])
BUILD = pathlib.Path(os.environ["BUILD"])
PLANTED = BUILD / "tests/perf/planted"
SANITIZED = bool(os.environ.get("PURE_SANITIZE"))
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
ENVIRONMENT |= {"PURE_JIT_THRESHOLD": "0", "PURE_JIT_CACHE": "off", "PURE_JIT_SYNC": "1",
                "PURE_PLUGIN_DIR": str(PLANTED), "BFS_RUN": str(BUILD / "perf/bfs-run"),
                "SCAN_RUN": str(BUILD / "perf/scan-run")}

PROGRAMS = {
    "bfs-run": ["--nodes", "3000", "--edges", "15000"],
    "scan-run": ["--rows", "3000"],
    "scalar-run": ["--n", "3000"],
    "seekfloor": ["--nodes", "700", "--edges", "5000"],
    "indexfloor": ["--rows", "3000", "--probes", "3000"],
}


def run(*words, **variables):
    return subprocess.run([str(w) for w in words], capture_output=True, text=True,
                          env=ENVIRONMENT | variables)


def caught(done):
    """A wrong answer, or work that differs, and not one time."""
    said = done.stderr.lower()
    assert done.returncode == 1 and done.stdout == "", done
    assert "wrong answer" in said or "differ" in said, done


def test_it_is_planted():
    program = "query q(n: int): int {\n  var s = 0\n  for i in 1..n { s += i }\n  return s\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "q.pure"
        path.write_text(program)
        answers = [run(os.environ["PURE_RUN"], path, "q", "100", PURE_JIT=level).stdout.strip()
                   for level in "0123"]
    assert answers == ["5050", "5050", "4950", "5050"], answers


def test_programs():
    for name, words in PROGRAMS.items():
        command = [BUILD / "perf" / name, *words, "--rounds", "2", "--levels"]
        caught(run(*command, "2"))
        caught(run(*command, "0,1,2,3"))
        caught(run(*command, "2", "--json"))
        fine = run(*command, "0,1,3")
        assert fine.returncode == 0 and fine.stdout, fine


def test_layout_run():
    for what in "array", "dense":
        caught(run(BUILD / "perf/layout-run", "--what", what, "--rows", "500", "--lookups", "500",
                   "--rounds", "2", "--level", "2"))


def test_embed_run():
    caught(run(BUILD / "perf/embed-run", "--rows", "3000", "--calls", "3000", "--rounds", "2"))


def test_scanfloor():
    caught(run(SRC / "perf/scanfloor", "--rows", "3000", "--rounds", "2", "--levels", "2"))


def test_pairs(folder):
    (folder / "q.pure").write_text("query q(n: int): int {\n  var s = 0\n"
                                   "  for i in 1..n { s += i }\n  return s\n}\n")
    call = f"{os.environ['PURE_RUN']} {folder}/q.pure q 1000"
    caught(run(SRC / "perf/pairs", "--rounds", "2", "--a", f"PURE_JIT=0 {call}", "--b",
               f"PURE_JIT=2 {call}"))


def test_callgrind():
    if SANITIZED or shutil.which("valgrind") is None:
        return
    caught(run(SRC / "perf/callgrind-bfs", "--nodes", "500", "--edges", "3000", "--levels", "2"))


def test_peers():
    if shutil.which("lua5.4") is None and shutil.which("lua") is None:
        return
    done = run(SRC / "perf/peers", "--rounds", "1", "--loop", "3000", "loop", PURE_JIT="2")
    assert done.returncode == 1 and " ms" not in done.stdout, done


def test_cold_sweep(folder):
    sweep = [SRC / "perf/cold-sweep", "--sizes", "400", "--rounds", "1", "--at-once", "--jit"]
    fine = run(*sweep, "3", "bfs")
    assert fine.returncode in (0, 4) and "worst first" in fine.stdout, fine
    caught(run(*sweep, "2", "--json", folder / "out.jsonl", "bfs"))


def test_tiers(folder):
    tiers = [SRC / "perf/tiers", "--sizes", "400", "--rounds", "1", "--no-html", "--instructions", "none", "--out",
             folder]
    fine = run(*tiers, "--levels", "0,1,3", "bfs/levels")
    assert fine.returncode == 0 and "bfs/levels" in fine.stdout, fine
    (folder / "tiers.jsonl").unlink()
    for words in ["bfs/levels"], ["--floors", "scalar", "bank/transfer"]:
        done = run(*tiers, *words)
        caught(done)
        assert not list(folder.iterdir()), list(folder.iterdir())
        assert "level 2" in done.stderr, done


def main():
    if not (PLANTED / "libpure-llvmjit.so").exists():
        print("skipped: built without LLVM")
        return 77
    with tempfile.TemporaryDirectory() as cache:  # code is compiled once, with its error
        ENVIRONMENT["PURE_JIT_CACHE"] = cache
        for name, test in [(n, t) for n, t in globals().items() if n.startswith("test_")]:
            with tempfile.TemporaryDirectory() as folder:
                test(pathlib.Path(folder)) if test.__code__.co_argcount else test()
            print(f"ok {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

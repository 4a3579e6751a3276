#!/usr/bin/env python3
"""The programs of perf/ at tiny sizes: their tables, their JSON, and that a wrong answer is caught
before a time is printed."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SRC = pathlib.Path(os.environ["SRC"])
BUILD = pathlib.Path(os.environ["BUILD"])
SANITIZED = bool(os.environ.get("PURE_SANITIZE"))
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
# Tiny runs are never hot by themselves.
ENVIRONMENT |= {"PURE_JIT_THRESHOLD": "0", "PURE_JIT_CACHE": "off"}
FLOORS = ["c_bits", "c_ahead", "c_direction", "packed", "narrow", "ahead", "narrow_ahead"]


def run(*words, status=0, **variables):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True,
                          env=ENVIRONMENT | variables)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


def perf(name):
    return BUILD / "perf" / name


def has_compiled_tiers():
    done = subprocess.run([perf("scalar-run"), "--n", "10", "--levels", "3", "--rounds", "1"],
                          capture_output=True, text=True, env=ENVIRONMENT)
    return "is not in this build" not in done.stderr


LEVELS = "0,1,2,3" if has_compiled_tiers() else "0"
RUNS = {
    "bfs-run": ["--nodes", "3000", "--edges", "15000", "--floors", ",".join(FLOORS)],
    "scan-run": ["--rows", "3000", "--queries", "q1,q1_one_key,q6", "--floors", "all"],
    "scalar-run": ["--n", "3000"],
    "seekfloor": ["--nodes", "700", "--edges", "5000"],
    "indexfloor": ["--rows", "3000", "--probes", "3000"],
}
BY_HAND = {
    "bfs-run": ["plain C", *FLOORS],
    "scan-run": ["C -O3 native", "wide", "mask", "wide_mask"],
    "scalar-run": ["C -O2"],
    "seekfloor": ["plain C", "c_ahead", "c_search", "c_tree"],
    "indexfloor": ["plain C", "c_hash", *(f"{kind}_{n}" for kind in ("aligned", "unaligned")
                                          for n in (1, 8, 32))],
}
LAYOUTS = {"seekfloor": ["tree", "array"], "indexfloor": ["array_1", "array_8", "array_32"]}


def small(name, levels=LEVELS):
    return [perf(name), *RUNS[name], "--rounds", "3", "--levels", levels]


def racers(name):
    return BY_HAND[name] + [f"{side} level {n}" for side in LAYOUTS.get(name, ["Pure"])
                            for n in LEVELS.split(",")]


def test_help():
    programs = [perf(name) for name in (*RUNS, "pcount")]
    programs += [SRC / "perf" / name for name in ("cold-sweep", "callgrind-bfs", "pairs")]
    for program in programs:
        lines = run(program, "--help").stdout.splitlines()
        assert lines[0] and len(lines) <= 40 and max(map(len, lines)) <= 100, program
        run(program, "--no-such-option", status=2)
    for name in RUNS:
        assert "bad option" in run(perf(name), "--rounds", "0", status=2).stderr
        assert "nobody is called" in run(*small(name), "--spoil", "nobody", status=2).stderr


def test_tables():
    for name in RUNS:
        out = run(*small(name)).stdout
        for racer in racers(name):
            row = re.search(rf"^{re.escape(racer)} +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+)", out,
                            re.M)
            assert row, (name, racer, out)
            least, median, most = map(float, row.groups()[:3])
            assert least <= median <= most, row[0]
        widths = {len(line.rstrip()) for line in out.splitlines() if line.startswith(tuple(racers(name)))}
        assert len(widths) == 1, out


def test_json():
    for name, clock in zip(RUNS, ("cpu", "cpu", "wall", "wall", "cpu")):
        lines = [json.loads(line) for line in run(*small(name), "--json", "--clock",
                                                  clock).stdout.splitlines()]
        levels = [line for line in lines if "level" in line or "level" in line.get("form", "")]
        queries = 3 if name == "scan-run" else len(LAYOUTS.get(name, "1"))
        assert len(levels) == queries * len(LEVELS.split(",")), lines
        for line in lines:
            assert len(line["samples"]) == 3 and line["ratio"] > 0 and line["clock"] == clock, line
        for query in {line.get("query") for line in levels}:
            assert len({line["work"] for line in levels if line.get("query") == query}) == 1
            assert all(line["work"] > 700 for line in levels)
        if name == "bfs-run":
            assert {line["floor"] for line in lines if "floor" in line} == set(FLOORS)
            assert all(line["reached"] == lines[0]["reached"] > 2000 for line in lines)


def test_wrong_answers():
    """Of every racer, and nothing is printed of the others either."""
    for name in RUNS:
        for racer in racers(name):
            level = re.search(r"level (\d)", racer)
            done = run(*small(name, level[1] if level else "0"), "--spoil", racer, status=1)
            assert done.stdout == "" and f"wrong answer: {racer}" in done.stderr, done


def test_floors_alone():
    out = run(SRC / "perf/bfsfloor", "--nodes", "3000", "--edges", "15000", "--rounds", "2",
              BFS_RUN=str(perf("bfs-run"))).stdout
    rows = re.findall(r"^(plain C|[a-z_]+) ", out, re.M)
    assert rows == ["plain C", *FLOORS], out


def test_scans_alone():
    out = run(SRC / "perf/scanfloor", "--rows", "3000", "--rounds", "2", "--levels", "none",
              SCAN_RUN=str(perf("scan-run"))).stdout
    assert re.findall(r"^q\d", out, re.M) == ["q1", "q6"] and "Pure" not in out, out
    for form in BY_HAND["scan-run"]:
        assert len(re.findall(rf"^{form} ", out, re.M)) == 2, out


def test_direction_and_distances():
    if LEVELS == "0":
        return
    out = run(*small("bfs-run"), "--direction", "--distances", "2,16", "--json").stdout
    lines = [json.loads(line) for line in out.splitlines()]
    assert sum(line.get("search") == "direction" for line in lines) == 4
    assert [line["distance"] for line in lines if line.get("distance")] == [2, 16]
    done = run(*small("bfs-run"), "--direction", "--spoil", "direction 3", status=1)
    assert done.stdout == ""


def test_cold_sweep(folder):
    sweep = [SRC / "perf/cold-sweep", "--sizes", "40,400", "--seconds", "0", "--rounds", "2"]
    lines = folder / "sweep.jsonl"
    done = subprocess.run([*map(str, sweep), "--json", lines, "bank", "bfs"], capture_output=True,
                          text=True, env=ENVIRONMENT)
    assert done.returncode in (0, 4), done  # two rounds say nothing about speed
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(r["case"], r["rows"]) for r in rows] == [
        (case, size) for case in ("bank/per_branch", "bank/transfer", "bfs/levels")
        for size in (40, 400)]
    assert "worst first / level 0" in done.stdout
    done = run(*sweep, "--spoil", "bfs/levels", "bfs", status=1)
    assert "answers differ" in done.stderr and "bfs" not in done.stdout, done
    run(*sweep, "nothing", status=2)


def test_callgrind():
    if SANITIZED or shutil.which("valgrind") is None:
        return
    count = [SRC / "perf/callgrind-bfs", "--nodes", "2000", "--edges", "20000", "--levels", "0"]
    done = subprocess.run([*map(str, count), "--json"], capture_output=True, text=True,
                          env=ENVIRONMENT | {"BFS_RUN": str(perf("bfs-run"))})
    if done.returncode == 3 and "valgrind's headers" in done.stderr:
        return
    found = {row["name"]: row["instructions"] for row in map(json.loads, done.stdout.splitlines())}
    assert 5 < found["plain C"] / 20000 < 40, (found, done.stderr)
    assert found["plain C"] < found["narrow_ahead"] < found["Pure level 0"], found
    spoiled = run(*count[:-1], "none", "--floors", "none", "--spoil", "plain C", status=1,
                  BFS_RUN=str(perf("bfs-run")))
    assert spoiled.stdout == "" and "wrong answer: plain C" in spoiled.stderr, spoiled


COUNTERS = ["cycles", "instructions", "branches", "branch_misses", "L1D_loads", "L1D_misses",
            "LLC_loads", "LLC_misses", "task_clock", "page_faults", "context_switches"]


def test_pcount():
    """Every counter has a value, or the reason why not in words; the command's own output and
    status are its own."""
    count = perf("pcount")
    done = run(count, "--json", "--", "sh", "-c", "echo out; exit 5", status=5)
    line = json.loads(done.stderr)
    assert done.stdout == "out\n" and line["status"] == 5 and line["wall_ms"] > 0
    for name in COUNTERS:
        assert line[name].get("value", 0) > 0 or len(line[name].get("reason", "")) > 20 or \
            name.endswith(("misses", "switches")), (name, line)
    assert line["task_clock"]["value"] > 0 and line["page_faults"]["value"] > 10
    table = run(count, "true").stderr
    for name in COUNTERS:
        assert name.replace("_", " ") in table, table
    if "not counted" in table:
        assert "--valgrind" in table and re.search(r"\((E[A-Z]+|error \d+)\)", table), table
    assert run(count, "sh", "-c", "kill -9 $$", status=137).stderr
    assert "nonesuch" in run(count, "nonesuch", status=3).stderr
    assert "which command" in run(count, status=2).stderr
    if shutil.which("valgrind") and not SANITIZED:
        said = run(count, "--valgrind", "true").stderr
        assert re.search(r"I +refs: +[0-9,]+", said) and "D1  misses" in said, said


def test_counters_of_calls():
    people = SRC / "host/examples"
    words = [os.environ["PURE_RUN"], people / "people.pure", "--load",
             f"people={people}/people.csv", "--load", f"knows={people}/knows.csv", "--counters"]
    done = run(*words, "--repeat", "5", "friends", "Ann")
    assert done.stdout.startswith("friend,since\n")
    assert "counters of friends, mean of 5 calls" in done.stderr, done.stderr
    for name in COUNTERS:
        assert name.replace("_", " ") in done.stderr, done.stderr
    done = run(*words, "friends", "Ann", "+", "friends", "Bob")
    assert done.stderr.count("counters of friends:") == 2, done.stderr
    # Counters are closed with their call: a shell of many calls does not run out of files.
    calls = "friends Ann\n" * 300
    shell = subprocess.run([str(w) for w in [*words, "-i"]], input=calls, capture_output=True,
                           text=True, env=ENVIRONMENT)
    assert shell.returncode == 0 and "EMFILE" not in shell.stderr, shell.stderr[-2000:]
    assert shell.stderr.count("counters of friends:") == 300


def test_pairs(folder):
    """Times of runs, processes and lines of JSON; what differs is refused before any is printed."""
    pairs = SRC / "perf/pairs"
    (folder / "p.pure").write_text("query q(n: int): int {\n  var s = 0\n"
                                   "  for i in 1..n { s += i % 7 }\n  return s\n}\n")
    call = f"{os.environ['PURE_RUN']} {folder}/p.pure q"
    out = run(pairs, "--rounds", "3", "--a", f"{call} 1000", "--b", f"PURE_JIT=0 {call} 1000").stdout
    assert re.search(r"^A +[0-9.]+ +[0-9.]+ +[0-9.]+$", out, re.M) and "B / A " in out, out
    assert "3 pairs; answers and work equal" in out, out
    slow = json.loads(run(pairs, "--json", "--of", "process", "--rounds", "5", "--a", "true", "--b",
                          "sleep 0.2").stdout)
    assert slow["verdict"] == "B is slower" and slow["low"] > 1 and len(slow["ratios"]) == 5
    assert slow["low"] <= slow["pairs"] <= slow["high"], slow
    tool = f"{perf('scalar-run')} --n 3000 --levels 0 --rounds 2 --json"
    assert "B / A" in run(pairs, "--of", "json", "--rounds", "2", "--a", tool, "--b", tool).stdout
    refused = [
        (f"{call} 1000", f"{call} 1002", "standard output differs"),
        (f"{call} 1000", f"{call} 1001", "work differs"),  # 1001 is a multiple of 7
        ("echo 1", "echo 2", "standard output differs"),
        ("sh -c 'echo work q 1 >&2'", "sh -c 'echo work q 2 >&2'", "work differs"),
    ]
    for a, b, why in refused:
        done = run(pairs, "--rounds", "2", "--a", a, "--b", b, status=1)
        assert done.stdout == "" and why in done.stderr, done
    for side in "ab":
        done = run(pairs, "--rounds", "2", "--spoil", side, "--a", f"{call} 9", "--b", f"{call} 9",
                   status=1)
        assert done.stdout == "" and "wrong answer" in done.stderr, done
    other = tool.replace("3000", "3001")
    assert "differs" in run(pairs, "--of", "json", "--a", tool, "--b", other, status=1).stderr
    run(pairs, "--a", "true", "--b", "false", status=3)
    run(pairs, "--a", "true", "--b", "A=1", status=2)


def test_layout_run():
    level = LEVELS[-1]
    for what, settings in ("array", "0,8"), ("slices", "1,4,64"), ("dense", "0,1000000"):
        words = [perf("layout-run"), "--what", what, "--rows", "800", "--lookups", "900", "--rounds", "3",
                 "--settings", settings, "--level", level]
        out = run(*words).stdout
        assert re.findall(r"^(\d+) +[0-9.]+ +[0-9.]+ +[0-9.]+ +[0-9.]+ *$", out, re.M) == \
            settings.split(","), out
        lines = [json.loads(line) for line in run(*words, "--json").stdout.splitlines()]
        assert len({(line["sum"], line["work"]) for line in lines}) == 1 and lines[0]["work"] > 800
        done = run(*words, "--spoil", settings.split(",")[-1], status=1)
        assert done.stdout == "" and "wrong answer" in done.stderr, done


def test_caches():
    """A gate of prefetches of any size changes no answer and no work."""
    if LEVELS == "0":
        return
    out = run(*small("bfs-run"), "--caches", "0,64,1000000", "--json").stdout
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["cache"] for line in lines if "cache" in line] == [0, 64, 1000000]
    assert len({line["work"] for line in lines if "level" in line}) == 1
    refused = run(*small("bfs-run"), PURE_PREFETCH_CACHE="some", status=3)
    assert "PURE_PREFETCH_CACHE" in refused.stderr, refused


def test_narrow_or_wide():
    """Cells of 8 bytes: the same answers and the same work, and that is how wide they are."""
    people = SRC / "host/examples"
    words = [os.environ["PURE_RUN"], people / "people.pure", "--load",
             f"people={people}/people.csv", "--load", f"knows={people}/knows.csv", "--work",
             "--stats", "friends", "Ann"]
    narrow, wide = (run(*words, PURE_LIST_NARROW=way) for way in "10")
    assert narrow.stdout == wide.stdout
    work = r"^work friends \d+$"
    assert re.search(work, narrow.stderr, re.M)[0] == re.search(work, wide.stderr, re.M)[0]
    widths = [re.findall(r"^(?:people|knows) .* ([\d,]+)$", done.stderr, re.M) for done in (narrow, wide)]
    assert widths == [["0,1,4", "1,1,4"], ["0,8,8", "8,8,8"]], widths
    for name in ("bfs-run", "scan-run", "indexfloor"):
        lines = [[json.loads(line) for line in run(*small(name), "--json", PURE_LIST_NARROW=way).stdout.splitlines()]
                 for way in "10"]
        assert [line["work"] for line in lines[0]] == [line["work"] for line in lines[1]], name


def test_experiments(folder):
    """Scripts and reports, small: samples of one machine, tables, plots."""
    tables = {"010-layout-thresholds": ("mean regret of all: 0: ", "dense / hash"),
              "011-narrow-columns": ("wide/narrow", "geometric mean at level 0"),
              "012-prefetch-gate": ("always", "worst ")}
    for name, expected in tables.items():
        if name == "012-prefetch-gate" and LEVELS == "0":
            continue
        out = folder / name
        out.mkdir()
        said = run(SRC / "perf/experiments" / name / "run", "--quick", out, LEVELS="0",
                   LAYOUT_RUN=str(perf("layout-run")), PERF_TOOLS=str(BUILD / "perf"),
                   BFS_RUN=str(perf("bfs-run"))).stdout
        assert all(words in said for words in expected), said
        first = json.loads((out / "samples.jsonl").read_text().splitlines()[0])
        assert {"machine", "kernel", "compiler", "commit"} <= set(first), first
        if shutil.which("gnuplot"):
            assert all("</svg>" in plot.read_text() for plot in out.glob("*.svg")) and list(out.glob("*.svg"))


def test_prefetch_report(folder):
    script = SRC / "perf/experiments/002-prefetch-distance/report.py"
    lines = [{"machine": "none"}]
    for nodes, best in (10, 4), (20, 4), (30, 16):
        lines += [{"level": 3 if d else 2, "nodes": nodes, "edges": nodes, "distance": d,
                   "pure_ms": 10 + abs(d - best) if d else 20} for d in (0, 2, 4, 16)]
    data = folder / "samples.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    out = run(sys.executable, script, data, folder).stdout
    assert "best over all graphs: 4" in out and re.search(r"^ +4 +0.500 +0.500 +1.100", out, re.M), out
    if shutil.which("gnuplot"):
        assert "</svg>" in (folder / "distance.svg").read_text()


def main():
    if not perf("bfs-run").exists():
        print("skipped: the programs of perf/ are not built")
        return 77
    tests = [(name, test) for name, test in globals().items() if name.startswith("test_")]
    with tempfile.TemporaryDirectory() as cache:  # the same programs all the time: compiled once
        ENVIRONMENT["PURE_JIT_CACHE"] = cache
        for name, test in tests:
            with tempfile.TemporaryDirectory() as folder:
                test(pathlib.Path(folder)) if test.__code__.co_argcount else test()
            print(f"ok {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

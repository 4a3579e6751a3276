#!/usr/bin/env python3
"""perf/smoke and perf/history: bands and their warnings, wrong answers, broken programs, what may be
recorded, and how the history is drawn.

Programs that print lines made up here stand in for those of perf/ where ratios have to be known; the
real ones run at tiny sizes, also with the planted compiler, whose level 2 drops a row."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

SRC = pathlib.Path(os.environ["SRC"])
BUILD = pathlib.Path(os.environ["BUILD"])
PLANTED = BUILD / "tests/perf/planted"
ENVIRONMENT = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
USAGE, CANNOT = 2, 3

LINES = {
    "bfs-run": [{"floor": "narrow_ahead", "c_ms": 10, "floor_ms": 5, "samples": [[10, 5]]}] + [
        {"level": n, "c_ms": 10, "work": 77, "reached": 9, "samples": [[10, ms], [11, ms]]}
        for n, ms in enumerate((30, 20, 12, 6))],
    "scan-run": [{"query": q, "level": n, "c_ms": 2, "samples": [3, 4, 5], "work": 5}
                 for q in ("q1", "q6") for n in (2, 3)],
    "scalar-run": [{"level": 0, "c_ms": 2, "samples": [12], "work": 8},
                   {"level": 2, "c_ms": 2, "samples": [2], "work": 8}],
    "embed-run": [{"name": n, "ms": ms, "samples": [ms], "work": 0} for n, ms in
                  (("memcpy and narrow", 10), ("pure_fill_ints", 9), ("pure_fill_arrow", 8), ("C", 1),
                   ("Pure level 0", 40), ("Pure level 3", 2))],
    "tpcc": [{"side": n, "ms": [ms]} for n, ms in
             (("SQLite in memory", 50), ("Pure level 0", 10), ("Pure level 3", 9))],
}
RATIOS = {"bfs_0/c": 3, "bfs_1/c": 2, "bfs_2/c": 1.2, "bfs_3/c": 0.6, "bfs_3/narrow_ahead": 1.2, "q1_2/c": 2,
          "q1_3/c": 2, "q6_2/c": 2, "q6_3/c": 2, "scalar_0/c": 6, "scalar_2/c": 1, "fill_ints/memcpy": 0.9,
          "fill_arrow/memcpy": 0.8, "call_0/c": 40, "call_3/c": 2, "event_3/event_0": 0.9,
          "event_3/sqlite": 0.18}


def run(*words, status=0, **variables):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True,
                          env=ENVIRONMENT | variables)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


class Tree:
    """A tree of its own, committed: the scripts of perf/, and a build with programs made up here."""

    def __init__(self, root):
        self.root, self.build, self.history = root, root / "build/release", root / "perf/history.jsonl"
        (self.build / "perf").mkdir(parents=True)
        for name in ("perf/smoke", "perf/smoke.bands", "perf/history", "perf/support/history.py",
                     "perf/experiments/machine"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SRC / name, root / name)
        (root / ".gitignore").write_text("/build/\n__pycache__/\n")
        (self.build / "build.ninja").write_text("build all: phony\n")
        for name, lines in LINES.items():
            self.program(name, lines)
        self.bands({name: (ratio * 0.9, ratio * 1.1) for name, ratio in RATIOS.items()})
        self.git("init", "-q")
        self.commit()

    def program(self, name, lines, status=0, said=""):
        path = self.build / "perf" / name
        text = "".join(json.dumps(line) + "\n" for line in lines)
        path.write_text(f"#!/bin/sh\necho '{said}' >&2\ncat <<'E'\n{text}E\nexit {status}\n")
        path.chmod(0o755)

    def bands(self, bands):
        text = "".join(f"{name} {low} {high} because of {name}\n" for name, (low, high) in bands.items())
        (self.root / "perf/smoke.bands").write_text("# of a test\n\n" + text)

    def git(self, *words):
        run("git", "-C", self.root, "-c", "user.name=t", "-c", "user.email=t@localhost", *words)

    def commit(self):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def smoke(self, *words, status=0):
        return run(self.root / "perf/smoke", *words, status=status)


def entry(**changed):
    ratios = {"a/c": {"ratio": 2.0, "least": 1.5, "most": 2.5}}
    return {"date": "2026-01-02T03:04:05Z", "commit": "abc", "machine": "M", "ratios": ratios} | changed


def test_ratios_and_artifact(folder):
    tree = Tree(folder)
    out = tree.smoke("--passes", "2").stdout
    rows = {m[1]: list(map(float, m.groups()[1:]))
            for m in re.finditer(r"^(\S+/\S+) +([0-9.]+) +([0-9.]+) +([0-9.]+)  ", out, re.M)}
    assert rows == {name: [ratio] * 3 for name, ratio in RATIOS.items()}, out
    assert "WARNING" not in out and not tree.history.exists()
    assert "17 ratios, 0 outside of their bands; " in out.splitlines()[-1], out
    at = [re.match(r"\S+ +[0-9.]+ +[0-9.]+ +[0-9.]+", line).end() for line in out.splitlines()[2:-1]]
    assert len(set(at)) == 1, out
    lines = [json.loads(line) for line in (tree.build / "smoke.jsonl").read_text().splitlines()]
    assert {"commit", "machine", "kernel", "compiler", "load_before", "load_after"} <= set(lines[0])
    assert len(lines) == 1 + 2 * sum(map(len, LINES.values())) and lines[-1]["pass"] == 2


def test_warning(folder):
    """Loud, with band and recorded values, and no failure."""
    tree = Tree(folder)
    tree.smoke("--passes", "1", "--record")
    tree.program("scalar-run", [{"level": 0, "c_ms": 2, "samples": [12], "work": 8},
                                {"level": 2, "c_ms": 2, "samples": [5], "work": 8}])
    out = tree.smoke("--passes", "1").stdout
    assert re.search(r"^scalar_2/c +2\.50 .* ! 0\.90 to 1\.10 +1\.00$", out, re.M), out
    said = [line for line in out.splitlines() if line.startswith("WARNING")]
    assert len(said) == 1 and "scalar_2/c is 2.50, slower than its band, 0.9 to 1.1" in said[0], out
    assert re.search(r"recorded here: 1\.00 \([0-9a-f]{7,}\)", said[0]), out
    assert "because of scalar_2/c" in out and ", 1 outside" in out.splitlines()[-1] and "\033" not in out
    out = tree.smoke("--passes", "1", "--color", "always").stdout
    assert "\033[1;31mWARNING: scalar_2/c" in out
    tree.program("tpcc", [line | {"ms": [4]} if "3" in line["side"] else line for line in LINES["tpcc"]])
    assert "event_3/event_0 is 0.40, faster than" in tree.smoke("--passes", "1").stdout


def test_wrong_answer(folder):
    tree = Tree(folder)
    tree.program("scan-run", [], 1, "scan-run: wrong answer: q1")
    done = tree.smoke(status=1)
    assert done.stdout == "" and "wrong answer: q1" in done.stderr, done
    assert not (tree.build / "smoke.jsonl").exists()
    path = tree.build / "perf/scan-run"
    lines = "\n".join(json.dumps(line | {"work": "@"}) for line in LINES["scan-run"]).replace('"@"', "$n")
    path.write_text(f"#!/bin/sh\necho x >>{folder}/n\nn=$(wc -l <{folder}/n)\ncat <<E\n{lines}\nE\n")
    done = tree.smoke(status=1)
    assert done.stdout == "" and "work differs between two processes" in done.stderr, done


def test_broken(folder):
    """A program that does not run, or says too little: never taken for a result."""
    tree = Tree(folder)
    broken = [("exit 3", [], 3, "no memory"), ("not lines of JSON", ["x"], 0, ""),
              ("no line", [], 0, ""), ("is not there", LINES["scan-run"][:1], 0, ""),
              ("not a positive", [line | {"samples": [0]} for line in LINES["scan-run"]], 0, "")]
    for why, lines, status, said in broken:
        if why == "is not there":
            tree.program("scan-run", [{k: v for k, v in line.items() if k != "c_ms"} for line in lines])
        else:
            tree.program("scan-run", lines, status, said)
        if why == "not lines of JSON":
            (tree.build / "perf/scan-run").write_text("#!/bin/sh\necho '{'\n")
        done = tree.smoke(status=CANNOT)
        assert done.stdout == "" and why in done.stderr, (why, done)
    tree.program("scan-run", LINES["scan-run"][:2])
    assert "a band of q6_2/c, which nothing measures" in tree.smoke(status=CANNOT).stderr
    (tree.build / "perf/scan-run").unlink()
    assert "scan-run: No such file" in tree.smoke(status=CANNOT).stderr
    tree.program("scan-run", LINES["scan-run"])
    (tree.build / "perf/tpcc").unlink()
    out = tree.smoke().stdout
    assert "left out: tpcc" in out and "15 ratios" in out, out


def test_bands(folder):
    tree = Tree(folder)
    good = (tree.root / "perf/smoke.bands").read_text()
    for added, why in (("x/c 1", "expected RATIO LOW HIGH REASON"), ("x/c 1 2", "expected RATIO"),
                       ("x/c two 3 r", "expected RATIO"), ("x/c 3 2 r", "no band from 3 to 2"),
                       ("x/c 0 2 r", "no band from 0"), ("x/c 1 nan r", "no band"),
                       ("bfs_0/c 1 2 r", "has a band already"), ("x/c 1 2 r", "which nothing measures")):
        (tree.root / "perf/smoke.bands").write_text(good + added + "\n")
        done = tree.smoke(status=CANNOT)
        assert why in done.stderr and done.stdout == "", (added, done)
        assert "nothing" in why or f"smoke.bands:{len(good.splitlines()) + 1}: " in done.stderr, done
    (tree.root / "perf/smoke.bands").write_text(good.replace("q1_2/c", "#"))
    assert "q1_2/c has no band" in tree.smoke(status=CANNOT).stderr


def test_record(folder):
    """Only what a commit has, built from it; the history itself may grow."""
    tree = Tree(folder)
    for _ in range(2):
        assert "recorded in" in tree.smoke("--record", "--passes", "1").stdout
    lines = [json.loads(line) for line in tree.history.read_text().splitlines()]
    assert len(lines) == 2 and all(line["passes"] == 1 for line in lines)
    assert lines[0]["ratios"]["bfs_3/c"] == {"ratio": 0.6, "least": 0.6, "most": 0.6}
    head = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True)
    assert head.stdout.startswith(lines[0]["commit"]) and len(lines[0]["commit"]) >= 7
    (folder / "new").write_text("")
    done = tree.smoke("--record", status=CANNOT)
    assert "the tree has changes" in done.stderr and "?? new" in done.stderr and not done.stdout, done
    tree.commit()
    with open(folder / "new", "a") as out:
        out.write("changed\n")
    assert "M new" in tree.smoke("--record", status=CANNOT).stderr
    tree.commit()
    rule = "rule r\n  command = {} >built\nbuild built: r\n"
    (tree.build / "build.ninja").write_text(rule.format("false"))
    done = tree.smoke("--record", status=CANNOT)
    assert "does not build" in done.stderr and not done.stdout, done
    assert len(tree.history.read_text().splitlines()) == 2
    assert tree.smoke("--passes", "1").returncode == 0  # without --record all of that may be
    (tree.build / "build.ninja").write_text(rule.format("echo new"))
    tree.smoke("--record", "--passes", "1")
    assert (tree.build / "built").read_text() == "new\n" and len(tree.history.read_text().splitlines()) == 3
    shutil.rmtree(folder / ".git")
    assert "--record" in tree.smoke("--record", status=CANNOT).stderr
    tree.smoke("--tiny", "--record", status=USAGE)
    tree.smoke("--passes", "0", status=USAGE)


def test_damaged(folder):
    tree = Tree(folder)
    ratios = entry()["ratios"]["a/c"]
    for bad, why in (("{", "not JSON"), ("[]", "not an object"), ('{"date": "x"}', "no commit"),
                     (json.dumps(entry(machine=3)), "machine is not what it should be"),
                     (json.dumps(entry(ratios={"a/c": 2})), "a/c is not a ratio"),
                     (json.dumps(entry(ratios={"a/c": ratios | {"least": 2.1}})), "a/c is not a ratio"),
                     (json.dumps(entry(ratios={"a/c": ratios | {"most": float("inf")}})), "a/c is not"),
                     ("", "not JSON"), (json.dumps(entry())[:-9], "not JSON")):
        tree.history.write_text(json.dumps(entry()) + "\n" + bad + "\n" + json.dumps(entry()) + "\n")
        for tool in ("history", "smoke"):
            done = run(tree.root / "perf" / tool, status=CANNOT)
            assert f"history.jsonl:2: {why}" in done.stderr and not done.stdout, (bad, done)


def of(*values):
    """An entry; None leaves its ratio out."""
    return entry(ratios={f"r{i}/c": {"ratio": v, "least": v * 0.9, "most": v * 1.2}
                         for i, v in enumerate(values) if v is not None})


def test_history(folder):
    draw, data = SRC / "perf/history", folder / "history.jsonl"
    bands = folder / "bands"
    bands.write_text("r0/c 0.5 2.5 why\n")

    def table(entries, *words, status=0):
        data.write_text("".join(json.dumps(e) + "\n" for e in entries))
        return run(draw, "--bands", bands, "--ascii", data, *words, status=status)

    out = table([of(1, 2), of(2), of(3, 1), of(8, None, 5)]).stdout
    curves = dict(re.findall(r"^(r\d/c) .* ([0-7.]+)$", out, re.M))
    assert curves == {"r0/c": "0127", "r1/c": "7.0.", "r2/c": "...4"}, out
    assert re.search(r"^r0/c +1\.00 +8\.00 +\+700\.0% +1\.00 +8\.00 ! 0\.50 to 2\.50", out, re.M), out
    out = table([of(1), of(2) | {"machine": "other"}, of(1.5)]).stdout
    assert "2 entries" in out and "1 of other machines left out" in out, out
    assert "1 entries" in table([of(1), of(2) | {"machine": "other"}]).stdout
    assert "no entry" in table([of(1)], "--machine", "nobody", status=USAGE).stderr
    assert "nobody recorded r9/c; there are: r0/c" in table([of(1)], "r9/c", status=USAGE).stderr
    assert "r1/c" not in table([of(1, 2)], "r0/c").stdout
    assert "has no entry" in table([], status=CANNOT).stderr
    assert "has no ratio" in table([of()], status=CANNOT).stderr
    assert run(draw, "--bands", bands, data.with_name("none"), status=CANNOT).stderr
    table([of(1, 2)])
    assert re.search(r"[▁▂▃▄▅▆▇█]", run(draw, "--bands", bands, data, LC_ALL="C").stdout)


def test_plots(folder):
    """SVG of one entry, of gaps, and of many ratios: every ratio and commit is named."""
    if shutil.which("gnuplot") is None:
        return
    data, svg, bands = folder / "h.jsonl", folder / "it's.svg", folder / "bands"
    bands.write_text("r0/c 0.5 2.5 why\n")
    for entries in ([of(1)], [of(1, 2), of(2), of(3, 1)], [of(*[1.0 + i for i in range(17)])] * 9):
        data.write_text("".join(json.dumps(e | {"commit": f"c_{i}"}) + "\n" for i, e in enumerate(entries)))
        run(SRC / "perf/history", "--bands", bands, "--svg", svg, data)
        text = " ".join(xml.etree.ElementTree.parse(svg).getroot().itertext())
        for name in entries[0]["ratios"]:
            assert name in text, (name, text)
        assert "c_0" in text and "warning" not in text
        svg.unlink()
    done = run(SRC / "perf/history", "--bands", bands, "--svg", folder / "no/folder.svg", data, status=CANNOT)
    assert "gnuplot: " in done.stderr, done


def test_real_programs(folder):
    """Tiny: every ratio of the table of bands is measured; a compiler that drops a row is found out."""
    if not (PLANTED / "libpure-llvmjit.so").exists():
        return
    tiny = [SRC / "perf/smoke", "--tiny", "--passes", "1", "--history", folder / "h.jsonl", "--out",
            folder / "out.jsonl"]
    out = run(*tiny, "--bands", SRC / "perf/smoke.bands", BUILD).stdout
    names = re.findall(r"^([a-z_0-9]+/[a-z_0-9]+) +[0-9.]+ ", out, re.M)
    assert set(names) == set(RATIOS) - (set() if (BUILD / "perf/tpcc").exists() else
                                        {"event_3/event_0", "event_3/sqlite"}), out
    done = run(*tiny, BUILD, status=1, PURE_PLUGIN_DIR=str(PLANTED))
    assert done.stdout == "" and ("wrong answer" in done.stderr or "differ" in done.stderr), done


def main():
    if not (BUILD / "perf/bfs-run").exists():
        print("skipped: the programs of perf/ are not built")
        return 77
    if shutil.which("git") is None or shutil.which("ninja") is None:
        print("skipped: no git or no ninja")
        return 77
    for name, test in [(n, t) for n, t in globals().items() if n.startswith("test_")]:
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder).resolve())
        print(f"ok {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""perf/tiers, small: its table, its lines of JSON, what it refuses, and its page in a browser."""
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

SRC = pathlib.Path(os.environ["SRC"])
BUILD = pathlib.Path(os.environ["BUILD"])
sys.path.insert(0, str(SRC / "tests/serve"))
from browser import CHROMIUM, Browser  # noqa: E402

TIERS = SRC / "perf/tiers"
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
SMALL = ["--sizes", "300,3000", "--rounds", "1", "--instructions", "none"]
SHAPES = """Array.from(document.querySelectorAll("figure svg, table")).map(e => {
  const r = (e.closest(".scroll") || e).getBoundingClientRect();
  return [e.tagName.toLowerCase(), r.left, r.right, r.width, r.height,
          getComputedStyle(e).visibility === "visible" && e.checkVisibility()]; })"""
# The smallest letters of the plots, as they appear.
LETTERS = """Math.min(...Array.from(document.querySelectorAll("figure svg")).map(svg =>
  12 * svg.getBoundingClientRect().width / svg.viewBox.baseVal.width))"""


def run(*words, status=0, **variables):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=ENVIRONMENT | variables)
    assert done.returncode == status, (words, done.returncode, done.stdout, done.stderr)
    return done


def has_compiled_tiers():
    return (BUILD / "tests/perf/planted/libpure-llvmjit.so").exists()


def has_gnuplot():
    return shutil.which("gnuplot") is not None


LEVELS = [0, 1, 2, 3] if has_compiled_tiers() else [0]


def small(out, *words):
    page = [] if has_gnuplot() else ["--no-html"]
    return run(TIERS, *SMALL, *page, "--out", out, *words)


def lines_of(out):
    return [json.loads(line) for line in (out / "tiers.jsonl").read_text().splitlines()]


def pixels(path):
    """How many different colours a screenshot has, by its bytes."""
    data, at, packed = path.read_bytes(), 8, b""
    while at < len(data):
        size, = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    return len(set(zlib.decompress(packed)))


def look(browser, page, width, scheme, out):
    browser.send("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    browser.open(page.as_uri())
    wide = browser.value("document.documentElement.scrollWidth")
    assert wide <= width, (width, wide)
    shapes = browser.value(SHAPES)
    kinds = [shape[0] for shape in shapes]
    assert kinds.count("table") == 3 and kinds.count("svg") >= 3 + 1 * (len(LEVELS) > 1), kinds
    for kind, left, right, w, h, visible in shapes:
        assert visible and left >= 0 and right <= width and w > 200 and h > 60, (kind, left, right, w, h, width)
    assert browser.value(LETTERS) >= 9, (width, browser.value(LETTERS))
    for words in ("In short", "Shortfalls", "Where each loop ran"):
        assert words in browser.value("document.body.innerText"), words
    order = browser.value("""[".summary", ".short", ".plots", "table"].map(s =>
      document.querySelector(s).getBoundingClientRect().top)""")
    assert order == sorted(order), order
    picture = out / f"{width}-{scheme}.png"
    assert browser.screenshot(picture) > 20000 and pixels(picture) > 50, (width, scheme)
    return browser.value("getComputedStyle(document.body).backgroundColor")


def look_at_page(out):
    if CHROMIUM is None or not has_gnuplot():
        print("   no look at the page: chromium or gnuplot is not installed")
        return
    page = out / "tiers.html"
    text = page.read_text()
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//|@import|url\((?!#)""", text), "asks for other files"
    names = re.findall(r"""\bid=["']([^"']+)""", text)
    assert len(names) == len(set(names)), "names stand twice"
    browser = Browser()
    try:
        papers = [look(browser, page, width, scheme, out) for width in (1280, 400) for scheme in ("light", "dark")]
        assert papers[0] != papers[1] and papers[:2] == papers[2:], papers
        said = [e for e in browser.events if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown",
                                                                "Runtime.consoleAPICalled")]
        asked = [e["params"]["request"]["url"] for e in browser.events
                 if e.get("method") == "Network.requestWillBeSent"]
        assert not said and all(url.startswith(("file:", "data:", "about:")) for url in asked), (said, asked)
    finally:
        browser.close()


def test_options():
    text = run(TIERS, "--help").stdout.splitlines()
    assert len(text) <= 40 and max(map(len, text)) <= 110
    for words in (["--no-such-option"], ["nothing"], ["--levels", "4"], ["--rounds", "0"], ["p.pure"],
                  ["--data", "x", "bfs"], ["--floors", "moon"], ["--spoil", "level 2 tepid"]):
        done = run(TIERS, *words, status=2)
        assert done.stdout == "" and "Traceback" not in done.stderr, done
    done = run(TIERS, "--no-html", "bfs", status=3, PURE_RUN="/nowhere/pure-run")
    assert "/nowhere/pure-run" in done.stderr, done
    done = run(TIERS, "--no-html", "--call", "q", "nowhere.pure", status=3)
    assert "nowhere.pure" in done.stderr and done.stdout == "", done
    with tempfile.TemporaryDirectory() as empty:
        (pathlib.Path(empty) / "python3").symlink_to(sys.executable)
        done = run(sys.executable, TIERS, "bfs", status=3, PATH=empty)
        assert "apt install gnuplot" in done.stderr and done.stdout == "", done


def test_table_and_lines(out):
    said = small(out, "--floors", "bfs,scalar", "bfs/levels", "bank").stdout
    assert "\033" not in said, said  # not a terminal
    for case in ("bfs/levels", "bank/per_branch", "bank/transfer"):
        for rows in ("300", "3,000"):
            found = re.findall(rf"^{case} +{rows} +(\d) ", said, re.M)
            assert list(map(int, found)) == LEVELS, (case, rows, said)
    lines = lines_of(out)
    assert {"machine", "kernel", "compiler", "commit", "clock"} <= set(lines[0]), lines[0]
    of_ways = [r for r in lines if r["kind"] == "way"]
    ways_a_point = len(LEVELS) * 3 - 1  # level 0 leaves no code
    assert len(of_ways) == 6 * ways_a_point, len(of_ways)
    for case, rows in {(r["case"], r["rows"]) for r in of_ways}:
        works = {r["work"] for r in of_ways if (r["case"], r["rows"]) == (case, rows)}
        assert len(works) == 1 and min(works) > 10, (case, works)
    for r in of_ways:
        calls = 3 if r["way"] == "warm" else 1
        assert len(r["process_ms"]) >= 1 and len(r["run_ms"]) >= calls and min(r["process_ms"]) > 0, r
        assert r["peak_mb"] > 1 and r["instructions"] is None, r
        if r["level"] == 0 and not os.environ.get("PURE_SANITIZE"):
            assert r["peak_mb"] < 16, r  # its own, not that of the script that started it
    loops = [r for r in lines if r["kind"] == "loop" and r["case"] == "bfs/levels" and r["way"] == "warm"]
    assert {r["is"] for r in loops} == {"loop", "function"}, loops
    assert {r["tier"] for r in loops if r["level"] == 0} == {"interpreter"}, loops
    for level in LEVELS[1:]:
        assert f"level {level}" in {r["tier"] for r in loops if r["level"] == level}, (level, loops)
        warm = [r for r in of_ways if r["level"] == level and r["way"] == "warm"]
        assert all(r["compiled"] > 0 and min(r["compile_ms"]) > 0 for r in warm if r["case"] == "bfs/levels"), warm
    assert {r["floor"] for r in lines if r["kind"] == "floor"} == {"bfs", "scalar"}
    again = run(TIERS, "--from", out / "tiers.jsonl", "--no-html").stdout
    assert said.startswith(again) and len(again) > 2000, again
    look_at_page(out)


def test_own_program(out):
    people = SRC / "host/examples"
    said = small(out, "--data", f"people={people}/people.csv", "--data", f"knows={people}/knows.csv", "--call",
                 "friends Ann", people / "people.pure").stdout
    assert len(re.findall(r"^people +- +\d ", said, re.M)) == len(LEVELS), said
    assert all(r["case"] == "people" for r in lines_of(out)[1:])


def test_wrong_answers(out):
    ways = ["level 0 warm"] + ["level 3 cached", "level 2 warm"] * (len(LEVELS) > 1)
    for way in ways:
        done = run(TIERS, *SMALL, "--no-html", "--floors", "bfs", "--out", out, "--spoil", way, "bfs", status=1)
        assert done.stdout == "" and "wrong answer" in done.stderr and not (out / "tiers.jsonl").exists(), done
        assert way in done.stderr and "level 0 cold" in done.stderr, done


def test_instructions(out):
    """By callgrind, of the interpreter alone here: LLVM under valgrind takes its time."""
    if shutil.which("valgrind") is None or os.environ.get("PURE_SANITIZE"):
        return
    run(TIERS, "--sizes", "300", "--rounds", "1", "--levels", "0", "--no-html", "--out", out, "bfs")
    warm, = [r for r in lines_of(out) if r["kind"] == "way" and r["way"] == "warm"]
    assert 1 < warm["instructions"] / warm["work"] < 100, warm


def main():
    if not (BUILD / "perf/bfs-run").exists():
        print("skipped: the programs of perf/ are not built")
        return 77
    for name, test in [(n, t) for n, t in globals().items() if n.startswith("test_")]:
        with tempfile.TemporaryDirectory() as folder:
            test(pathlib.Path(folder)) if test.__code__.co_argcount else test()
        print(f"ok {name}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

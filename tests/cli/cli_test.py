#!/usr/bin/env python3
"""pure-run from outside: options in any order, formats, exit statuses, the shell, a terminal, Ctrl-C."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

PURE_RUN = os.path.abspath(os.environ["PURE_RUN"])
SRC = pathlib.Path(os.environ["SRC"]).resolve()
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_")}
ENVIRONMENT |= {"LC_ALL": "C.UTF-8", "PURE_HISTORY": "", "TERM": "dumb"}

PROGRAM = """
list edges (from: int, to: int) key (from, to)
list things (id: int, name: text, born: date, ok: bool, size: real) key (id)
list words (w: text)
list account (id: int, balance: int) key (id)

query size(): int { return count(edges) }
query all(): (from: int, to: int) { return edges }
query after(x: int): (from: int, to: int) { for e in edges[x..] { emit (e.from, e.to) } }
query everything(): (name: text, id: int, born: date, ok: bool, size: real) {
  for t in things { emit (t.name, t.id, t.born, t.ok, t.size) }
}
query spoken(): (w: text) { return words }
query echo(t: text): text { return t }
query sum(a: int, b: real, c: bool, d: date): text { return text(a) + text(b) + text(c) + text(d) }
query spin(): int {
  var i = 0
  while true { i += 1; if i > 1000000000 { i = 0 } }
  return i
}
query deep(n: int): int { return down(n) }
fn down(n: int): int {
  if n = 0 { return 0 }
  return down(n - 1) + 1
}
query balance(id: int): int { return account[id].balance }
event open(id: int, balance: int) { add account (id, balance) }
event move(from: int, to: int, n: int) {
  let a = account[from]
  a.balance -= n
  let b = account[to]
  b.balance += n
  if account[from].balance < 0 { fault "overdraft" }
}
""".replace("i += 1; if", "i += 1\n    if")


class Failed(Exception):
    pass


def want(condition, *what):
    if not condition:
        raise Failed(" ".join(str(w) for w in what))


def same(got, expected):
    want(got == expected, f"got {got!r}, expected {expected!r}")


class Folder:
    """A folder with the program in it, and pure-run in the folder."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.write("p.pure", PROGRAM)

    def write(self, name, text):
        data = text if isinstance(text, bytes) else text.encode()
        (self.path / name).write_bytes(data)

    def run(self, *words, stdin="", status=0, environment=(), program=True):
        words = (["p.pure"] if program else []) + [str(w) for w in words]
        done = subprocess.run([PURE_RUN, *words], cwd=self.path, capture_output=True, timeout=120,
                              input=stdin.encode(), env=ENVIRONMENT | dict(environment))
        done.out, done.err = done.stdout.decode(), done.stderr.decode()
        want(done.returncode == status, words, "exit", done.returncode, done.err)
        return done

    def out(self, *words, **more):
        done = self.run(*words, **more)
        want(done.err == "", words, "standard error:", done.err)
        return done.out


def test_csv_is_the_default_of_a_pipe(f):
    f.write("e.csv", "from,to\n2,3\n1,2\n")
    same(f.out("--load", "edges=e.csv", "all"), "from,to\n1,2\n2,3\n")


def test_options_stand_anywhere(f):
    f.write("e.csv", "to,from\n3,2\n2,1\n")
    for words in (["--load", "edges=e.csv", "p.pure", "after", "2"],
                  ["p.pure", "after", "--load=edges=e.csv", "2"],
                  ["p.pure", "after", "2", "--load", "edges=e.csv"],
                  ["--load", "edges=e.csv", "--", "p.pure", "after", "2"]):
        same(f.out(*words, program=False), "from,to\n2,3\n")


def test_negative_numbers_are_arguments(f):
    same(f.out("sum", "-5", "-0.5", "true", "1998-09-02"),
         "-5-0.5true1998-09-02\n")


def test_end_of_options(f):
    same(f.out("echo", "--", "--stats"), "--stats\n")
    same(f.out("echo", "-"), "-\n")


def test_several_calls(f):
    same(f.out("open", 1, 100, "+", "open", 2, 0, "+", "move", 1, 2, 30, "+", "balance", 1, "+",
               "balance", 2), "70\n\n30\n")
    same(f.out("echo", "\\+", "+", "echo", "b"), "+\n\nb\n")


def test_fault_stops_and_tells_where(f):
    done = f.run("open", 1, 10, "+", "open", 2, 0, "+", "move", 1, 2, 30, "+", "balance", 1, status=1)
    same(done.out, "")
    line = PROGRAM.splitlines().index('  if account[from].balance < 0 { fault "overdraft" }') + 1
    want(done.err.startswith(f"p.pure:{line}:"), done.err)
    want("overdraft" in done.err and "^" in done.err, done.err)


def test_events_and_save(f):
    f.out("open", 1, 100, "+", "open", 2, 0, "--save", "s.snap")
    same(f.out("--load", "s.snap", "move", 1, 2, 30, "--save", "s.snap"), "")
    same(f.out("--load", "s.snap", "balance", 2), "30\n")
    f.run("--load", "s.snap", "move", 1, 2, 300, "--save", "s.snap", status=1)
    same(f.out("--load", "s.snap", "balance", 2), "30\n")
    same(sorted(p.name for p in f.path.iterdir()), ["p.pure", "s.snap"])


def test_save_through_a_link_and_to_a_pipe(f):
    f.out("open", 1, 7, "--save", "real.snap")
    os.symlink("real.snap", f.path / "link.snap")
    f.out("open", 1, 8, "--save", "link.snap")
    want((f.path / "link.snap").is_symlink(), "the link was replaced")
    same(f.out("--load", "real.snap", "balance", 1), "8\n")
    piped = subprocess.run(f"'{PURE_RUN}' p.pure open 1 9 --save /dev/stdout | "
                           f"'{PURE_RUN}' p.pure --load - balance 1", shell=True, cwd=f.path,
                           capture_output=True, text=True, env=ENVIRONMENT)
    same((piped.stdout, piped.stderr), ("9\n", ""))


def test_save_keeps_the_mode(f):
    f.out("open", 1, 7, "--save", "s.snap")
    for mode in (0o600, 0o666):
        os.chmod(f.path / "s.snap", mode)
        f.out("open", 1, 8, "--save", "s.snap")
        same((f.path / "s.snap").stat().st_mode & 0o777, mode)


THINGS = ('id,name,born,ok,size\n1,"a, ""b""\nc",1998-09-02,true,1.5\n2,,0001-01-01,0,-0.0\n'
          '3,ünï,9999-12-31,1,1e300\n4,\ttab,2000-02-29,false,inf\n')


def test_every_type_in_and_out(f):
    f.write("t.csv", THINGS)
    same(f.out("--load", "things=t.csv", "everything"),
         'name,id,born,ok,size\n"a, ""b""\nc",1,1998-09-02,true,1.5\n,2,0001-01-01,false,-0.0\n'
         'ünï,3,9999-12-31,true,1e300\n\ttab,4,2000-02-29,false,inf\n')


def test_json(f):
    f.write("t.csv", THINGS)
    rows = json.loads(f.out("--load", "things=t.csv", "--format", "json", "everything"))
    same(rows[0], {"name": 'a, "b"\nc', "id": 1, "born": "1998-09-02", "ok": True, "size": 1.5})
    same(rows[3]["size"], "inf")
    same(json.loads(f.out("--format", "json", "size")), 0)
    same(json.loads(f.out("--format", "json", "all")), [])
    same(json.loads(f.out("--format", "json", "echo", 'q"\\\x01')), 'q"\\\x01')
    same(json.loads(f.out("--format", "json", "open", 1, 1)), None)


def test_table(f):
    f.write("t.csv", THINGS)
    same(f.out("--load", "things=t.csv", "--format", "table", "everything"),
         "name       id  born        ok      size\n"
         "---------  --  ----------  -----  -----\n"
         'a, "b"\\nc   1  1998-09-02  true     1.5\n'
         "            2  0001-01-01  false   -0.0\n"
         "ünï         3  9999-12-31  true   1e300\n"
         "\\ttab       4  2000-02-29  false    inf\n"
         "(4 rows)\n")


def test_tsv_out(f):
    f.write("t.csv", 'id,name,born,ok,size\n1,a b,1998-09-02,true,1.5\n')
    same(f.out("--load", "things=t.csv", "--format", "tsv", "everything"),
         "name\tid\tborn\tok\tsize\na b\t1\t1998-09-02\ttrue\t1.5\n")
    f.write("t.csv", THINGS)
    want("TSV" in f.run("--load", "things=t.csv", "--format", "tsv", "everything", status=4).err)


def test_csv_reads_back(f):
    """Texts of all kinds go out and in again unchanged, also the empty one alone on its line."""
    words = ["", "a", ",", '"', '""', " x ", "a\nb", "a\r\nb", "\r", "é", "w", "😀", "\t", "#", "'"]
    f.write("w.csv", "w\n" + "".join('"' + w.replace('"', '""') + '"\n' for w in words))
    once = f.run("--load", "words=w.csv", "spoken").stdout
    f.write("again.csv", once)
    same(f.run("--load", "words=again.csv", "spoken").stdout, once)
    same(len(json.loads(f.out("--load", "words=again.csv", "spoken", "--format", "json"))),
         len(words))


def test_formats_in(f):
    same_rows = "from,to\n1,2\n3,4\n"
    for name, text in (("a.csv", "from,to\n1,2\n3,4"), ("b.csv", "\ufefffrom,to\r\n1,2\r\n3,4\r\n"),
                       ("c.csv", "1,2\n\n3,4\n\n"), ("d.tsv", "to\tfrom\n2\t1\n4\t3\n"),
                       ("e.txt", "# c\n1 2\n%c\n  3\t4  \n"), ("f.el", "3 4\n1 2"),
                       ("g.e", "1\t\t2\r\n3 4\r\n"), ("h.csv", '"from","to"\n"1","2"\n3,"4"\n')):
        f.write(name, text)
        same(f.out("--load", f"edges={name}", "all"), same_rows)
    f.write("odd.name", "1,2\n3,4\n")
    same(f.out("--load", "edges=odd.name:csv", "all"), same_rows)
    f.write("x.adj", "1 2 3\n2\n3 1\n")
    same(f.out("--load", "edges=x.adj", "all"), "from,to\n1,2\n1,3\n3,1\n")


def test_standard_input(f):
    same(f.out("--load", "edges=-:edges", "all", stdin="5 6\n"), "from,to\n5,6\n")
    same(f.out("-", "echo", "x", stdin=PROGRAM, program=False), "x\n")


def test_on_duplicate(f):
    f.write("a.csv", "id,balance\n1,10\n1,20\n2,5\n1,30\n")
    for policy, balance in (("first", "10"), ("last", "30")):
        same(f.out("--load", "account=a.csv", "--on-duplicate", policy, "balance", 1), balance + "\n")
    f.run("--load", "account=a.csv", "--on-duplicate", "error", "balance", 1, status=4)


def test_blocks_do_not_show(f):
    """Several megabytes, so that lines and quoted fields lie across the blocks that are read."""
    rows = [(i, i * 7 % 1000) for i in range(300000)]
    f.write("big.csv", "from,to\n" + "".join(f'{a},"{b}"\n' if a % 3 else f"{a},{b}\n" for a, b in rows))
    same(f.out("--load", "edges=big.csv", "size"), "300000\n")
    f.write("big.txt", "".join(f"{a} {b}\n" for a, b in rows))
    same(f.out("--load", "edges=big.txt", "after", 299999), f"from,to\n299999,{rows[-1][1]}\n")
    long = "x" * 3000000
    f.write("long.csv", f'w\n"{long}\n{long}"\nshort\n')
    same(f.out("--load", "words=long.csv", "spoken"), f'w\n"{long}\n{long}"\nshort\n')


def test_repeat_and_work(f):
    done = f.run("size", "--repeat", 5)
    want(re.fullmatch(r"size: min [\d.]+ ms, median [\d.]+ ms, max [\d.]+ ms, 5 calls\n", done.err), done.err)
    same(done.out, "0\n")
    same(f.run("size", "--work", "+", "size").err.count("work size "), 2)


def test_stats(f):
    f.write("e.csv", "from,to\n1,2\n")
    err = f.run("--load", "edges=e.csv", "after", 0, "--stats", "--repeat", 3, "--jit", 2).err
    for part in ("compile", "load", "edges: 1 rows", "median of 3", "work", "peak of the process",
                 "tier", "after:", "narrow bytes"):
        want(part in err, part, "is not in", err)
    same(f.run("--stats", "--load", "edges=e.csv").out, "")


def test_limits(f):
    want("work exhausted" in f.run("spin", "--limit-work", 1000, status=1).err)
    want("too deep" in f.run("deep", 100, "--limit-depth", 50, status=1).err)
    same(f.out("deep", 100, "--limit-depth", 5000), "100\n")
    want("time limit" in f.run("spin", "--limit-time", 30, status=1).err)
    f.run("spin", "--limit-time", 0, status=2)
    want("memory exhausted" in f.run("open", 1, 2, "--limit-memory", 1, status=1).err)


LIBRARY = """
#include <pure/pure.h>
static int64_t twice(pure_call *call, int64_t n) {
  if (n > 100)
    pure_call_fault(call, "that is enough");
  return 2 * n;
}
const pure_binding *pure_bindings(size_t *n);
const pure_binding *pure_bindings(size_t *n) {
  static const pure_binding all[] = {{"pure extern fn twice(int): int", (pure_function)twice, 0}};
  *n = 1;
  return all;
}
"""


def test_extern(f):
    f.write("lib.c", LIBRARY)
    made = subprocess.run(["gcc", "-shared", "-fPIC", "-I", SRC / "host/include", "lib.c", "-o", "lib.so",
                           "-Wl,--unresolved-symbols=ignore-all"], cwd=f.path, capture_output=True)
    want(made.returncode == 0, made.stderr.decode())
    f.write("x.pure", "pure extern fn twice(n: int): int\nquery q(n: int): int { return twice(n) }\n")
    f.write("y.pure", "pure extern fn twice(n: real): int\nquery q: int { return twice(1.5) }\n")
    same(f.out("x.pure", "--extern", "lib.so", "q", "21", program=False), "42\n")
    same(f.out("x.pure", f"--extern={f.path}/lib.so", "q", "4", program=False), "8\n")
    err = f.run("x.pure", "--extern", "lib.so", "q", "101", program=False, status=1).err
    want("x.pure:2:31: fault: host error: that is enough" in err, err)
    err = f.run("x.pure", "q", "1", program=False, status=1).err
    want("no host function is bound" in err, err)
    err = f.run("y.pure", "--extern", "lib.so", "q", program=False, status=2).err
    want("other types" in err, err)
    err = f.run("x.pure", "--extern", "nothing.so", "q", "1", program=False, status=4).err
    want("nothing.so" in err, err)
    made = subprocess.run(["gcc", "-shared", "-fPIC", "-x", "c", "/dev/null", "-o", "empty.so"], cwd=f.path)
    err = f.run("x.pure", "--extern", "empty.so", "q", "1", program=False, status=4).err
    want("pure_bindings" in err, err)


def test_programs(f):
    same(f.out("--check"), "p.pure: fine: 4 lists, 10 queries, 2 events\n")
    text = f.out("--disasm")
    want("query size" in text and "event move" in text, text)
    same(f.out("--dump", "bytecode"), text)
    only = f.out("--disasm", "size")
    want("query size" in only and "event move" not in only, only)
    f.out("--compile", "p.pbc")
    same(f.out("p.pbc", "echo", "x", program=False), "x\n")
    same(f.out("p.pbc", "--disasm", program=False), text)
    f.write("bad.pure", "query q(): int { return x + y }\n")
    err = f.run("bad.pure", "q", program=False, status=3).err
    want(err.count("bad.pure:1:") == 2 and "^" in err, err)


def test_help_fits_a_screen(f):
    text = f.out("--help", program=False)
    same(f.out("-h", program=False), text)
    want(len(text.splitlines()) <= 24 and all(len(line) <= 80 for line in text.splitlines()), text)
    want(re.fullmatch(r"pure-run \d+\.\d+\.\d+\n", f.out("--version", program=False)))


def test_environment(f):
    for level in ("auto", "0", "1", "2", "3"):
        same(f.out("size", environment={"PURE_JIT": level}), "0\n")
        same(f.out("size", "--jit", level, environment={"PURE_JIT": "0"}), "0\n")
    want("PURE_JIT" in f.run("size", environment={"PURE_JIT": "7"}, status=2).err)
    bad = f.run("size", environment={"PURE_LIST_BUCKET_ROWS": "many"}, status=2).err
    want("PURE_LIST_BUCKET_ROWS" in bad, bad)


def test_unwritable_output(f):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PURE_RUN, "p.pure", "size"], cwd=f.path, stdout=full,
                              stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    same((done.returncode, done.stderr),
         (4, "standard output: cannot be written: No space left on device\n"))


def test_shell_from_a_pipe(f):
    f.write("e.csv", "from,to\n1,2\n")
    done = f.run("-i", stdin='.load edges=e.csv\nsize\n\n  after 0\necho "two words"\necho a\\ b\n'
                 ".format json\nall\n.queries\n.lists\n.save s.snap\n.help\n.quit\nsize\n")
    want(done.out.startswith("1 rows\n1\n\nfrom,to\n1,2\n\ntwo words\n\na b\n[{"), done.out)
    for part in ("query size(): int", "event move(from: int, to: int, n: int)", "edges", ".save FILE"):
        want(part in done.out, part, done.out)
    want((f.path / "s.snap").exists(), "no snapshot")


def test_shell_goes_on_after_errors(f):
    done = f.run("-i", stdin="sise\nsize\n.lode x\nsize 1\nbalance 1\n.format xml\necho \"x\n.load edges=no.csv\nsize\n",
                 status=2)
    same(done.out, "0\n\n0\n")
    for line, part in ((1, "did you mean size"), (3, "no such command"), (4, "takes 0 arguments"),
                       (6, "xml"), (7, "quote")):
        want(f"line {line}: " in done.err and part in done.err, line, part, done.err)
    want("line 5: p.pure:" in done.err and "no row with key (1) in account" in done.err, done.err)
    want("no.csv: cannot be read" in done.err, done.err)


def test_shell_tells_work_and_stats(f):
    done = f.run("-i", stdin=".work on\nsize\n.work off\nsize\n.stats\n.work maybe\n", status=2)
    same(done.err.count("work size "), 1)
    for part in ("function", "peak of the process", "line 6: .work is on or off"):
        want(part in done.err, part, done.err)


def test_answers_stay_apart(f):
    calls = ["open", 1, 70, "+", "echo", "", "+", "size", "+", "all", "+", "size"]
    same(f.out(*calls), '""\n\n0\n\nfrom,to\n\n0\n')
    same(f.out(*calls, "--format", "tsv"), "\n\n0\n\nfrom\tto\n\n0\n")
    lines = f.out(*calls, "--format", "json").splitlines()
    same([json.loads(line) for line in lines], [None, "", 0, [], 0])


def test_functions_in_stats(f):
    err = f.run("deep", 30, "--stats", "--jit", 0).err
    want(re.search(r"^function +calls  tier$", err, re.M), err)
    want(re.search(r"^deep +1  interpreter$", err, re.M), err)
    want(re.search(r"^down +31  interpreter$", err, re.M), err)


def test_usual_memory_limit(f):
    megabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 5 * 4 / 1048576
    want(f"{megabytes:.3f} MB  limit of a call" in f.run("size", "--stats").err)
    want("16.000 MB  limit of a call" in f.run("size", "--stats", "--limit-memory", "16M").err)
    want("limit of a call" not in f.run("size", "--stats", "--limit-memory", "none").err)
    same(f.out("open", 1, 2, "--limit-memory", 1, "--limit-memory", "none", "+", "balance", 1), "2\n")


def test_recursion_is_charged(f):
    deep = ["deep", 10000000, "--limit-depth", 100000000, "--limit-memory", "1M"]
    done = f.run(*deep, "--stats", status=1)
    want("memory exhausted" in done.err, done.err)
    peak = float(re.search(r"([0-9.]+) MB  peak of the engine", done.err)[1])
    held = float(re.search(r"([0-9.]+) MB  held by the engine", done.err)[1])
    want(peak < 4 and held < 1.5, done.err)


def test_nothing_to_dump(f):
    done = f.run("size", "--dump", "ir", "--jit", 0)
    same(done.out, "0\n")
    want("nothing was compiled: with tier 0 nothing is compiled" in done.err, done.err)
    if "there is no libpure-llvmjit.so" in f.run("size", "--stats", environment={"PURE_JIT_THRESHOLD": "0"}).err:
        return
    want("---- ir of size" in f.run("size", "--dump", "ir").err)
    done = f.run("size", "--dump", "ir", environment={"PURE_JIT_THRESHOLD": "1000000"})
    want("nothing was compiled: no loop or function got hot" in done.err, done.err)


def test_suggestions_are_alike(f):
    want("did you mean balance?" in f.run("balnce", 1, status=2).err)
    want("did you mean" not in f.run("quark", status=2).err)
    want("there is no list x; the program has edges, things, words, account"
         in f.run("--load", "x=e.csv", "size", status=2).err)


def test_killed_save_leaves_nothing(f):
    rows = "".join(f"{i},{i}\n" for i in range(200000))
    f.write("e.csv", "from,to\n" + rows)
    f.write("s.snap", "old")
    before = {p.name for p in f.path.iterdir()}
    for delay in range(12):
        done = subprocess.Popen([PURE_RUN, "p.pure", "--load", "edges=e.csv", "--save", "s.snap"],
                                cwd=f.path, env=ENVIRONMENT)
        time.sleep(0.02 * delay)
        done.kill()
        done.wait()
    same({p.name for p in f.path.iterdir()}, before)


def test_calls_before_the_shell(f):
    same(f.out("open", 1, 5, "-i", stdin="balance 1\n"), "5\n")


def on_terminal(f, words, lines, seconds=20):
    """What a terminal shows; each of lines is typed when a prompt is there."""
    pid, fd = pty.fork()
    if pid == 0:
        os.chdir(f.path)
        os.execve(PURE_RUN, [PURE_RUN, *words], ENVIRONMENT)
    seen, end, lines = b"", time.monotonic() + seconds, list(lines)
    answered = 0
    while time.monotonic() < end:
        ready, _, _ = select.select([fd], [], [], 0.2)
        if ready:
            try:
                block = os.read(fd, 65536)
            except OSError:
                break
            if not block:
                break
            seen += block
        if lines and seen.count(b"pure> ") > answered and not ready:
            answered = seen.count(b"pure> ")
            os.write(fd, lines.pop(0).encode() + b"\n")
    else:
        os.kill(pid, signal.SIGKILL)
        raise Failed(f"no end on a terminal: {seen!r}")
    _, status = os.waitpid(pid, 0)
    os.close(fd)
    return seen.decode().replace("\r\n", "\n"), os.waitstatus_to_exitcode(status)


def test_table_on_a_terminal(f):
    f.write("e.csv", "from,to\n1,2\n")
    seen, status = on_terminal(f, ["p.pure", "--load", "edges=e.csv", "all"], [])
    same((seen, status), ("from  to\n----  --\n   1   2\n(1 row)\n", 0))


def test_shell_on_a_terminal(f):
    seen, status = on_terminal(f, ["p.pure", "-i"], ["open 1 42", "balance 1", "nonsense", ".quit"])
    same(status, 0)
    want("42" in seen and "there is no query or event nonsense" in seen, seen)


def test_progress_bar(f):
    """On a terminal, when it takes more than a second; gone at the end."""
    master, slave = pty.openpty()
    process = subprocess.Popen([PURE_RUN, "p.pure", "--load", "edges=-:edges", "size"], cwd=f.path,
                               env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=slave)
    os.close(slave)
    for pause in (1.2, 0.3, 0):
        process.stdin.write(b"".join(b"%d %d\n" % (time.monotonic_ns(), i) for i in range(1000)))
        process.stdin.flush()
        time.sleep(pause)
    out, _ = process.communicate(timeout=60)
    seen = b""
    try:
        while block := os.read(master, 65536):
            seen += block
    except OSError:
        pass
    os.close(master)
    same((process.returncode, out), (0, b"3000\n"))
    want(b"<stdin>" in seen and b"MB/s" in seen and seen.endswith(b"\r\x1b[K"), seen)


def test_interrupt(f):
    process = subprocess.Popen([PURE_RUN, "p.pure", "spin"], cwd=f.path, stderr=subprocess.PIPE,
                               stdout=subprocess.PIPE, env=ENVIRONMENT, text=True)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    same(process.returncode, 1)
    want("cancelled" in err and out == "", err)


def test_man_page(f):
    page = (SRC / "host/man/pure-run.1").read_text()
    options = re.findall(r"^\s+(--?[a-z-]+)", f.out("--help", program=False), re.M)
    for option in set(options) | set(re.findall(r"--limit-[a-z]+", f.out("--help", program=False))):
        want(option.replace("-", "\\-") in page, option, "is not in the man page")
    for tool in (["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-Tutf8", "-ww", "-z"]):
        if shutil.which(tool[0]):
            done = subprocess.run(tool, input=page, capture_output=True, text=True)
            complaints = [line for line in (done.stdout + done.stderr).splitlines()
                          if "STYLE" not in line]
            same(complaints, [])


def test_docs_of_errors(f):
    rows = re.findall(r'ERROR\((\w+), "([^"]+)", (\w+), (\d), "([^"]+)"\)',
                      (SRC / "host/lib/errors.def").read_text())
    text = (SRC / "docs/errors.md").read_text()
    want(len(rows) > 10)
    for name, spelled, kind, status, meaning in rows:
        line = f"| `PURE_{name}` | {spelled} | {kind} | {status} | {meaning} |"
        want(line in text, line, "is not in docs/errors.md")
    for fault in re.findall(r'^FAULT\(\w+, "([^"]+)"', (SRC / "vm/vm_faults.def").read_text(), re.M):
        want(f"| {fault} |" in text, fault, "is not in docs/errors.md")


def test_docs_of_environment(f):
    text = (SRC / "docs/environment.md").read_text()
    for folder in ("lists", "vm", "host"):
        for path in (SRC / folder).rglob("*.c"):
            for name in re.findall(r'"(PURE_[A-Z_]+)"', path.read_text()):
                want(f"`{name}`" in text, name, "is not in docs/environment.md")


def main():
    passed = failed = 0
    chosen = sys.argv[1:]
    for name, test in list(globals().items()):
        if not name.startswith("test_") or chosen and name[5:] not in chosen:
            continue
        with tempfile.TemporaryDirectory() as path:
            try:
                test(Folder(path))
                passed += 1
            except (Failed, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"{name}: {why}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())

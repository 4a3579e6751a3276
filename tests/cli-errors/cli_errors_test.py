#!/usr/bin/env python3
"""Wrong data files, modules and command lines: one clear message each, and nothing by halves.

A case is a file NAME.case:

    run: --load edges=edges.csv size      words as a shell would cut them; {dir} is the folder
    setup: chmod 000 edges.csv            optional, for sh -e in the folder
    teardown: umount disk                 optional, likewise, afterwards
    needs: root                           optional: skipped for others
    status: 4
    file edges.csv:                       a file made before; the program db.pure is always there
    |from,to                              a line; \\x00, \\r and so on as in Python; \\c at the
    |1,two\\c                              end of the last one: no line end
    output:                               standard output, in full; else there must be none
    error:                                standard error, in full
    |edges.csv:2:3: ...

Besides message and status every case checks that files did not change (or come to be), and, where
a load failed (status 4, no --save), that the lists are as they were before it.

usage: cli_errors_test.py [--update] [CASE...]     --update writes what came out into the cases
"""
import codecs
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PURE_RUN = os.path.abspath(os.environ["PURE_RUN"])
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("PURE_")}
ENVIRONMENT["LC_ALL"] = "C.UTF-8"


class Case:
    def __init__(self, path):
        self.path, self.files, self.error, self.output = path, {}, [], []
        self.run = self.setup = self.teardown = self.needs = ""
        self.status = None
        lines = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("|"):
                lines.append(line[1:])
                continue
            key, _, value = line.partition(":")
            if key.startswith("file "):
                lines = self.files.setdefault(key[5:], [])
            elif key in ("error", "output"):
                lines = getattr(self, key)
            elif key in ("run", "setup", "teardown", "needs", "status"):
                setattr(self, key, value.strip())
            elif line:
                raise ValueError(f"{path.name}: {line}")

    @staticmethod
    def content(lines):
        text = b""
        for line in lines:
            text += codecs.escape_decode(line.removesuffix("\\c").encode())[0]
            text += b"" if line.endswith("\\c") else b"\n"
        return text

    def update(self, status, error):
        """Writes what came out into the case."""
        kept = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            if line == "error:":
                break
            kept.append(f"status: {status}" if line.startswith("status:") else line)
        kept += ["error:"] + ["|" + line for line in error.splitlines()]
        self.path.write_text("\n".join(kept) + "\n", encoding="utf-8")


def pure_run(folder, words, **more):
    return subprocess.run([PURE_RUN, *words], cwd=folder, env=ENVIRONMENT, capture_output=True,
                          timeout=60, **more)


def contents(folder):
    """Every file below the folder with its bytes (where they can be read) and its kind."""
    found = {}
    for path in sorted(pathlib.Path(folder).rglob("*")):
        try:
            found[str(path)] = path.read_bytes() if path.is_file() else b"<no file>"
        except OSError:
            found[str(path)] = b"<unreadable>"
    return found


def half_loaded(folder, words):
    """What the lists are after the loads of the command line, if that differs from before."""
    loads = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "--load"]
    if not loads or any("-" == load.partition("=")[2].partition(":")[0] for load in loads):
        return None
    options = [w for i, w in enumerate(words) if w.startswith("--header") or w.startswith("--on-")
               or (i and words[i - 1] in ("--header", "--on-duplicate"))]
    lines = [".load " + shlex.quote(load).replace("'", '"') for load in loads]
    before = "\n".join(lines[:-1] + [".lists", ""])
    after = "\n".join(lines + [".lists", ""])
    one, two = (pure_run(folder, ["db.pure", "-i", *options], input=text.encode()).stdout
                for text in (before, after))
    return None if one == two else f"lists before:\n{one.decode()}lists after:\n{two.decode()}"


def shell(commands, folder):
    subprocess.run(["sh", "-ec", commands], cwd=folder, check=True,
                   env=ENVIRONMENT | {"PURE_RUN": PURE_RUN})


def check(case, folder, update):
    shutil.copy(HERE / "db.pure", folder)
    for name, lines in case.files.items():
        (pathlib.Path(folder) / name).write_bytes(case.content(lines))
    shell(case.setup, folder)
    words = shlex.split(case.run.replace("{dir}", folder))
    before = contents(folder)
    stdin = subprocess.DEVNULL
    done = pure_run(folder, words, stdin=stdin)
    error = done.stderr.decode("utf-8", "backslashreplace").replace(folder, "{dir}")
    if update:
        case.update(done.returncode, error)
        return []
    wrong = []
    if done.returncode != int(case.status):
        wrong.append(f"exit status {done.returncode}, expected {case.status}")
    want = "".join(line + "\n" for line in case.error)
    if error != want:
        wrong.append(f"standard error:\n{error}expected:\n{want}")
    if done.stdout != case.content(case.output):
        wrong.append(f"standard output: {done.stdout[:200]}")
    if contents(folder) != before:
        wrong.append("files changed")
    half = case.status == "4" and "--save" not in words and half_loaded(folder, words)
    if half:
        wrong.append(half)
    return wrong


def main(arguments):
    update = "--update" in arguments
    names = [a for a in arguments if a != "--update"]
    paths = [HERE / f"{n}.case" for n in names] or sorted(HERE.glob("*.case"))
    passed = failed = skipped = 0
    for path in paths:
        case = Case(path)
        if case.needs == "root" and os.geteuid() != 0 or case.needs == "user" and os.geteuid() == 0:
            print(f"{path.stem}: skipped, needs {case.needs}")
            skipped += 1
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong = check(case, folder, update)
            finally:
                shell(case.teardown, folder)
        for what in wrong:
            print(f"{path.stem}: {what}")
        failed += bool(wrong)
        passed += not wrong
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return failed > 0


sys.exit(main(sys.argv[1:]))

#!/usr/bin/env python3
"""Compiles and runs the blocks of docs/embedding.md, and compares what they print.

A block of C that begins with a declaration (static, #include) stands at the top of every program
after it. The others of a section, up to a block of output, are the body of main. A block of Python
is run as it is. Also checks that docs/api.md and the man page are what the header says.
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SRC = pathlib.Path(os.environ["SRC"]).resolve()
BUILD = pathlib.Path(os.environ["BUILD"]).resolve()
SANITIZE = os.environ.get("PURE_SANITIZE", "")
BLOCK = re.compile(r"^(## [^\n]*)$|^```(\w+)\n(.*?)^```$", re.M | re.S)
COMPILER = ["gcc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
            "-Wno-unused-variable", "-Wno-unused-const-variable", "-I", str(SRC / "host/include")]


def is_top(code):
    """Whether the block is of declarations for the top of a file."""
    return code.startswith("#include") or re.search(r"^static [^;={]*\(", code, re.M) or \
        re.match(r"static const char \w+\[\] =\n", code)


def programs(document):
    """(line, language, source, expected output)"""
    top, body, line, python = "", "", 0, None
    for found in BLOCK.finditer(document):
        heading, language, code = found.groups()
        at = document[:found.start()].count("\n") + 1
        if heading:
            assert not body and python is None, f"line {at}: what does the section before print?"
        elif language == "c" and is_top(code):
            top += code
        elif language == "c":
            line, body = line or at, body + code
        elif language == "python":
            line, python = at, code
        elif language == "output":
            source = f"{top}\nint main(void) {{\n{body}return 0;\n}}\n" if body else python
            yield line, "c" if body else "python", source, code
            body, python, line = "", None, 0


def run(folder, language, source):
    environment = dict(os.environ, PURE_LIBRARY=str(BUILD / "host/libpure.so"),
                       PYTHONPATH=str(SRC / "host/python"), LD_LIBRARY_PATH=str(BUILD / "host"))
    if language == "python":
        command = [sys.executable, "-c", source]
    else:
        file, program = folder / "block.c", folder / "block"
        file.write_text(source, encoding="utf-8")
        flags = shlex.split(f"-fsanitize={SANITIZE}") if SANITIZE else []
        made = subprocess.run([*COMPILER, *flags, str(file), "-o", str(program), "-L",
                               str(BUILD / "host"), "-lpure"], capture_output=True, text=True,
                              check=False)
        if made.returncode:
            return made.stderr
        command = [str(program)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120,
                          check=False)
    return done.stdout + done.stderr


def main():
    document = (SRC / "docs/embedding.md").read_text(encoding="utf-8")
    passed = failed = 0
    with tempfile.TemporaryDirectory() as name:
        for line, language, source, expected in programs(document):
            if language == "python" and SANITIZE:
                continue
            printed = run(pathlib.Path(name), language, source)
            if printed == expected:
                passed += 1
            else:
                failed += 1
                print(f"docs/embedding.md:{line}: expected\n{expected}found\n{printed}")
    if subprocess.run([sys.executable, str(SRC / "host/man/api.py"), "--check"], check=False).returncode:
        failed += 1
    else:
        passed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or passed < 7


sys.exit(main())

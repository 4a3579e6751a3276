#!/usr/bin/env python3
"""Compiles every program in the documents: blocks that begin with ```pure.

Environment: PURE_RUN, the program that compiles; SRC, the root of the sources.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.environ.get("SRC") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"^```pure\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def main():
    if not os.environ.get("PURE_RUN"):
        print("skipped: PURE_RUN does not say what compiles")
        return 77
    run = os.path.abspath(os.environ["PURE_RUN"])
    compiled = failed = 0
    paths = [os.path.join(ROOT, "README.md"), *sorted(glob.glob(os.path.join(ROOT, "docs", "*.md")))]
    with tempfile.TemporaryDirectory() as folder:
        for path in filter(os.path.exists, paths):
            with open(path, encoding="utf-8") as text:
                document = text.read()
            for found in BLOCK.finditer(document):
                name = os.path.join(folder, "block.pure")
                with open(name, "w", encoding="utf-8") as out:
                    out.write(found.group(1))
                done = subprocess.run([run, name, "--check"], capture_output=True, text=True, timeout=60,
                                      check=False)
                compiled += 1
                if done.returncode != 0:
                    failed += 1
                    line = document.count("\n", 0, found.start()) + 1
                    print(f"FAIL {os.path.relpath(path, ROOT)}, the block in line {line}:\n{done.stderr}")
    print(f"{compiled - failed} passed, {failed} failed")
    return 1 if failed or not compiled else 0


sys.exit(main())

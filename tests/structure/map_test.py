#!/usr/bin/env python3
"""Every `file:function` that docs/MAP.md names is there: the file defines that function."""
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(os.environ.get("SRC") or pathlib.Path(__file__).resolve().parents[2])
named = re.findall(r"`([\w/]+\.c):(\w+)`", (ROOT / "docs/MAP.md").read_text())
failed = 0
for path, function in named:
    file = ROOT / path
    # A definition: the name at the start of a line or after a type, its ( and no ; before the {.
    found = file.exists() and re.search(rf"^\w[^;{{}}#\n]*\b{function}\([^;{{]*\)\s*{{",
                                        file.read_text(), re.M)
    if not found:
        failed += 1
        print(f"docs/MAP.md names {path}:{function}, which is not there")
print(f"{len(named) - failed} passed, {failed} failed")
sys.exit(failed != 0 or not named)

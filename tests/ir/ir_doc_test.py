#!/usr/bin/env python3
"""Checks that the tables in docs/ir.md are those of ir/*.def.

usage: tests/ir/ir_doc_test.py [--fix]      --fix writes the tables anew
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs/ir.md")
BEGIN = "<!-- made by tests/ir/ir_doc_test.py --fix -->\n"
END = "<!-- end -->\n"
EFFECTS = ("`P` pure, `H` loads from a list's header, `L` loads what a test before it made safe, `F` stays in its "
           "place, `S` stores, `X` may exit, `C` runs bytecode out of line, `T` ends the block")
ARGUMENTS = ("Arguments: `i` i64, `f` f64, `b` b1, `p` ptr, `s` as the value, `*` any number of any. Attributes: `n` "
             "number, `l` list, `c` column, `w` width, `x` exit.")


def rows(name, macro, fields):
    """The rows of a .def file: fields as text, strings without their quotes."""
    with open(os.path.join(ROOT, "ir", name), encoding="utf-8") as text:
        source = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
    found = []
    for row in re.findall(r"^%s\((.*)\)$" % macro, source, flags=re.M):
        cells = [c.strip().strip('"') for c in re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,"]+)\s*(?:,|$)', row)]
        if len(cells) != fields:
            sys.exit(f"ir/{name}: a row is not of the form this script reads: {row}")
        found.append(cells)
    return found


def table(head, lines):
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for line in lines:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def operation(o):
    blank = lambda x: "" if x in ("_", "NONE") else x
    args = f"`{o[2]}`" if o[2] else ""
    memory = ", ".join(filter(None, (blank(o[5]), o[6] != "NONE" and "writes " + o[6])))
    return [f"`{o[1]}`", args, blank(o[3]).lower(), blank(o[4]), memory, o[7], o[8]]


def levels(bits):
    return " ".join(str(n) for n in (1, 2, 3) if int(bits) >> n & 1)


def tables():
    ops = rows("ir_ops.def", "IR", 9)
    yield f"### Operations ({len(ops)})\n\n{ARGUMENTS}\n\nEffects: {EFFECTS}.\n"
    yield from table(("operation", "arguments", "value", "attributes", "memory", "effects", "meaning"),
                     map(operation, ops))
    yield "\n### Passes\n"
    yield from table(("pass", "levels", "what it does"),
                     ([f"`{p[0]}`", levels(p[1]), p[2]] for p in rows("ir_passes.def", "PASS", 3)))
    yield "\n### Exits\n"
    yield from table(("reason", "meaning"),
                     ([f"`{e[1]}`", e[2]] for e in rows("ir_exits.def", "EXIT", 3)))
    yield "\n### Refusals\n"
    yield from table(("refusal", "meaning"),
                     ([f"`{r[1]}`", r[2]] for r in rows("ir_refusals.def", "REFUSAL", 3)))


def main():
    with open(PAGE, encoding="utf-8") as text:
        page = text.read()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        sys.exit(f"{PAGE}: the two marks of the tables are not there once each")
    before, rest = page.split(BEGIN)
    old, after = rest.split(END)
    new = "\n".join(tables()) + "\n"
    if "--fix" in sys.argv[1:]:
        with open(PAGE, "w", encoding="utf-8") as text:
            text.write(before + BEGIN + new + END + after)
    elif new != old:
        sys.exit("docs/ir.md: the tables are old; tests/ir/ir_doc_test.py --fix writes them anew")
    print(f"{len(new.splitlines())} lines of tables")


main()

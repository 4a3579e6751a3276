#!/usr/bin/env python3
"""Checks that the tables in docs/bytecode.md are those of vm/*.def.

usage: tests/structure/bytecode_doc_test.py [--fix]      --fix writes the tables anew
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs/bytecode.md")
BEGIN = "<!-- made by tests/structure/bytecode_doc_test.py --fix -->\n"
END = "<!-- end -->\n"
EFFECTS = {"P": "pure", "F": "may fault", "R": "reads the list", "W": "may change the list",
           "J": "may jump", "E": "ends the block", "C": "calls"}
OPERANDS = """\
`W`*x*, `R`*x*: a register written, read; *x* is `I` int, `R` real, `B` bool, `T` text, `D` date, `A` any of these as
the other operand says, `N` int, date or bool, both alike, `H` a row handle. `XH` is read and written. `S16`, `S32`
signed numbers (`S32` in fields b and c), `U1` 0 or 1, `K` a constant, `FK` a fault, `OFF` where to jump, `L` a list,
`LC` list and column, `SL` list and slice, `FN` a function, `XF` a host function, `BF` a builtin, `LP` a loop. Of
several registers the first: `AV` arguments, `PV` a row, `RV` the values after the key, `KV` a key, `BK` a row block,
`CB` a cursor block.
"""


def rows(name, macro):
    """The rows of a .def file: fields as text, strings without their quotes."""
    with open(os.path.join(ROOT, "vm", name), encoding="utf-8") as text:
        source = re.sub(r"/\*.*?\*/", "", text.read(), flags=re.S)
    for row in re.findall(r"^%s\((.*)\)$" % macro, source, flags=re.M):
        fields = re.findall(r'\s*("(?:[^"\\]|\\.)*"|[^,"]+)\s*(?:,|$)', row)
        yield [field.strip().strip('"') for field in fields]


def table(head, lines):
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for line in lines:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"


def tables():
    ops = list(rows("vm_ops.def", "OP"))
    builtins = list(rows("vm_builtins.def", "BUILTIN"))
    faults = list(rows("vm_faults.def", "FAULT"))
    if not all(len(op) == 8 for op in ops) or not all(len(b) == 7 for b in builtins):
        sys.exit("a row of vm/*.def is not of the form this script reads")
    yield f"### Instructions ({len(ops)})\n\n{OPERANDS}"
    yield "Effects: " + ", ".join(f"`{k}` {v}" for k, v in EFFECTS.items()) + ".\n"
    yield from table(("instruction", "a", "b", "c", "cost", "effects", "meaning"),
                     ([f"`{o[1]}`"] + ["" if x == "_" else f"`{x}`" for x in o[2:5]]
                      + [o[5], o[6], o[7]] for o in ops))
    yield f"\n### Builtins ({len(builtins)})\n"
    yield ("The cost is that of `bif` with this builtin; `+n` grows with the bytes / 8 of the texts "
           "read and made.\n")
    yield from table(("builtin", "language", "takes", "gives", "cost", "effects", "meaning"),
                     ([f"`{b[0].lower()}`", f"`{b[1]}`", b[3], b[2], b[4], b[5], b[6]]
                      for b in builtins))
    yield f"\n### Faults ({len(faults)})\n"
    yield from table(("fault", "name", "message"),
                     ([f"`{f[0].lower()}`", f[1], f[2]] for f in faults))


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
        sys.exit("docs/bytecode.md: the tables are old; tests/structure/bytecode_doc_test.py --fix "
                 "writes them anew")
    print(f"{len(new.splitlines())} lines of tables")


main()

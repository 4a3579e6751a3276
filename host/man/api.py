#!/usr/bin/env python3
"""Makes the reference of the C API, docs/api.md and host/man/pure.3, from the comments of pure.h.

usage: host/man/api.py          writes both
       host/man/api.py --check  exit status 1 where one is not what it would write

How the header is read: what stands before `extern "C"` is the introduction; a comment of a few
words without a full stop, alone between blank lines, begins a section; any other comment belongs
to the declarations after it, up to the next comment or blank line.
"""
import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "host/include/pure/pure.h"
WIDTH = 96


def plain(comment):
    """The lines of a comment without its marks."""
    text = re.sub(r"^/\*+ ?|\s*\*/$", "", comment.strip())
    return [re.sub(r"^ ?\* ?", "", line).rstrip() if i else line.rstrip()
            for i, line in enumerate(text.splitlines())]


def signature(code):
    """A declaration without the macros, laid out anew."""
    code = re.sub(r"\bPURE_(API|NODISCARD) ", "", code)
    if "{" in code or code.startswith("#"):
        return code
    joined = re.sub(r"\s+", " ", code).strip()
    statements = [s.strip() + ";" for s in joined.split(";") if s.strip()]
    return "\n".join("\n".join(textwrap.wrap(s, WIDTH, subsequent_indent="    ")) for s in statements)


def names(code):
    """What a declaration declares."""
    code = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    found = re.findall(r"\b(pure_\w+)\((?!\*)", code) if "{" not in code else []
    found += re.findall(r"\(\*(pure_\w+)\)\(", code) if code.startswith("typedef") else []
    found += re.findall(r"^(?:typedef struct|typedef enum|struct)\b.*?\b(\w+);\s*$", code, re.M) \
        if "{" not in code else re.findall(r"^\} (\w+);", code, re.M)
    found += re.findall(r"^#define (PURE_\w+)", code, re.M)
    found += re.findall(r"^struct (\w+);", code, re.M)
    return list(dict.fromkeys(found))


def items(body):
    """(comment, code) in the order of the header; code "" for a comment alone."""
    comment, code, inside, depth = [], [], False, 0
    for line in body.splitlines() + [""]:
        if inside or (line.startswith("/*") and depth == 0):
            if not inside and code:
                yield "\n".join(comment), "\n".join(code)
                comment, code = [], []
            comment.append(line)
            inside = "*/" not in line
        elif line.strip() or depth:
            code.append(line)
            depth += line.count("{") - line.count("}")
        elif comment or code:
            yield "\n".join(comment), "\n".join(code)
            comment, code = [], []


def read():
    """The introduction's lines, and the sections: [title, [(lines, code)]]."""
    text = HEADER.read_text(encoding="utf-8")
    introduction = plain(re.match(r"/\*.*?\*/", text, re.S).group())
    body = text[text.index("/* Of the library that runs"):text.rindex("#ifdef __cplusplus")]
    sections = [["Version", []]]
    for comment, code in items(body):
        lines = plain(comment) if comment else []
        if not code and len(lines) == 1 and len(lines[0]) < 40 and not lines[0].endswith("."):
            sections.append([lines[0], []])
        elif code or lines:
            sections[-1][1].append((lines, code))
    return introduction, sections


def paragraphs(lines):
    """Prose and, where lines are indented or are tables, code."""
    block, shape = [], None
    for line in lines + [""]:
        now = None if not line.strip() else "code" if line.startswith("  ") else "prose"
        if now != shape and block:
            yield shape, block
            block = []
        shape = now
        if line.strip():
            block.append(line)


def markdown(introduction, sections):
    out = ["# C API", "", "Made from the comments of `host/include/pure/pure.h` by `host/man/api.py`."
           " [embedding.md](embedding.md) is a tutorial.", ""]

    def prose(lines):
        for shape, block in paragraphs(lines):
            if shape == "code":
                out.extend(["```text", *textwrap.dedent("\n".join(block)).splitlines(), "```", ""])
            else:
                out.extend([*textwrap.wrap(" ".join(block), 120), ""])
    prose(introduction[1:])
    for title, entries in sections:
        out.extend([f"## {title}", ""])
        for lines, code in entries:
            declared = names(code)
            if declared:
                out.extend(["### " + ", ".join(f"`{n}`" for n in declared), ""])
            prose(lines)
            if code:
                out.extend(["```c", *signature(code).splitlines(), "```", ""])
    return "\n".join(out).rstrip() + "\n"


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def manual(introduction, sections):
    version = re.search(r'PURE_VERSION "([^"]+)"', HEADER.read_text(encoding="utf-8")).group(1)
    out = [f'.TH PURE 3 "2026" "Pure {version}" "Library Functions"', ".SH NAME",
           "pure \\- embeddable query VM", ".SH SYNOPSIS", ".nf", ".B #include <pure/pure.h>", ".PP",
           "cc \\-std=c99 FILE.c $(pkg\\-config \\-\\-cflags \\-\\-libs pure)", ".fi",
           ".SH DESCRIPTION"]

    def prose(lines):
        for shape, block in paragraphs(lines):
            if shape == "code":
                out.extend([".PP", ".nf", *map(roff, block), ".fi"])
            else:
                out.extend([".PP", *map(roff, textwrap.wrap(" ".join(block), 78))])
    prose(introduction[1:])
    for title, entries in sections:
        out.append(f".SH {title.upper()}")
        for lines, code in entries:
            if code:
                out.extend([".PP", ".nf", ".B " + roff(", ".join(names(code))) if names(code) else "",
                            *map(roff, signature(code).splitlines()), ".fi"])
            prose(lines)
    out.extend([".SH SEE ALSO", ".BR pure\\-run (1)"])
    return "\n".join(line for line in out if line) + "\n"


def main():
    introduction, sections = read()
    made = {ROOT / "docs/api.md": markdown(introduction, sections),
            ROOT / "host/man/pure.3": manual(introduction, sections)}
    stale = 0
    for path, text in made.items():
        if "--check" not in sys.argv[1:]:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is not what host/man/api.py makes")
            stale += 1
    return stale > 0


if __name__ == "__main__":
    sys.exit(main())

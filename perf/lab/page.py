"""The report: one HTML file that needs nothing else, for light and dark, wide and narrow."""
import html as markup
import json
import statistics

from lab import facts as reading
from lab import plots, table

STYLE = """
:root { color-scheme: light dark; --ink: #1d2129; --soft: #5b6472; --paper: #fff; --panel: #f5f6f8; --faint: #d9dce2;
  --bad: #b3261e; --good: #18733f; --l0: #6b7078; --l1: #a85a0c; --l2: #1d6ca6; --l3: #1c7a4d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e8ec; --soft: #a3abb8; --paper: #14171c; --panel: #1d2128;
  --faint: #3a404b; --bad: #ff8a80; --good: #6fd39b; --l0: #a3a8b0; --l1: #f0a75c; --l2: #74bdf0; --l3: #6fd39b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1320px; padding: 16px; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: .2rem 0; }
p, li { max-width: 75ch; } ul { padding-left: 1.2rem; margin: .5rem 0; }
.soft, figcaption { color: var(--soft); font-size: .875rem; }
.summary { background: var(--panel); border-left: 4px solid var(--l3); padding: .5rem 1rem; }
.short { background: var(--panel); border-left: 4px solid var(--bad); padding: .5rem 1rem; }
.short h3 { color: var(--soft); font-size: .9rem; } .short h3 + ul { color: var(--soft); font-size: .875rem; }
.opening { display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(480px, 100%), 1fr)); margin: 1rem 0; }
.short h2, .summary h2 { margin-top: .3rem; }
.plots { display: grid; gap: 16px; grid-template-columns: repeat(auto-fill, minmax(min(360px, 100%), 1fr)); align-items: start; }
figure { margin: 0; padding: 8px; background: var(--panel); border-radius: 6px; min-width: 0; }
figure svg { display: block; width: 100%; max-width: 480px; height: auto; margin: 0 auto; }
figure svg text { font-family: system-ui, sans-serif; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--faint); }
th { position: sticky; top: 0; background: var(--paper); }
#loops th:last-child { text-align: left; }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--paper); }
td.text { text-align: left; white-space: normal; min-width: 14rem; }
tr.first td { border-top: 2px solid var(--faint); }
.bad { color: var(--bad); } .good { color: var(--good); }
.l0 { color: var(--l0); } .l1 { color: var(--l1); } .l2 { color: var(--l2); } .l3 { color: var(--l3); font-weight: 600; }
"""


def escape(text):
    return markup.escape(str(text))


def items(texts):
    return "<ul>" + "".join(f"<li>{escape(t)}</li>" for t in texts) + "</ul>"


def figure(title, svg, caption):
    named = svg.replace("<svg ", f'<svg aria-label="{escape(title)}" ', 1)
    return f"<figure><h3>{escape(title)}</h3>{named}<figcaption>{escape(caption)}</figcaption></figure>"


def grid(head, rows, name):
    """rows: (class of the row, cells), a cell being text or (text, class)."""
    lines = [f'<div class="scroll"><table id="{name}"><thead><tr>' +
             "".join(f"<th>{escape(h)}</th>" for h in head) + "</tr></thead><tbody>"]
    for kind, cells in rows:
        texts = [(c, "") if isinstance(c, str) else c for c in cells]
        lines.append(f'<tr class="{kind}">' + "".join(f'<td class="{k}">{escape(t)}</td>' for t, k in texts) + "</tr>")
    return "\n".join(lines) + "</tbody></table></div>"


def series(facts, levels):
    return [(f"level {n}", plots.COLOURS[n]) for n in levels]


def speed_plot(facts):
    levels = facts.levels[1:]
    groups = [(c, [facts.speed(c, facts.largest(c), n) for n in levels]) for c in facts.cases]
    groups = [(c, by) for c, by in groups if any(by)]
    if not groups:
        return ""
    svg = plots.bars("speed", groups, series(facts, levels), "level 0 / this level", mark=1)
    return figure("Speed by level", svg, "How many times as fast as the interpreter, warm, at the largest size. Right of "
                                         "the line: faster.")


def floor_plot(facts):
    names = list(dict.fromkeys(r["floor"] for r in facts.floors))
    if not names:
        return ""
    levels, groups = sorted({r["level"] for r in facts.floors}), []
    for name in names:
        rows = max(r["rows"] for r in facts.floors if r["floor"] == name)
        by = {r["level"]: r["ratio"] for r in facts.floors if r["floor"] == name and r["rows"] == rows}
        groups.append((name, [by.get(n) for n in levels]))
    svg = plots.bars("floor", groups, series(facts, levels), "Pure / plain C", mark=1)
    return figure("Time beside plain C", svg, "At the largest size. Left of the line: faster than C written by hand.")


def compile_plot(facts):
    levels, groups = facts.levels[1:], []
    for case in facts.cases:
        found = [facts.get(case, facts.largest(case), n, "warm") for n in levels]
        groups.append((case, [statistics.median(r["compile_ms"]) if r else None for r in found]))
    if not any(any(by) for _, by in groups):
        return ""
    svg = plots.bars("compile", groups, series(facts, levels), "ms")
    return figure("Compile time", svg, "Of all code that a warm process compiled, deopts and all, at the largest size.")


def process_plot(facts):
    if not facts.top:
        return ""
    groups = []
    for case in facts.cases:
        rows = facts.largest(case)
        base = facts.process_ms(case, rows, 0, "cold")
        found = [facts.process_ms(case, rows, facts.top, way) for way in ("cold", "cached")]
        groups.append((case, [ms / base if ms else None for ms in found]))
    svg = plots.bars("process", groups, [("cold", plots.COLOURS[1]), ("cached", plots.COLOURS[3])],
                     f"level {facts.top} / level 0", log=False, mark=1)
    return figure("A process of one call", svg, "From its start to the answer, at the largest size. Left of the line: "
                                                "compiling has paid within that call.")


def memory_plot(facts):
    groups = [(c, [facts.of(c, facts.largest(c), n, "warm", "peak_mb") for n in facts.levels]) for c in facts.cases]
    svg = plots.bars("memory", groups, series(facts, facts.levels), "MB", log=False)
    return figure("Memory", svg, "Peak of a warm process at the largest size, data, compiler and all.")


def instructions_plot(facts):
    counted = {(c, n): [facts.of(c, n, level, "warm", "instructions") for level in facts.levels]
               for c, n in facts.points()}
    best = {c: max((n for n in facts.sizes(c) if any(counted.get((c, n), []))), default=None) for c in facts.cases}
    levels = [n for at, n in enumerate(facts.levels) if at and any(of[at] for of in counted.values())]
    groups = [(c, [counted[c, rows][facts.levels.index(n)] for n in levels], counted[c, rows][0])
              for c, rows in best.items() if rows is not None and counted[c, rows][0]]
    groups = [(c, [n / base if n else None for n in by]) for c, by, base in groups]
    if not any(any(by) for _, by in groups):
        return ""
    by = {r["instructions_by"] for r in facts.ways.values()} - {""}
    svg = plots.bars("instructions", groups, series(facts, levels), "this level / level 0", mark=1)
    return figure("Instructions", svg, f"Of a warm call, counted by {' and '.join(sorted(by))}, at the largest size that "
                                       "was counted. Left of the line: fewer.")


def size_plots(facts):
    found = []
    for at, case in enumerate(facts.cases):
        sizes = facts.sizes(case)
        if len(sizes) < 2:
            continue
        curves = []
        for level in facts.levels:
            rows = []
            for n in sizes:
                r = facts.get(case, n, level, "warm")
                if r and facts.ms(case, n, level, "warm") >= reading.LEAST:
                    ordered = sorted(facts.samples(r))
                    quarter = len(ordered) // 4
                    rows.append((n, facts.ms(case, n, level, "warm"), max(ordered[quarter], reading.LEAST),
                                 ordered[-1 - quarter]))
            if len(rows) > 1:
                curves.append((f"level {level}", plots.COLOURS[level], rows))
        if curves:
            svg = plots.lines(f"size{at}", curves, "rows", "ms a call, warm")
            found.append(figure(case, svg, "Medians; bars hold the middle half of the samples."))
    return found


def exits(loop):
    told = [f"{why} {n}" for why, n in loop["exits"].items() if n]
    return ", ".join(told) or "-"


def tier(loop):
    if loop is None:
        return "-"
    name = loop["tier"]
    return (name, {"interpreter": "l0", "level 1": "l1", "level 2": "l2", "level 3": "l3"}.get(name, ""))


def loop_rows(facts):
    by = {}
    for r in facts.loops:
        if r["rows"] == facts.largest(r["case"]):
            by.setdefault((r["case"], r["is"], r["loop"]), {})[r["level"], r["way"]] = r
    last = None
    for (case, kind, name), found in by.items():
        top = found.get((facts.top, "warm")) or next(iter(found.values()))
        label = f"{case.split('/')[0]} {name}" + (" (whole)" if kind == "function" else "")
        cells = [label, *(tier(found.get((n, "warm"))) for n in facts.levels[1:]), tier(found.get((facts.top, "cold"))),
                 f"{top['entries']:,}", f"{top['headers']:,}", str(top["deopts"]), exits(top), (top["reason"], "text")]
        yield "first" if case != last else "", cells
        last = case


def point_rows(facts):
    last = None
    for row, speed in table.rows_of(facts):
        cells = [row[name] for name in table.HEAD]
        cells[2] = (cells[2], f"l{row['level']}")
        if speed and row["level"] != "0":
            cells[4] = (cells[4], "bad" if speed < 1 / reading.TOLERANCE else "good")
        yield "first" if (row["case"], row["rows"]) != last else "", cells
        last = row["case"], row["rows"]


def floor_rows(facts):
    for r in facts.floors:
        yield "", [r["floor"], f"{r['rows']:,}", (str(r["level"]), f"l{r['level']}"), table.short(r["ms"]),
                   table.short(r["c_ms"]), (f"{r['ratio']:.2f}", "bad" if r["ratio"] > reading.TOLERANCE else "good")]


def opening(facts):
    m = facts.machine
    short = reading.shortfalls(facts)
    return [f"<h1>Pure by level</h1><p class=\"soft\">{escape(m.get('machine', '?'))}, {escape(m.get('processors', '?'))} "
            f"processors, load {escape(m.get('load', '?'))}; kernel {escape(m.get('kernel', '?'))}; "
            f"{escape(m.get('compiler', '?'))}; commit {escape(m.get('commit', '?'))}; {escape(facts.clock)} clock.</p>",
            '<div class="opening"><section class="summary"><h2>In short</h2>' + items(
                ["Answers and work are the same at all levels and in all ways; they were compared before any time was "
                 "told."] + reading.summary(facts)) + "</section>",
            '<section class="short"><h2>Shortfalls</h2>' + items(short or ["None found."]) +
            "<h3>How far to trust this</h3>" + items(reading.limits(facts) or ["Everything was measured."]) +
            "</section></div>"]


def pictures(facts):
    overview = [plot(facts) for plot in (speed_plot, floor_plot, process_plot, compile_plot,
                                          instructions_plot, memory_plot)]
    texts = ['<h2>By level</h2><div class="plots">' + "".join(overview) + "</div>"]
    sizes = size_plots(facts)
    if sizes:
        texts.append('<h2>Time by size</h2><div class="plots">' + "".join(sizes) + "</div>")
    return texts


def tables(facts):
    tiers = [f"level {n}" for n in facts.levels[1:]]
    cold = f"cold, level {facts.top}"
    texts = []
    if facts.loops:
        texts.append("<h2>Where each loop ran</h2><p class=\"soft\">At the largest size. The columns of levels say where a "
                     "loop ended in a warm process with that level at most; entries, turns, deopts and exits are of the "
                     f"highest level. Entries and turns inside compiled code around it are not all told.</p>" +
                     grid(["loop", *tiers, cold, "entries", "turns", "deopts", "exits", "why not"], loop_rows(facts), "loops"))
    texts.append("<h2>All points</h2><p class=\"soft\">warm: a call, median; speed: level 0 / this level, both warm; cold, "
                 "cached: process start to answer; compile: of a warm process; peak: of the process.</p>" +
                 grid(table.HEAD, point_rows(facts), "points"))
    if facts.floors:
        texts.append("<h2>Beside plain C</h2>" + grid(["floor", "rows", "level", "Pure ms", "C ms", "Pure / C"],
                                                      floor_rows(facts), "floors"))
    return texts


def html(facts):
    body = "\n".join(opening(facts) + pictures(facts) + tables(facts))
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Pure by level</title>'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<link rel="icon" href="data:,"><style>{STYLE}</style></head>\n<body>{body}\n'
            f'<script type="application/json" id="machine">{json.dumps(facts.machine).replace("<", "&lt;")}</script>'
            "</body></html>\n")

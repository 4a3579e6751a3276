"""The table on the terminal: summary, shortfalls, then a row for each point and level."""
import textwrap

from lab import facts as reading
from lab import terminal


def short(value, digits=3):
    """Three digits that count."""
    if value is None:
        return "-"
    if value >= 1e9:
        return f"{value / 1e9:.{digits - 1}f} G"
    if value >= 1e6:
        return f"{value / 1e6:.{digits - 1}f} M"
    if value >= 1000:
        return f"{value:.0f}"
    places = max(digits - len(str(int(value))), 0) if value >= 1 else 3 if value >= 0.1 else 4
    return f"{value:.{places}f}"


HEAD = ["case", "rows", "level", "warm ms", "speed", "cold ms", "cached ms", "compile ms", "deopts", "instructions",
        "work", "peak MB"]


def cells(facts, case, rows, level):
    """The values of a row, as texts; speed and deopts as numbers too, for colours."""
    warm, cold = (facts.get(case, rows, level, way) for way in ("warm", "cold"))
    speed = facts.speed(case, rows, level)
    compile_ms = sorted(warm["compile_ms"])[len(warm["compile_ms"]) // 2] if warm and level else None
    return {"case": case, "rows": f"{rows:,}" if rows else "-", "level": str(level),
            "warm ms": short(facts.ms(case, rows, level, "warm")), "speed": f"{speed:.2f}" if speed else "-",
            "cold ms": short(facts.process_ms(case, rows, level, "cold")),
            "cached ms": short(facts.process_ms(case, rows, level, "cached")), "compile ms": short(compile_ms),
            "deopts": str(warm["deopts"]) if warm else "-",
            "instructions": short(warm["instructions"] if warm else None), "work": f"{(warm or cold)['work']:,}",
            "peak MB": short(warm["peak_mb"] if warm else None)}, speed


def rows_of(facts):
    for case, rows in facts.points():
        for level in facts.levels:
            yield cells(facts, case, rows, level)


def paragraph(text, mark=""):
    print(textwrap.fill(text, 110, initial_indent=mark, subsequent_indent=" " * len(mark)))


def show(facts):
    m = facts.machine
    print(f"{m.get('machine', '?')}, {m.get('processors', '?')} processors, load {m.get('load', 0)}; commit "
          f"{m.get('commit', '?')}; answers and work equal at all levels and in all ways")
    for text in reading.summary(facts):
        paragraph(text)
    for title, texts in (("Shortfalls", reading.shortfalls(facts)), ("How far to trust this", reading.limits(facts))):
        print(terminal.paint(title, "bold"))
        for text in texts or ["nothing found"]:
            paragraph(text, "- ")
    table = []
    for row, speed in rows_of(facts):
        line = [row[name] for name in HEAD]
        if speed and row["level"] != "0":
            line[HEAD.index("speed")] = (row["speed"], "bad" if speed < 1 / reading.TOLERANCE else "good")
        if row["level"] != "0":
            line[0] = (line[0], "dim")
        table.append(line)
    terminal.table(HEAD, table)
    print("warm: a call; speed: level 0 / this level, both warm; cold, cached: process start to answer; compile: of a "
          "warm process")
    show_floors(facts)


def show_floors(facts):
    if not facts.floors:
        return
    print(terminal.paint("Beside plain C", "bold"))
    table = [[r["floor"], f"{r['rows']:,}", str(r["level"]), short(r["ms"]), short(r["c_ms"]),
              (f"{r['ratio']:.2f}", "bad" if r["ratio"] > reading.TOLERANCE else "good")] for r in facts.floors]
    terminal.table(["floor", "rows", "level", "Pure ms", "C ms", "Pure / C"], table)

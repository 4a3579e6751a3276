"""What the records of a run come to: medians, ratios, shortfalls, a summary in plain words."""
import math
import random
import statistics

SHORT = 0.02      # ms: pure-run tells thousandths of one, so shorter times are not compared
LEAST = 0.002     # ms: the least that is drawn
TOLERANCE = 1.05  # a ratio up to this is no shortfall
ENOUGH = 3        # processes, for a difference between them to mean something
DRAWS = 400


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def interval(a, b):
    """Of the ratio of the medians a / b of processes: what 95 of 100 samples drawn from them come to (bootstrap)."""
    draw = random.Random(1)
    ratios = sorted(statistics.median(draw.choices(a, k=len(a))) / max(statistics.median(draw.choices(b, k=len(b))), 1e-9)
                    for _ in range(DRAWS))
    return ratios[int(DRAWS * 0.025)], ratios[int(DRAWS * 0.975) - 1]


class Facts:
    def __init__(self, records):
        self.machine = next((r for r in records if r["kind"] == "machine"), {})
        self.clock = self.machine.get("clock", "wall")
        self.ways = {(r["case"], r["rows"], r["level"], r["way"]): r for r in records if r["kind"] == "way"}
        self.loops = [r for r in records if r["kind"] == "loop"]
        self.floors = [r for r in records if r["kind"] == "floor"]
        self.cases = list(dict.fromkeys(r["case"] for r in self.ways.values()))
        self.levels = sorted({r["level"] for r in self.ways.values()})
        self.top = self.levels[-1] if self.levels else 0

    def sizes(self, case=None):
        return sorted({rows for c, rows, _, _ in self.ways if case in (None, c)})

    def points(self):
        return list(dict.fromkeys((c, rows) for c, rows, _, _ in self.ways))

    def get(self, case, rows, level, way):
        return self.ways.get((case, rows, level, way))

    def of(self, case, rows, level, way, name):
        r = self.get(case, rows, level, way)
        return r[name] if r else None

    def samples(self, r):
        """Of calls, by the clock that was asked for."""
        return r["cpu_ms"] if self.clock == "cpu" and r["cpu_ms"] else r["run_ms"]

    def by_process(self, r):
        """The median of the calls of each process: calls of one process are not independent."""
        found, n = self.samples(r), len(r["process_ms"])
        each = len(found) // n
        return [statistics.median(found[i * each:(i + 1) * each]) for i in range(n)]

    def ms(self, case, rows, level, way):
        r = self.get(case, rows, level, way)
        return statistics.median(self.samples(r)) if r else None

    def process_ms(self, case, rows, level, way):
        r = self.get(case, rows, level, way)
        return statistics.median(r["process_ms"]) if r else None

    def speed(self, case, rows, level):
        """How many times as fast as level 0, both warm; None where it cannot be told."""
        base, mine = (self.ms(case, rows, at, "warm") for at in (0, level))
        if base is None or mine is None or base < SHORT or mine <= 0:
            return None
        return base / mine

    def speeds(self, level, rows=None):
        found = {(c, n): self.speed(c, n, level) for c, n in self.points() if rows in (None, n)}
        return {at: s for at, s in found.items() if s}

    def largest(self, case):
        return self.sizes(case)[-1]


def place(case, rows):
    return f"{case} at {rows:,} rows" if rows else case


def beyond_chance(facts, slow, fast):
    """In words, or None where it may be chance."""
    a, b = facts.by_process(slow), facts.by_process(fast)
    if min(len(a), len(b)) >= ENOUGH:
        least, most = interval(a, b)
        return f"95 %: {least:.2f} to {most:.2f}" if least > 1 else None
    a, b = (statistics.quantiles(facts.samples(r) * 2, n=4) for r in (slow, fast))
    return "few rounds: may be chance" if a[0] > b[2] else None


def slower_warm(facts):
    """Pairs of levels of which the higher one is slower."""
    found = []
    for case, rows in facts.points():
        for low, high in zip(facts.levels, facts.levels[1:]):
            slow, fast = (facts.get(case, rows, at, "warm") for at in (high, low))
            if not slow or not fast or facts.ms(case, rows, low, "warm") < SHORT:
                continue
            ratio = facts.ms(case, rows, high, "warm") / facts.ms(case, rows, low, "warm")
            sure = beyond_chance(facts, slow, fast) if ratio > TOLERANCE else None
            if sure:
                found.append((ratio, f"{place(case, rows)}: level {high} takes {ratio:.2f} times as long as level {low} "
                                     f"({sure}), warm."))
    return found


def slower_cold(facts):
    found = []
    for case, rows in facts.points():
        base = facts.process_ms(case, rows, 0, "cold")
        for level in facts.levels[1:]:
            cold, cached = (facts.process_ms(case, rows, level, way) for way in ("cold", "cached"))
            for now, before, what, other in ((cold, base, "cold", "level 0"), (cached, cold, "cached", "cold")):
                r = facts.get(case, rows, level, what)
                against = facts.get(case, rows, 0 if what == "cold" else level, "cold")
                if not r or not against or now / before <= TOLERANCE:
                    continue
                if len(r["process_ms"]) >= ENOUGH and min(r["process_ms"]) > max(against["process_ms"]):
                    found.append((now / before, f"{place(case, rows)}: level {level} {what} takes {now / before:.2f} "
                                                f"times as long as {other}, from process start to answer."))
    return found


def beside_c(facts):
    found = []
    for name in dict.fromkeys(r["floor"] for r in facts.floors):
        rows = max(r["rows"] for r in facts.floors if r["floor"] == name)
        best = [r for r in facts.floors if r["floor"] == name and r["rows"] == rows]
        top = max(best, key=lambda r: r["level"])
        if top["ratio"] > TOLERANCE:
            found.append((top["ratio"], f"{name} at {rows:,} rows: level {top['level']} takes {top['ratio']:.2f} times "
                                        f"as long as plain C."))
    return found


def not_compiled(facts):
    """Loops that the highest level left to the interpreter in warm processes, at the largest size."""
    found = []
    for r in facts.loops:
        if r["level"] != facts.top or r["way"] != "warm" or r["rows"] != facts.largest(r["case"]) or not facts.top:
            continue
        if r["is"] == "loop" and r["tier"] == "interpreter" and r["reason"] and "not enough work" not in r["reason"]:
            found.append((r["headers"], f"{r['case']}: loop {r['loop']} is not compiled: {r['reason']}."))
    return found


def unsettled(facts):
    levels = {}
    for r in facts.ways.values():
        if not r["settled"]:
            levels.setdefault((r["case"], r["rows"], r["calls_before"]), []).append(str(r["level"]))
    return [(0, f"{place(case, rows)}: level{'s' * (len(which) > 1)} {', '.join(which)} still compiled something behind the {calls} calls that "
                f"warm up; medians leave that out.") for (case, rows, calls), which in levels.items()]


def untold(facts):
    """What this run could not measure, and why."""
    found = []
    missing = [r for r in facts.ways.values() if r["way"] == "warm" and r["instructions"] is None]
    why = next((r["not_counted"] for r in facts.ways.values() if r["not_counted"]), "")
    if missing:
        by = any(r["instructions_by"] == "callgrind" for r in facts.ways.values())
        found.append(f"The processor counts no instructions here{f' ({why})' if why else ''}. " +
                     ("callgrind counted those of some points; a dash means that this one was not among them."
                      if by else "None were counted; --instructions counts by callgrind."))
    elif any(r["instructions_by"] == "callgrind" for r in facts.ways.values()):
        found.append(f"Instructions are callgrind's: the processor counts none{f' ({why})' if why else ''}.")
    short = [place(c, n) for c, n in facts.points() if (facts.ms(c, n, 0, "warm") or 1) < SHORT]
    if short:
        found.append(f"Too short to compare (pure-run tells thousandths of a ms): {', '.join(short)}.")
    if facts.machine.get("load", 0) > facts.machine.get("processors", 1):
        found.append(f"Other work ran on this machine (load {facts.machine['load']:.1f} on "
                     f"{facts.machine['processors']} processors): times are unsteady.")
    if facts.clock == "cpu" and not all(r["cpu_ms"] for r in facts.ways.values()):
        found.append("Processor time was not counted here: times of calls are of the wall clock.")
    few = min((len(r["process_ms"]) for r in facts.ways.values()), default=0)
    if few < 5:
        found.append(f"Some points have {few} timed round{'s' * (few != 1)} only: small differences mean nothing there.")
    return found


def worst(found, most):
    """The texts of the largest, and how many were left out."""
    ordered = [text for _, text in sorted(found, key=lambda one: -one[0])]
    more = len(ordered) - most
    return ordered[:most] + ([f"... and {more} more like that: see the tables."] if more > 0 else [])


def shortfalls(facts):
    texts = []
    for group in (slower_warm, beside_c, slower_cold, not_compiled):
        texts += worst(group(facts), 4)
    return texts


def limits(facts):
    """How far the figures can be trusted."""
    return worst(unsettled(facts), 3) + untold(facts)


def summary(facts):
    """In plain words, the first thing that is read."""
    texts = []
    for level in facts.levels[1:]:
        found = facts.speeds(level)
        if found:
            least, most = min(found, key=found.get), max(found, key=found.get)
            texts.append(f"Level {level} is {mean(found.values()):.1f} times as fast as the interpreter (geometric mean of "
                         f"{len(found)} warm points): from {found[least]:.2f} ({place(*least)}) to {found[most]:.1f} "
                         f"({place(*most)}).")
    floors = {}
    for r in facts.floors:
        floors.setdefault((r["rows"], r["level"]), []).append(f"{r['ratio']:.2f} ({r['floor']})")
    if floors:
        rows, level = max(floors)
        texts.append(f"Beside plain C, level {level} takes {', '.join(floors[rows, level])} times as long at {rows:,} rows.")
    cold = [facts.process_ms(c, n, facts.top, "cold") / facts.process_ms(c, n, 0, "cold") for c, n in facts.points()
            if facts.top and facts.get(c, n, facts.top, "cold") and facts.get(c, n, 0, "cold")]
    if cold:
        cached = [facts.process_ms(c, n, facts.top, "cached") / facts.process_ms(c, n, 0, "cold")
                  for c, n in facts.points()]
        texts.append(f"A new process takes {mean(cold):.2f} times what level 0 takes, from start to answer at level "
                     f"{facts.top}, {mean(cached):.2f} where an earlier one left its code.")
    compiled = [r for r in facts.ways.values() if r["way"] == "warm" and r["level"] == facts.top and r["compiled"]]
    if compiled and facts.top:
        texts.append(f"Compiling took {statistics.median(m for r in compiled for m in r['compile_ms']):.0f} ms a "
                     f"process at level {facts.top} (median).")
    return texts

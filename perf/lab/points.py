"""A point: one job, all levels and ways, in turn; a record for each, as the lines of JSON have it."""
import shutil
import statistics
import time

from lab import ways

SUMMED = ("compiled", "cached", "refused", "dropped", "deopts", "code_bytes")


class Point:
    def __init__(self, job, levels, folder, pure_run, spoil=None):
        self.job, self.levels, self.folder, self.pure_run, self.spoil = job, levels, folder, pure_run, spoil
        self.expected = ways.Expected(job)
        self.samples = {}  # (level, way): records of processes
        self.first = {}    # (level, way): what was seen in the round that is not timed

    def contestants(self, turn):
        """In the order of one round, which begins one further along each time. What a cold process leaves in
        the cache is there for the next alone, so those two stay together."""
        order = [(level, ("warm",)) for level in self.levels]
        order += [(level, ("cold", "cached") if level else ("cold",)) for level in self.levels]
        turn %= len(order)
        return [(level, way) for level, these in order[turn:] + order[:turn] for way in these]

    def run(self, level, way, watch):
        cache = self.folder / "cache"
        if way == "cold":
            shutil.rmtree(cache, ignore_errors=True)
            cache.mkdir(mode=0o700)
        seen = ways.run(self.pure_run, self.job, level, way, self.folder, watch)
        if way == "cold":
            seen.facts["left_code"] = any(p.is_file() for p in cache.rglob("*"))
        if self.spoil == f"level {level} {way}":
            seen.answers[0] += "changed"
        self.expected.compare(f"level {level} {way}", seen)
        return seen

    def plan(self, budget):
        """By what the interpreter takes for one call."""
        seen = self.run(self.levels[0], "cold", False)
        self.job.plan(seen.run[0], seen.works[0], budget)

    def measure(self, rounds, fewest, seconds, step):
        """The round that is not timed, and then as many as there is time for."""
        began = time.perf_counter()
        for turn in range(rounds + 1):
            if turn > fewest and time.perf_counter() - began > seconds:
                break
            for level, way in self.contestants(turn):
                step(f"{self.job.where()}: level {level} {way}", turn)
                seen = self.run(level, way, turn == 0)
                if turn == 0:
                    self.first[level, way] = seen
                else:
                    self.samples.setdefault((level, way), []).append(seen)

    def records(self):
        for level in self.levels:
            for way in ways.WAYS:
                if (level, way) in self.samples:
                    yield self.record(level, way)
                    yield from self.loops(level, way)

    def record(self, level, way):
        seen, first, at = self.samples[level, way], self.first[level, way], self.job.warming * (way == "warm")
        counted = [n for s in seen for n in s.facts["instructions"][at:]]
        found = {"kind": "way", "case": self.job.name, "rows": self.job.rows, "level": level, "way": way,
                 "work": seen[0].works[at], "calls_before": at,
                 "run_ms": [ms for s in seen for ms in s.run[at:]], "cpu_ms": [ms for s in seen for ms in s.cpu[at:]],
                 "process_ms": [s.process for s in seen], "compile_ms": [s.facts["compile_ms"] for s in seen],
                 "peak_mb": first.facts["peak_mb"], "engine_mb": first.facts["engine_mb"],
                 "settled": first.facts["settled"], "reason": first.facts["reason"],
                 "instructions": statistics.median(counted) if counted else None,
                 "instructions_by": "processor" if counted else "", "not_counted": first.facts["not_counted"]}
        found |= {name: max(s.facts[name] for s in seen) for name in SUMMED}
        if way == "cold":
            found["left_code"] = any(s.facts["left_code"] for s in seen)
        return found

    def loops(self, level, way):
        for loop in self.first[level, way].loops:
            yield {"kind": "loop", "case": self.job.name, "rows": self.job.rows, "level": level, "way": way} | loop

"""One program and its data, run by pure-run at a level in one way; what it answered and told.

Ways: "warm", calls after those that compiled everything, in one process (compiled at once and waited
for); "cold", one call in a new process with an empty cache of objects, under the default policy;
"cached", the same again with what the cold process left there.
"""
import dataclasses
import hashlib
import os
import pathlib
import re
import subprocess
import time

from lab import CannotRun, WrongAnswer

LEVELS = (0, 1, 2, 3)
WAYS = ("warm", "cold", "cached")
MOST_WORK = 300000  # the threshold that a loop has by default


@dataclasses.dataclass
class Job:
    """What is run: of an example at a size, or of a user's program."""
    name: str
    rows: int
    program: pathlib.Path
    loads: list
    call: list
    warming: int = 8  # calls of a warm process before those that are timed
    timed: int = 9
    threshold: int = MOST_WORK

    def where(self):
        return f"{self.name} at {self.rows} rows" if self.rows else self.name

    def plan(self, ms, work, budget):
        """Fits the number of calls to what one takes, and the threshold to what it does."""
        self.warming = 8 if ms < 5 else 5 if ms < 50 else 3
        self.timed = max(min(int(budget / max(ms, 0.001)), 9), 1 if ms > budget else 3)
        self.threshold = max(min(work // 8, MOST_WORK), 1000)


@dataclasses.dataclass
class Seen:
    """Of one process; times of calls in ms, in order."""
    answers: list
    works: list
    run: list
    cpu: list
    process: float
    facts: dict
    loops: list


def environment(job, level, way, cache, watch):
    variables = {k: v for k, v in os.environ.items() if not k.startswith("PURE_JIT")}
    variables |= {"PURE_JIT": str(level), "PURE_JIT_CACHE": "off" if way == "warm" else str(cache)}
    if way == "warm":
        variables |= {"PURE_JIT_SYNC": "1", "PURE_JIT_THRESHOLD": str(job.threshold)}
    if watch:
        variables["PURE_JIT_STATS"] = "1"
    return variables


def words_of(pure_run, job, calls):
    words = [pure_run, str(job.program), "--format", "json"]
    for load in job.loads:
        words += ["--load", load]
    return words + ["--stats", "--work", "--counters", "--", *(job.call + ["+"]) * (calls - 1), *job.call]


def answers_of(path):
    """A hash of each answer: with --format json it is a line."""
    with open(path, "rb") as lines:
        return [hashlib.sha256(line).hexdigest()[:16] for line in lines]


def number(pattern, text, scale=1.0):
    found = re.search(pattern, text, re.M)
    return float(found[1]) * scale if found else 0.0


def facts_of(said):
    tiers = re.search(r"(\d+) compiled, (\d+) from the cache, in ([0-9.]+) ms, (\d+) bytes, (\d+) dropped, "
                      r"(\d+) refused", said)
    compiled, cached, ms, code, dropped, refused = tiers.groups() if tiers else (0,) * 6
    reason = re.search(r"everything ran on the interpreter: (.*)$|nothing more is compiled: (.*)$", said, re.M)
    counted = [float(n) for n in re.findall(r"^ +([0-9.]+)  instructions", said, re.M)]
    missing = re.search(r"^  not counted: .*?\binstructions\b.*?: (.*)$", said, re.M)
    return {"compiled": int(compiled), "cached": int(cached), "compile_ms": float(ms), "code_bytes": int(code),
            "dropped": int(dropped), "refused": int(refused), "reason": (reason[1] or reason[2]) if reason else "",
            "deopts": sum(map(int, re.findall(r"; (\d+) deopts$", said, re.M))),
            "peak_mb": number(r"^ +([0-9.]+) MB  peak of the process", said),
            "engine_mb": number(r"^ +([0-9.]+) MB  peak of the engine", said),
            "instructions": counted, "not_counted": missing[1] if missing else ""}


def exits_of(said):
    """By loop: how its compiled code was left, where PURE_JIT_STATS told."""
    exits = {}
    for name, counts in re.findall(r"^jit: (\S+)(?: \(start\))?: level \d, .*; exits: (.*)$", said, re.M):
        all_of = exits.setdefault(name, {})
        for why, n in re.findall(r"(\w+) (\d+)", counts):
            all_of[why] = all_of.get(why, 0) + int(n)
    return exits


def loops_of(said):
    """Each loop and function that ran, with its tier."""
    loops, exits, kind = [], exits_of(said), None
    starts = {m for m in re.findall(r"^jit: (\S+) \(start\):", said, re.M)}
    for line in said.splitlines():
        if re.match(r"(loop|function) +(entries|calls) ", line):
            kind = line.split()[0]
        elif line.startswith("jit: ") or line.startswith("counters of "):
            kind = None
        elif kind and line.startswith("  ") and loops:
            told = re.match(r"  compiled (\d+) times, .*; (\d+) deopts$", line)
            if told:
                loops[-1] |= {"compiles": int(told[1]), "deopts": int(told[2])}
            elif not re.match(r"  in the code of ", line):
                loops[-1]["reason"] = line.strip()
        elif kind:
            row = re.match(r"(\S+) +(\d+)(?: +(\d+) +(\d+))?  (.+)$", line)
            if not row:
                kind = None
                continue
            loops.append({"loop": row[1], "is": kind, "entries": int(row[2]), "headers": int(row[3] or 0),
                          "tier": row[5], "compiles": 0, "deopts": 0, "reason": "", "exits": exits.get(row[1], {})})
            if kind == "function":
                loops[-1]["exits"] = next((exits[s] for s in starts if s.split(":")[0] == row[1]), {})
    return loops


def settled(said, warming):
    """Whether nothing was compiled any more behind the calls that warm up."""
    calls = 0
    for line in said.splitlines():
        if line.startswith("work "):
            calls += 1
        elif calls >= warming and re.match(r"jit: .*: level \d, [0-9.]+ ms", line):
            return False
    return True


def run(pure_run, job, level, way, folder, watch):
    """One process. watch: the decisions of the compiled tiers, and its peak of memory; not for times."""
    calls = job.warming + job.timed if way == "warm" else 1
    words = words_of(pure_run, job, calls)
    if watch:  # the peak that the system tells of a child of this process would begin with that of Python
        words = ["/bin/sh", "-c", '"$@"; exit $?', "sh", *words]
    variables = environment(job, level, way, folder / "cache", watch)
    with open(folder / "out", "wb") as out, open(folder / "said", "w+b") as error:
        start = time.perf_counter()
        try:
            status = subprocess.run(words, stdout=out, stderr=error, env=variables).returncode
        except OSError as why:
            raise CannotRun(f"{pure_run}: {why.strerror}") from None
        process = (time.perf_counter() - start) * 1e3
        error.seek(0)
        said = error.read().decode(errors="replace")
    if status != 0:
        told = [line for line in said.splitlines() if not line.startswith(("work ", "counters "))]
        raise CannotRun(f"{job.where()}, level {level} {way}: exit {status}: {' '.join(told)[:400]}")
    times = re.findall(r"^  run +([0-9.]+) ms  ", said, re.M)
    works = re.findall(r"^work \S+ (\d+)$", said, re.M)
    cpu = re.findall(r"^ +([0-9.]+)  task clock, ms", said, re.M)
    answers = answers_of(folder / "out")
    if not len(times) == len(works) == len(answers) == calls:
        raise CannotRun(f"{job.where()}: {calls} calls, but {len(times)} times, {len(works)} works and "
                        f"{len(answers)} answers were told")
    cpu = cpu if len(cpu) == calls else []  # where the system does not let it be counted
    facts = facts_of(said) | {"settled": not watch or way != "warm" or settled(said, job.warming)}
    return Seen(answers, [int(w) for w in works], [float(t) for t in times], [float(t) for t in cpu],
                process, facts, loops_of(said))


class Expected:
    """What each call in order has to answer and to charge, by who said it first."""

    def __init__(self, job):
        self.job, self.calls = job, []

    def compare(self, who, seen):
        for at, found in enumerate(zip(seen.answers, seen.works)):
            if at == len(self.calls):
                self.calls.append((found, who))
            (answer, work), first = self.calls[at]
            told = f"{self.job.where()}, call {at + 1}: {first} and {who}"
            if found[0] != answer:
                raise WrongAnswer(f"{told} differ: answers {answer} and {found[0]}")
            if found[1] != work:
                raise WrongAnswer(f"{told} differ: work {work} and {found[1]}")

"""Instructions of one warm call where the processor does not count: by callgrind.

Counted is what runs inside the call alone, of two processes, one with more calls than the other; the
difference is that of warm calls. Code comes from a cache of objects that a first process fills, so
that LLVM runs once. valgrind's processor has no more than AVX2: code is compiled for that one.
"""
import re
import shutil
import subprocess

from lab import CannotRun, ways

CALLS = (8, 12)


def valgrind(words, variables, out):
    done = subprocess.run(["valgrind", "-q", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          env=variables, text=True)
    if done.returncode != 0:
        raise CannotRun(f"valgrind: exit {done.returncode}: {done.stderr.strip()[:400]}")
    if out is None:
        return 0
    total = re.search(r"^(?:totals|summary): (\d+)", out.read_text(errors="replace"), re.M)
    if not total:
        raise CannotRun("callgrind counted nothing")
    return int(total[1])


def instructions(pure_run, job, level, folder):
    """Of one warm call, rounded to a whole number."""
    cache, out = folder / f"count-cache-{level}", folder / f"count-{level}.out"
    shutil.rmtree(cache, ignore_errors=True)
    cache.mkdir(mode=0o700)
    variables = ways.environment(job, level, "warm", cache, False) | {"PURE_JIT_CACHE": str(cache)}
    smc = "--smc-check=all-non-file"
    if level:
        valgrind(["--tool=none", smc, *ways.words_of(pure_run, job, CALLS[1])], variables, None)
    least, most = (valgrind(["--tool=callgrind", "--toggle-collect=pure_session_call", smc,
                             f"--callgrind-out-file={out}", *ways.words_of(pure_run, job, calls)], variables, out)
                   for calls in CALLS)
    return round((most - least) / (CALLS[1] - CALLS[0]))

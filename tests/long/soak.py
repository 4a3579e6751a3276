#!/usr/bin/env python3
"""pure-serve under mixed load for a long time: its memory must stay flat, its answers right.

At once: events (of which some fault), queries with limits, lists streamed as JSON and CSV, callers who hang up
in the middle of an answer or of a request, loads, looks at /stats and /metrics; checkpoints every few thousand
events. The lists stay within bounds, and so do the texts in them, of --texts kinds (0: always new ones; a store's
dictionary keeps those, and grows). A table tells resident memory (of which a part is the log, mapped), and what
was done, by the minute.

Wrong are: an answer that is not what it must be; lists that contradict each other; a log that does not verify;
and resident memory that, at any look after --settle seconds, is more than a tenth and 8 MB above its median
in the minute that begins there.

usage: tests/long/soak.py [--seconds S] [--settle S] [--every S] [--rows N] [--texts N] [--seed S]
       (1800, 300, 60, 20000, 10000, 1)
"""
import argparse
import http.client
import json
import pathlib
import random
import socket
import statistics
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from server import Folder, Server, verify  # noqa: E402

PROGRAM = """
list entries (id: int, who: int, amount: int, note: text) key id
list by_who (who: int, id: int) key (who, id)
list totals (who: int, n: int, sum: int) key who
list loaded (batch: int, id: int, note: text) key (batch, id)

fn take_back(id: int) {
  if let e = entries[id] {
    let t = totals[e.who]
    t.n -= 1
    t.sum -= e.amount
    delete by_who[e.who, id]
    delete e
  }
}

event write(id: int, who: int, amount: int, note: text): int {
  take_back(id)
  add entries (id, who, amount, note)
  add by_who (who, id)
  let t = totals[who] or (0, 0)
  t.n += 1
  t.sum += amount
  if amount < 0 { fault "negative" }
  return t.n
}

event forget(id: int) { take_back(id) }
event unload(batch: int) {
  for l in loaded[batch] { delete l }
}

query of(who: int): (id: int, amount: int, note: text) {
  for b in by_who[who] {
    let e = entries[b.id]
    emit (b.id, e.amount, e.note)
  }
}

query longest(least: int): (id: int, note: text) {
  local found (id: int, note: text)
  for e in entries {
    if e.amount >= least { add found (e.id, e.note) }
  }
  sort found by note desc
  return found
}

-- Rows that say something else than the entries do.
query wrong: int {
  local sums (who: int, n: int, sum: int) key who
  for e in entries {
    let s = sums[e.who] or (0, 0)
    s.n += 1
    s.sum += e.amount
    if (e.who, e.id) not in by_who { s.n += 1000000 }
  }
  var bad = 0
  for t in totals {
    let s = sums[t.who] or (0, 0)
    if s.n != t.n or s.sum != t.sum { bad += 1 }
  }
  if count(by_who) != count(entries) { bad += 1 }
  return bad
}
"""
WHO = 50
JSON = {"Content-Type": "application/json"}


class Load:
    """What the threads share: each counts in a row of its own."""

    def __init__(self, server, options):
        self.server, self.options = server, options
        self.stop = threading.Event()
        self.wrong = []
        self.counts = []

    def run(self, job, number):
        counts = {}
        self.counts.append(counts)
        chance = random.Random(self.options.seed * 1000 + number)

        def work():
            try:
                job(self, chance, counts)
            except Exception as e:  # whatever a thread dies of is a failure of the test
                if not self.stop.is_set():
                    self.wrong.append(f"{job.__name__}: {type(e).__name__}: {e}")
        thread = threading.Thread(target=work)
        thread.start()
        return thread

    def done(self, name):
        return sum(c.get(name, 0) for c in self.counts)


def count(counts, name):
    counts[name] = counts.get(name, 0) + 1


def ask(connection, method, path, body=None, headers=None):
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    return answer.status, answer.read()


def expect(load, what, status, body, *wanted):
    if status not in wanted:
        load.wrong.append(f"{what}: {status} {body[:300]!r}")


def some_text(load, chance):
    """16 to 112 bytes, depending on the number alone."""
    texts = load.options.texts
    number = chance.randrange(texts) if texts else chance.getrandbits(64)
    return f"{number:016x}" * (number % 7 + 1)


def write_events(load, chance, counts):
    connection = load.server.connect()
    while not load.stop.is_set():
        row = chance.randrange(load.options.rows)
        if chance.randrange(20) == 0:
            status, body = ask(connection, "POST", "/call/forget", json.dumps([row]), JSON)
            expect(load, "forget", status, body, 200)
        else:
            amount = chance.randrange(-50, 1000)
            note = some_text(load, chance)
            status, body = ask(connection, "POST", "/call/write", json.dumps([row, chance.randrange(WHO), amount, note]), JSON)
            expect(load, f"write of {amount}", status, body, 422 if amount < 0 else 200)
        count(counts, "events")


def call_queries(load, chance, counts):
    connection = load.server.connect()
    while not load.stop.is_set():
        kind = chance.randrange(4)
        if kind == 0:
            status, body = ask(connection, "POST", "/call/wrong", "[]", JSON)
            expect(load, "wrong", status, body, 200)
            if status == 200 and json.loads(body) != 0:
                load.wrong.append(f"wrong: {body!r}")
        elif kind == 1:
            status, body = ask(connection, "POST", "/call/wrong", "[]", {**JSON, "Pure-Limit-Work": "5000"})
            expect(load, "wrong with a limit", status, body, 200, 422)
        elif kind == 2:
            status, body = ask(connection, "POST", "/call/longest", json.dumps([chance.randrange(900, 1000)]), JSON)
            expect(load, "longest", status, body, 200)
        else:
            status, body = ask(connection, "POST", "/call/of?format=csv", json.dumps([chance.randrange(WHO)]), JSON)
            expect(load, "of", status, body, 200)
        count(counts, "queries")
        time.sleep(0.005)


def look(load, chance, counts):
    connection = load.server.connect()
    while not load.stop.is_set():
        path = chance.choice(["/stats", "/metrics", "/program", "/", "/lists/totals", "/lists/entries?format=csv"])
        status, body = ask(connection, "GET", path)
        expect(load, path, status, body, 200)
        count(counts, "looks")
        time.sleep(0.02)


def hang_up(load, chance, counts):
    """Callers who go: before the body, after it, within the answer; some reset, some close."""
    while not load.stop.is_set():
        with load.server.socket(30) as s:
            kind = chance.randrange(4)
            if kind == 0:
                s.sendall(b"POST /call/longest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          b"Content-Length: 100\r\n\r\n[0")
            elif kind == 1:
                s.sendall(b"POST /call/longest HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                          b"Content-Length: 3\r\n\r\n[0]")
            elif kind == 2:
                s.sendall(b"GET /lists/entries HTTP/1.1\r\nHost: localhost\r\n\r\n")
                s.recv(1000)
            else:
                s.sendall(b"GET /lists/ent")
            if chance.randrange(2):
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        count(counts, "hung up")
        time.sleep(0.02)


def load_rows(load, chance, counts):
    connection = load.server.connect()
    batch = 0
    while not load.stop.is_set():
        batch += 1
        rows = "".join(f"{batch},{i},{some_text(load, chance)}\n" for i in range(1000))
        status, body = ask(connection, "POST", "/lists/loaded", "batch,id,note\n" + rows, {"Content-Type": "text/csv"})
        expect(load, "load", status, body, 200)
        if batch > 3:
            status, body = ask(connection, "POST", "/call/unload", json.dumps([batch - 3]), JSON)
            expect(load, "unload", status, body, 200)
        count(counts, "loads")
        load.stop.wait(1)


JOBS = [write_events, write_events, write_events, call_queries, look, hang_up, load_rows]
COUNTED = ["events", "queries", "looks", "hung up", "loads"]


def memory(server):
    """Megabytes: resident, and of that what is no file."""
    fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["RssAnon"].split()[0]) / 1024


def store(server):
    """On a connection of its own: the server closes those that bring nothing for long."""
    connection = server.connect()
    status, body = ask(connection, "GET", "/stats")
    connection.close()
    assert status == 200, body
    return json.loads(body)["store"]


def watch(server, load, options):
    """(seconds, resident, of that no file) once a second; the table meanwhile."""
    looks, start, told = [], time.monotonic(), 0
    print("| seconds | resident MB | of it no file | log MB | " + " | ".join(COUNTED) + " |")
    print("| ---: |" + " ---: |" * (3 + len(COUNTED)), flush=True)
    while (now := time.monotonic() - start) < options.seconds and not load.wrong:
        if server.process.poll() is not None:
            load.wrong.append(f"the server ended with {server.process.returncode}: {server.said()[-1000:]}")
            break
        looks.append((now, *memory(server)))
        if now >= told:
            told += options.every
            log = store(server)["log_bytes"] / 1e6
            figures = [f"{now:.0f}", f"{looks[-1][1]:.1f}", f"{looks[-1][2]:.1f}", f"{log:.1f}"]
            print("| " + " | ".join(figures + [str(load.done(name)) for name in COUNTED]) + " |", flush=True)
        time.sleep(1)
    return looks


def judge(looks, options):
    settled = [look for look in looks if look[0] >= options.settle]
    first = [look[1] for look in settled if look[0] < options.settle + 60]
    begin, most = statistics.median(first), max(look[1] for look in settled)
    last = statistics.median(look[1] for look in settled[-60:])
    print(f"resident after {options.settle} s: {begin:.1f} MB, last minute {last:.1f} MB, most {most:.1f} MB")
    return most <= begin * 1.1 + 8


def parse(argv):
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--settle", type=float, default=300)
    parser.add_argument("--every", type=float, default=60)
    parser.add_argument("--rows", type=int, default=20000)
    parser.add_argument("--texts", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args(argv)


def main(argv=None):
    options = parse(argv)
    with Folder() as folder:
        (folder / "soak.pure").write_text(PROGRAM)
        with Server(folder / "soak.pure", "--store", folder / "store", "--checkpoint-events", "5000",
                    exit_after=int(options.seconds) + 120) as server:
            load = Load(server, options)
            threads = [load.run(job, number) for number, job in enumerate(JOBS)]
            looks = watch(server, load, options)
            load.stop.set()
            for t in threads:
                t.join()
            assert not load.wrong, load.wrong[:5]
            assert all(load.done(name) for name in COUNTED), load.counts
            assert server.call("wrong").json == 0
            kept = store(server)
            assert server.stop() == 0, server.said()
        status, said = verify(folder / "store")
        assert status == 0, said
        print(f"store: {kept}\n{said.strip()}")
        if options.seconds > options.settle:
            assert judge(looks, options), "resident memory grew"


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""pure-serve under load, killed at random moments, its disk filled up, its files damaged.

After each start the store must have every event that was answered, none by halves, and of each
caller's unanswered one either all or nothing.  A damaged file must be refused with a message, or do
no harm: never lead to another answer.

usage: tests/long/crash.py [--rounds N] [--flips N] [--seed S]     (200 rounds, 300 flips)
"""
import argparse
import http.client
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "serve"))
from server import Folder, Server, verify  # noqa: E402

PROGRAM = """
list entries (caller: int, number: int, amount: int, note: text) key (caller, number)
list totals (caller: int, n: int, sum: int) key (caller)
event deposit(caller: int, number: int, amount: int, note: text): int {
  add entries (caller, number, amount, note)
  let t = totals[caller] or (0, 0)
  t.n += 1
  t.sum += amount
  if amount < 0 { fault "negative" }
  return t.sum
}
query size(): int { return count(entries) }
"""
CALLERS = 6
JSON = {"Content-Type": "application/json"}


class Shadow:
    """What the callers know: amounts that were answered, and perhaps one that was not."""

    def __init__(self):
        self.answered = {c: [] for c in range(CALLERS)}
        self.asked = {c: None for c in range(CALLERS)}
        self.loaded = 0

    def compare(self, server):
        """Raises where the store is not what it must be; takes over what had become of the unanswered."""
        entries = {c: {} for c in range(CALLERS)}
        loaded = 0
        for line in server.get("/lists/entries?format=csv").body.decode().splitlines()[1:]:
            caller, number, amount, note = line.split(",")
            if int(caller) < CALLERS:
                entries[int(caller)][int(number)] = int(amount)
                assert note == f"note {number}", line
            else:
                loaded += 1
        totals = {t["caller"]: (t["n"], t["sum"]) for t in server.get("/lists/totals").json}
        for c in range(CALLERS):
            rows, want = entries[c], self.answered[c]
            got = [rows.get(i + 1) for i in range(len(rows))]
            assert None not in got, f"caller {c}: a hole in {sorted(rows)}"
            if len(got) == len(want) + 1 and self.asked[c] is not None:
                want.append(self.asked[c])
            self.asked[c] = None
            assert got == want, f"caller {c}: {len(want)} answered, {len(got)} kept, or others"
            assert totals.get(c, (0, 0)) == (len(got), sum(got)), f"caller {c}: half an event: {totals.get(c)}"
        assert loaded in (self.loaded, self.loaded + 10), f"{loaded} loaded rows, not {self.loaded}"
        self.loaded = loaded


def call_on(server, shadow, caller, seed, stop, wrong):
    """Deposits one after another until the server is gone."""
    chance = random.Random(seed)
    connection = server.connect()
    try:
        while not stop.is_set():
            number = len(shadow.answered[caller]) + 1
            amount = chance.randrange(-100, 1000)
            shadow.asked[caller] = amount if amount >= 0 else None
            connection.request("POST", "/call/deposit", json.dumps([caller, number, amount, f"note {number}"]), JSON)
            answer = connection.getresponse()
            body = json.loads(answer.read())
            shadow.asked[caller] = None
            if answer.status == 200:
                shadow.answered[caller].append(amount)
                if body != sum(shadow.answered[caller]):
                    wrong.append(f"caller {caller}, {number}: {body}")
            elif answer.status == 503 and body["error"]["code"] == "draining":
                return
            elif answer.status != 422 or amount >= 0:
                wrong.append(f"caller {caller}, {number}: {answer.status} {body}")
    except (OSError, json.JSONDecodeError, http.client.HTTPException):
        pass  # killed
    finally:
        connection.close()


def words(folder):
    return (folder / "p.pure", "--store", folder / "store", "--checkpoint-events", "150")


def kill_rounds(folder, rounds, chance):
    shadow = Shadow()
    for number in range(rounds):
        with Server(*words(folder)) as server:
            shadow.compare(server)
            stop, wrong = threading.Event(), []
            threads = [threading.Thread(target=call_on, args=(server, shadow, c, chance.random(), stop, wrong))
                       for c in range(CALLERS)]
            for t in threads:
                t.start()
            if number % 5 == 4:  # a load in the middle of it
                rows = "".join(f"{CALLERS + 1},{shadow.loaded + i},0,x\n" for i in range(10))
                if server.load("entries", "caller,number,amount,note\n" + rows).status == 200:
                    shadow.loaded += 10
            time.sleep(chance.uniform(0.005, 0.3))
            if number % 7 == 6:
                assert server.stop() == 0
            else:
                server.kill()
            stop.set()
            for t in threads:
                t.join()
            assert not wrong, wrong
        if number % 10 == 9 or number == rounds - 1:
            status, said = verify(folder / "store")
            assert status == 0, said
    events = sum(map(len, shadow.answered.values()))
    with Server(*words(folder)) as server:
        shadow.compare(server)
        assert server.stop() == 0
    print(f"{rounds} rounds, {events} events answered, none lost, none by halves; {said.strip()}")
    return shadow


def full_disk(folder):
    """No file may grow past 33 MB: events are refused before they are done, and queries go on."""
    def small_files():
        resource.setrlimit(resource.RLIMIT_FSIZE, (33 << 20, 33 << 20))
    store = folder / "full"
    program = folder / "p.pure"
    kept = refused = 0
    with Server(program, "--store", store, limits=small_files) as server:
        while refused < 50:
            answer = server.call("deposit", [0, kept + 1, 1, f"{kept + 1} " + "x" * 200000])
            if answer.status == 200:
                kept += 1
                assert kept < 1000, "the disk is never full"
            else:
                assert (answer.status, answer.code) == (507, "no_space"), answer.body
                refused += 1
        assert server.call("size").json == kept
        server.kill()
    with Server(program, "--store", store) as server:
        assert server.call("size").json == kept
        assert server.call("deposit", [0, kept + 1, 1, "x"]).status == 200
        assert server.stop() == 0
    status, said = verify(store)
    assert status == 0, said
    print(f"full disk: {kept} kept, {refused} refused, nothing lost")


def small_tmpfs(folder):
    """The same with a file system that is full, checkpoints included."""
    mount = folder / "tmpfs"
    mount.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", mount], capture_output=True).returncode:
        print("small file system: skipped, it cannot be mounted here")
        return
    try:
        kept = 0
        with Server(folder / "p.pure", "--store", mount / "s", "--checkpoint-events", "20") as server:
            for _ in range(300):
                answer = server.call("deposit", [0, kept + 1, 1, f"{kept + 1} " + "x" * 200000])
                if answer.status == 200:
                    kept += 1
                else:
                    assert (answer.status, answer.code) == (507, "no_space"), answer.body
            assert server.call("size").json == kept < 300
            server.kill()
        with Server(folder / "p.pure", "--store", mount / "s") as server:
            assert server.call("size").json == kept
            server.kill()
        status, said = verify(mount / "s")
        assert status == 0, said
        print(f"small file system: {kept} kept, nothing lost")
    finally:
        subprocess.run(["umount", mount], check=True)


def contents(folder):
    with Server(folder / "p.pure", "--store", folder / "copy", "--checkpoint-events", "150") as server:
        rows = server.get("/lists/entries?format=csv").body + server.get("/lists/totals?format=csv").body
        server.kill()
        return rows


def damage(path, chance, used):
    """One byte flipped, a sector zeroed, or the file cut; what it was."""
    size = min(used, path.stat().st_size)
    kind = chance.randrange(6)
    at = chance.randrange(size)
    with open(path, "r+b") as f:
        if kind == 5:
            f.truncate(at)
            return f"{path.name} cut to {at}"
        if kind == 4:
            f.seek(at // 512 * 512)
            f.write(bytes(512))
            return f"{path.name}: sector at {at // 512 * 512} zeroed"
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1 << chance.randrange(8)]))
        return f"{path.name}: a bit at {at} flipped"


def flips(folder, count, chance):
    """The store as the rounds left it, damaged anew each time."""
    store, copy = folder / "store", folder / "copy"
    with Server(*words(folder)) as server:  # a tail of log after the newest checkpoint
        for i in range(100):
            assert server.call("deposit", [CALLERS + 2, i, 1, "tail"]).status == 200
        used = server.get("/stats").json["store"]["log_bytes"]
        server.kill()
    shutil.copytree(store, copy)
    want = contents(folder)
    refused = harmless = 0
    for _ in range(count):
        shutil.rmtree(copy)
        shutil.copytree(store, copy)
        files = sorted(p for p in copy.iterdir() if p.name != "lock.mdb")
        what = damage(chance.choice(files), chance, used)
        status, said = verify(copy)
        try:
            got = contents(folder)
        except RuntimeError as e:
            assert " ended with 4:" in str(e), f"{what}: {e}"
            assert len(str(e)) > 60, f"{what}: {e}"
            refused += 1
            continue
        assert got == want, f"{what}: another answer"
        assert status in (0, 4), f"{what}: {said}"
        harmless += 1
    print(f"{count} damages: {refused} refused, {harmless} without harm, no other answer")
    assert refused


def main(argv=None):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--flips", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    chance = random.Random(options.seed)
    with Folder() as folder:
        (folder / "p.pure").write_text(PROGRAM)
        kill_rounds(folder, options.rounds, chance)
        full_disk(folder)
        if os.geteuid() == 0:
            small_tmpfs(folder)
        flips(folder, options.flips, chance)


if __name__ == "__main__":
    main()

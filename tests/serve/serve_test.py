#!/usr/bin/env python3
"""pure-serve: calls, lists, limits, statuses, statistics, stopping."""
import csv
import io
import json
import subprocess
import threading
import time
import unittest

from server import EXAMPLES, PURE_RUN, PURE_SERVE, Folder, Server, wait_until

PROGRAM = """
list t (k: int, r: real, b: bool, s: text, d: date) key (k)
list log (x: int)
query echo(i: int, r: real, b: bool, s: text, d: date): (i: int, r: real, b: bool, s: text, d: date) {
  emit (i, r, b, s, d)
}
query nothing_there(): (k: int) { for x in t { if x.k < 0 { emit (x.k) } } }
query one(): int { return 1 }
query divide(a: int, b: int): int { return a / b }
query many(n: int): (i: int, s: text) { for i in 1..n { emit (i, "row " + text(i)) } }
query spin(): int {
  var i = 0
  while true { i += 1
    if i > 1000000 { i = 0 } }
  return i
}
query size(): int { return count(log) }
event keep(k: int, s: text) { put t (k, 1.5, true, s, date(1998, 9, 2)) }
event add_one(x: int): int {
  add log (x)
  return count(log)
}
event half(x: int) {
  add log (x)
  fault "half way"
}
event all_of_it(): (x: int) { return log }
event endless() {
  var i = 0
  while true { i += 1
    if i > 1000000 { i = 0 } }
}
event slow(rounds: int) {
  var i = 0
  while i < rounds {
    i += 1
    if i % 7 = 8 { i = 0 }
  }
  add log (i)
}
"""


class Calls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        program = cls.folder / "p.pure"
        program.write_text(PROGRAM)
        cls.server = Server(program, "--max-answer", "1M", "--threads", "4", "--queue", "64")

    @classmethod
    def tearDownClass(cls):
        status = cls.server.stop()
        cls.server.__exit__()
        cls.folder.__exit__()
        assert status == 0, status

    def test_values_go_there_and_back(self):
        values = {"i": -2**63, "r": 0.1, "b": True, "s": 'quote " and \\ and \u00e9 \U0001f600', "d": "1998-09-02"}
        answer = self.server.call("echo", values)
        self.assertEqual(answer.status, 200, answer.body)
        self.assertEqual(answer.json, [values])
        self.assertEqual(self.server.call("echo", list(values.values())).json, [values])
        text = self.server.call("echo", values, "?format=csv").body.decode()
        self.assertEqual(list(csv.reader(io.StringIO(text)))[0], ["i", "r", "b", "s", "d"])
        self.assertEqual(self.server.call("echo", {**values, "r": "nan"}).json[0]["r"], "nan")
        self.assertEqual(self.server.call("echo", {**values, "r": 3}).json[0]["r"], 3.0)

    def test_kinds_of_answers(self):
        self.assertEqual(self.server.call("one").json, 1)
        self.assertEqual(self.server.call("nothing_there").json, [])
        self.assertEqual(self.server.call("keep", [1, "x"]).json, None)
        answer = self.server.call("one", Accept="text/csv")
        self.assertEqual((answer.headers["Content-Type"], answer.body), ("text/csv; charset=utf-8", b"1\n"))
        self.assertEqual(self.server.request("POST", "/call/one", None, {"Content-Length": "0"}).json, 1)
        self.assertGreater(int(answer.headers["Pure-Work"]), 0)

    def test_long_answers_are_streamed(self):
        rows = self.server.call("many", [200000])
        self.assertEqual(rows.headers["Transfer-Encoding"], "chunked")
        self.assertEqual(rows.headers["Pure-Rows"], "200000")
        self.assertEqual(rows.json, [{"i": i, "s": f"row {i}"} for i in range(1, 200001)])
        text = self.server.call("many", [200000], "?format=csv").body.decode().splitlines()
        self.assertEqual((len(text), text[0], text[-1]), (200001, "i,s", "200000,row 200000"))
        self.assertEqual(len(self.server.call("many", [200000], "?rows=7").json), 7)

    def test_faults_leave_no_trace(self):
        before = self.server.call("size").json
        answer = self.server.call("half", [1])
        self.assertEqual((answer.status, answer.code), (422, "fault"))
        error = answer.json["error"]
        self.assertEqual((error["fault"], error["message"]), ("raised", "half way"))
        self.assertGreater(error["line"], 0)
        self.assertEqual(self.server.call("size").json, before)
        self.assertEqual(self.server.call("divide", [1, 0]).json["error"]["message"], "1 / 0")

    def test_queries_see_what_was_answered(self):
        """Each after each, from several callers at once."""
        failed = []

        def caller(number):
            connection = self.server.connect()
            for i in range(50):
                connection.request("POST", "/call/add_one", json.dumps([number]), {"Content-Type": "application/json"})
                n = json.loads(connection.getresponse().read())
                connection.request("POST", "/call/size", "[]", {"Content-Type": "application/json"})
                if json.loads(connection.getresponse().read()) < n:
                    failed.append((number, i))
            connection.close()
        threads = [threading.Thread(target=caller, args=(i,)) for i in range(8)]
        before = self.server.call("size").json
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])
        self.assertEqual(self.server.call("size").json, before + 400)

    def test_limits_by_header(self):
        answer = self.server.call("spin", Pure_Limit_Work="100000")
        self.assertEqual((answer.status, answer.json["error"]["fault"]), (422, "work exhausted"))
        answer = self.server.call("spin", Pure_Limit_Time="200")
        self.assertEqual((answer.status, answer.code), (504, "time_limit"))
        answer = self.server.call("many", [100000], Pure_Limit_Memory="10000")
        self.assertEqual(answer.json["error"]["fault"], "memory exhausted")
        answer = self.server.call("one", Pure_Limit_Work="many")
        self.assertEqual((answer.status, answer.code), (400, "bad_request"))

    def test_a_caller_who_goes_cancels(self):
        cancelled = self.stats()["counts"]["cancelled"]
        for _ in range(4):  # all workers
            s = self.server.socket()
            s.sendall(b"POST /call/spin HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                      b"Content-Length: 2\r\n\r\n[]")
            time.sleep(0.05)
            s.close()
        self.assertEqual(self.server.call("one").json, 1)
        self.assertTrue(wait_until(lambda: self.stats()["counts"]["cancelled"] >= cancelled + 4))

    def stats(self):
        return self.server.get("/stats").json

    def test_pipelined(self):
        s = self.server.socket()
        head = (b"POST /call/divide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: %d\r\n\r\n%s")
        bodies = [b"[%d, 1]" % i for i in range(100)]
        s.sendall(b"".join(head % (len(b), b) for b in bodies))
        got = b""
        while not got.endswith(b"\n99\n"):
            piece = s.recv(1 << 16)
            self.assertTrue(piece, got)
            got += piece
        s.close()
        answers = [part.split(b"\r\n\r\n", 1)[1].split(b"HTTP/1.1")[0] for part in got.split(b"HTTP/1.1 200")[1:]]
        self.assertEqual([int(a) for a in answers], list(range(100)))

    def test_lists(self):
        self.server.call("keep", [5, "five, or so"])
        row = {"k": 5, "r": 1.5, "b": True, "s": "five, or so", "d": "1998-09-02"}
        self.assertIn(row, self.server.get("/lists/t").json)
        self.assertIn(b'5,1.5,true,"five, or so",1998-09-02\n', self.server.get("/lists/t?format=csv").body)
        answer = self.server.load("t", "k,r,b,s,d\n70,1,true,a,2000-01-01\n71,2,false,b,2000-01-02\n")
        self.assertEqual((answer.status, answer.json), (200, {"rows": 2}))
        again = "s,k,r,b,d\nc,70,1,true,2000-01-01\n"
        answer = self.server.load("t", again)
        self.assertEqual((answer.status, answer.code), (422, "bad_data"))
        self.assertEqual(self.server.load("t", again, "?duplicate=last").status, 200)
        self.assertIn(b"70,1,true,c,2000-01-01\n", self.server.get("/lists/t?format=csv").body.replace(b"1.0", b"1"))
        answer = self.server.load("t", "k,r,b,s,d\n80,1,true,a,2000-01-01\n81,x,false,b,2000-01-02\n")
        self.assertEqual((answer.status, answer.json["error"]["line"]), (422, 3))
        self.assertNotIn(b"80,", self.server.get("/lists/t?format=csv").body)

    def test_answers_of_events_are_bounded(self):
        rows = "x\n" + "".join(f"{i}\n" for i in range(200000))
        self.assertEqual(self.server.load("log", rows).status, 200)
        answer = self.server.call("all_of_it")
        self.assertEqual((answer.status, answer.code), (500, "answer_too_large"))
        self.assertEqual(len(self.server.call("all_of_it", None, "?rows=3").json), 3)

    def test_statuses(self):
        json_type = {"Content-Type": "application/json"}
        for want, code, method, path, body, headers in [
                (404, "not_found", "GET", "/nowhere", None, {}),
                (404, "not_found", "POST", "/call/nobody", "[]", json_type),
                (404, "not_found", "GET", "/lists/nobody", None, {}),
                (405, "bad_method", "GET", "/call/one", None, {}),
                (405, "bad_method", "DELETE", "/lists/t", None, {}),
                (405, "bad_method", "POST", "/stats", "", {}),
                (415, "bad_type", "POST", "/call/one", "[]", {"Content-Type": "text/plain"}),
                (415, "bad_type", "POST", "/lists/t", "k\n1\n", json_type),
                (406, "not_acceptable", "POST", "/call/one", "[]", {**json_type, "Accept": "image/png"}),
                (400, "bad_request", "POST", "/call/one?format=xml", "[]", json_type),
                (400, "bad_request", "GET", "/lists/t?rows=-1", None, {}),
                (400, "bad_json", "POST", "/call/one", "{", json_type),
                (400, "bad_argument", "POST", "/call/one", "[1]", json_type),
                (403, "foreign_origin", "POST", "/call/one", "[]", {**json_type, "Origin": "http://example.org"}),
                (403, "foreign_origin", "POST", "/call/one", "[]", {**json_type, "Origin": "null"}),
                (403, "foreign_host", "POST", "/call/one", "[]", {**json_type, "Host": "example.org"}),
                (422, "bad_data", "POST", "/lists/t", "", {"Content-Type": "text/csv"}),
        ]:
            with self.subTest(path=path, body=body):
                answer = self.server.request(method, path, body, headers)
                self.assertEqual((answer.status, answer.code), (want, code), answer.body)
                self.assertTrue(answer.json["error"]["message"])
        self.assertEqual(self.server.request("GET", "/call/one").headers["Allow"], "POST")
        same = {**json_type, "Origin": f"http://127.0.0.1:{self.server.port}"}
        self.assertEqual(self.server.request("POST", "/call/one", "[]", same).status, 200)

    def test_statistics(self):
        self.server.call("one")
        stats = self.stats()
        self.assertGreater(stats["counts"]["requests"], 0)
        self.assertEqual([x["name"] for x in stats["lists"]], ["t", "log"])
        self.assertIsNone(stats["store"])
        calls = {f["name"]: f["calls"] for f in stats["functions"]}
        self.assertGreater(calls["one"], 0)
        program = self.server.get("/program").json
        echo = next(f for f in program["functions"] if f["name"] == "echo")
        self.assertEqual([p["type"] for p in echo["parameters"]], ["int", "real", "bool", "text", "date"])
        self.assertEqual(program["lists"][0]["key"], [0])

    def test_metrics(self):
        """Every line is of the form that Prometheus reads; histograms add up."""
        self.server.call("one")
        answer = self.server.get("/metrics")
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain; version=0.0.4"))
        values, typed = {}, set()
        for line in answer.body.decode().splitlines():
            if line.startswith("#"):
                if line.startswith("# TYPE "):
                    typed.add(line.split()[2])
                continue
            name, value = line.rsplit(" ", 1)
            self.assertRegex(name, r'^pure_[a-z_]+(\{[a-z]+="[^"]+"\})?$')
            values[name] = float(value)
        for name in values:
            base = name.split("{")[0]
            self.assertTrue(base in typed or base.rsplit("_", 1)[0] in typed, name)
        self.assertEqual(values['pure_request_seconds_bucket{le="+Inf"}'], values["pure_request_seconds_count"])
        self.assertGreaterEqual(values['pure_calls_total{function="one"}'], 1)

    def test_health(self):
        self.assertEqual(self.server.get("/healthz").json, {"status": "ok"})
        self.assertEqual(self.server.request("HEAD", "/healthz").body, b"")


class Alone(unittest.TestCase):
    def test_queries_do_not_wait_for_events(self):
        with Folder() as folder:
            (folder / "p.pure").write_text(PROGRAM)
            with Server(folder / "p.pure", "--limit-time", "200000", "--limit-work", str(10**18)) as server:
                s = server.socket()
                s.sendall(b"POST /call/endless HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                          b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n[]")
                self.assertTrue(wait_until(lambda: b"pure_waiting_events 1\n" in server.get("/metrics").body))
                for _ in range(20):
                    self.assertEqual(server.call("one").json, 1)
                self.assertIn(b"pure_waiting_events 1\n", server.get("/metrics").body)
                server.kill()
                s.close()


class Starting(unittest.TestCase):
    def refuse(self, status, part, *words):
        run = subprocess.run([PURE_SERVE, *map(str, words)], capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, status, run.stderr)
        self.assertIn(part, run.stderr)

    def test_command_line(self):
        bank = EXAMPLES / "bank.pure"
        self.refuse(2, "a program is expected")
        self.refuse(2, "unknown option --lisen", bank, "--lisen", "127.0.0.1:0")
        self.refuse(2, "expected ADDRESS:PORT", bank, "--listen", "8080")
        self.refuse(2, "it needs a --token-file", bank, "--listen", "0.0.0.0:0")
        self.refuse(4, "cannot be read", "/nowhere.pure")
        self.refuse(4, "there is no list", bank, "--load", f"people={EXAMPLES / 'bank.csv'}")
        self.refuse(4, "there is no store in it", "--verify", EXAMPLES)
        helped = subprocess.run([PURE_SERVE, "--help"], capture_output=True, text=True)
        self.assertEqual(helped.returncode, 0)
        self.assertLess(max(map(len, helped.stdout.splitlines())), 92)

    def test_token(self):
        with Folder() as folder:
            (folder / "short").write_text("abc\n")
            self.refuse(2, "16 characters", EXAMPLES / "bank.pure", "--token-file", folder / "short")
            (folder / "token").write_text("0123456789abcdef\n")
            with Server(EXAMPLES / "bank.pure", "--token-file", folder / "token") as server:
                for token in (None, "Bearer wrong", "Bearer 0123456789abcdeg", "Bearer 0123456789abcdef0",
                              "Basic 0123456789abcdef", "Bearer "):
                    answer = server.call("in_credit", **({"Authorization": token} if token else {}))
                    self.assertEqual((answer.status, answer.code), (401, "unauthorized"), token)
                    self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
                answer = server.call("in_credit", Authorization="Bearer 0123456789abcdef", Host="example.org")
                self.assertEqual((answer.status, answer.json), (200, 0))
                self.assertEqual(server.get("/healthz").status, 200)
                self.assertEqual(server.get("/").status, 200)
                self.assertEqual(server.get("/metrics").status, 401)
                self.assertEqual(server.stop(), 0)

    def test_stopping_answers_what_was_let_in(self):
        with Folder() as folder:
            program = folder / "p.pure"
            program.write_text(PROGRAM)
            with Server(program, "--limit-time", "300000") as server:
                answers = []

                def caller(name, arguments):
                    connection = server.connect()
                    connection.request("POST", f"/call/{name}", arguments, {"Content-Type": "application/json"})
                    answers.append((name, connection.getresponse().status))
                    connection.close()
                threads = [threading.Thread(target=caller, args=c)
                           for c in [("slow", "[20000000]")] * 3 + [("many", "[300000]")] * 2]
                for t in threads:
                    t.start()
                polls = 0
                begun = 0
                while begun < 5 + polls:  # a poll is a request too
                    polls += 1
                    begun = float(server.get("/metrics").body.split(b"\npure_requests_total ")[1].split()[0])
                    time.sleep(0.02)
                time.sleep(0.2)
                self.assertEqual(server.stop(), 0)
                for t in threads:
                    t.join()
                self.assertEqual(sorted(answers), [("many", 200)] * 2 + [("slow", 200)] * 3)
                self.assertTrue(server.lines("stop"))

    def test_full_queue(self):
        with Folder() as folder:
            program = folder / "p.pure"
            program.write_text(PROGRAM)
            with Server(program, "--queue", "4", "--limit-time", "1500") as server:
                sockets = []
                request = (b"POST /call/endless HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
                           b"Content-Length: 2\r\n\r\n[]")
                for _ in range(12):
                    sockets.append(server.socket())
                    sockets[-1].sendall(request)
                heads = sorted(s.recv(4096).split(b"\r\n")[0] for s in sockets)
                busy = [h for h in heads if b" 503 " in h]
                self.assertEqual(len(busy), 8, heads)
                for s in sockets:
                    s.close()
                self.assertEqual(server.call("one").json, 1)

    def test_same_answers_as_pure_run(self):
        rows = []
        for level in ("0", "3"):
            with Server(EXAMPLES / "bank.pure", "--load", f"accounts={EXAMPLES / 'bank.csv'}", "--jit", level) as server:
                server.call("transfer", [4, 1, 25])
                rows.append((server.call("ranks", None, "?format=csv").body.decode(),
                             server.call("ranks").headers["Pure-Work"]))
        ran = subprocess.run([PURE_RUN, EXAMPLES / "bank.pure", "--load", f"accounts={EXAMPLES / 'bank.csv'}",
                              "--work", "transfer", "4", "1", "25", "+", "ranks"], capture_output=True, text=True)
        self.assertEqual(rows[0], rows[1])
        self.assertTrue(ran.stdout.endswith(rows[0][0]))
        self.assertIn(f"work ranks {rows[0][1]}\n", ran.stderr)


class Dump(unittest.TestCase):
    def test_what_is_compiled_is_shown(self):
        with Folder() as folder:
            program = folder / "p.pure"
            program.write_text(PROGRAM)
            hot = {"PURE_JIT_THRESHOLD": "1000", "PURE_JIT_SYNC": "1"}
            with Server(program, "--jit", "3", "--dump", "ir", "--dump", "asm", environment=hot) as server:
                for _ in range(5):
                    self.assertEqual(server.call("many", [20000]).status, 200)
                if server.get("/stats").json["jit"]["compiled"] == 0:
                    self.skipTest("nothing is compiled in this build")
                self.assertEqual(server.stop(), 0)
                said = server.said()
                self.assertIn("---- ir of ", said)
                self.assertIn("---- asm of ", said)
                self.assertNotIn("---- llvm of ", said)

    def test_usage(self):
        run = subprocess.run([PURE_SERVE, "p.pure", "--dump", "c"], capture_output=True, text=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--dump c: expected one of ir, llvm, asm", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)

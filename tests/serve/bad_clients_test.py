#!/usr/bin/env python3
"""Callers who are slow, wrong, many or gone: each gets its documented status, memory stays bounded, and
others are served meanwhile."""
import json
import os
import resource
import socket
import threading
import time
import unittest

from server import EXAMPLES, Folder, Server, wait_until

TOKEN = "0123456789abcdef"
MEGABYTE = 1 << 20
# A sanitizer keeps what was freed.
MOST = 128 * MEGABYTE if not os.environ.get("PURE_SANITIZE") else 1024 * MEGABYTE


def head(method, path, *lines, length=None):
    sent = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {TOKEN}",
            "Content-Type: application/json", *lines]
    if length is not None:
        sent.append(f"Content-Length: {length}")
    return ("\r\n".join(sent) + "\r\n\r\n").encode()


def read_all(s):
    got = b""
    try:
        while True:
            piece = s.recv(1 << 16)
            if not piece:
                break
            got += piece
    except ConnectionResetError:
        pass
    return got


class BadClients(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Folder()
        (cls.folder / "token").write_text(TOKEN)
        cls.server = Server(EXAMPLES / "bank.pure", "--load", f"accounts={EXAMPLES / 'bank.csv'}",
                            "--token-file", cls.folder / "token", "--request-time", "1500",
                            "--max-load", "4M", "--connections", "1200")
        cls.others = threading.Thread(target=cls.serve_others, daemon=True)
        cls.over = threading.Event()
        cls.served, cls.wrong = 0, []
        cls.before = cls.server.memory()
        cls.others.start()

    @classmethod
    def tearDownClass(cls):
        cls.over.set()
        cls.others.join()
        grown = cls.server.memory() - cls.before
        assert not cls.wrong, cls.wrong[:3]
        assert cls.served > 3, cls.served
        assert grown < MOST, f"{grown} bytes more than before"
        assert cls.server.stop() == 0
        cls.server.__exit__()
        cls.folder.__exit__()

    @classmethod
    def serve_others(cls):
        """A good caller, all the while."""
        while not cls.over.is_set():
            connection = cls.server.connect()
            connection.request("POST", "/call/in_credit", "[]",
                               {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"})
            answer = connection.getresponse()
            body = answer.read()
            if answer.status != 200 or json.loads(body) != 5:
                cls.wrong.append((answer.status, body))
            cls.served += 1
            connection.close()
            time.sleep(0.02)

    def send(self, sent):
        """One request and nothing more; (status, error code)."""
        with self.server.socket() as s:
            s.sendall(sent)
            s.shutdown(socket.SHUT_WR)
            got = read_all(s)
        self.assertTrue(got.startswith(b"HTTP/1.1 "), got[:100])
        status = int(got.split()[1])
        body = got.split(b"\r\n\r\n", 1)[1]
        return status, json.loads(body)["error"]["code"] if body.startswith(b"{") else None

    def body(self, path, body, *lines):
        return self.send(head("POST", path, *lines, length=len(body)) + body)

    def test_wrong_bodies(self):
        for body, code in [(b"{", "bad_json"), (b"[1, 2, 3", "bad_json"), (b"nothing", "bad_json"), (b'"x"', "bad_json"),
                           (b"[" * 100000, "bad_json"), (b'{"a":' * 50000, "bad_json"),
                           (b'{"from": 1, "from": 1, "to": 2, "amount": 1}', "bad_json"),
                           (b'{"from": 1, "to": 2, "amount": "\xff\xfe"}', "bad_json"),
                           (b'{"from": 1, "to": 2, "amount": 1, "f\xc3\xbcr": 2}', "bad_argument"),
                           (b'{"from": 1, "to": 2}', "bad_argument"), (b"[1, 2]", "bad_argument"),
                           (b'[1, 2, "3"]', "bad_argument"), (b"[1, 2, 3.5]", "bad_argument"),
                           (b"[1, 2, null]", "bad_argument"), (b"[1, 2, true]", "bad_argument"),
                           (b"[1, 2, [3]]", "bad_argument"), (b"[1, 2, 99999999999999999999]", "bad_json"),
                           (b'[1, 2, "\\u0000"]', "bad_json"), (b'[1, 2, "\\ud800"]', "bad_json"),
                           (b"[1, 2, 3] [4]", "bad_json")]:
            with self.subTest(body=body[:40]):
                self.assertEqual(self.body("/call/transfer", body), (400, code))

    def test_wrong_tokens(self):
        for line in ("", f"Authorization: Bearer {TOKEN}x", "Authorization: Bearer \x80\x81", "Authorization: x",
                     f"Authorization: bearer{TOKEN}"):
            sent = f"POST /call/in_credit HTTP/1.1\r\nHost: x\r\n{line}\r\nContent-Length: 0\r\n\r\n" if line else \
                "POST /call/in_credit HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"
            with self.subTest(line=line):
                self.assertEqual(self.send(sent.encode("latin-1")), (401, "unauthorized"))

    def test_no_http(self):
        for sent in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"GET\r\n\r\n", b"\0" * 100, b"GET / FTP/9\r\n\r\n",
                     b"POST /call/ranks HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
                     b"POST /call/ranks HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n"):
            with self.subTest(sent=sent), self.server.socket() as s:
                s.sendall(sent)
                s.shutdown(socket.SHUT_WR)
                got = read_all(s)
                self.assertTrue(got == b"" or got.split()[1][:1] in (b"4", b"5"), got[:80])

    def test_large_heads(self):
        with self.server.socket() as s:
            try:
                s.sendall(head("GET", "/stats", "X-Large: " + "x" * (1 << 17)))
            except (BrokenPipeError, ConnectionResetError):
                pass
            got = read_all(s)
        self.assertTrue(got == b"" or got.split()[1] in (b"431", b"413"), got[:80])
        self.assertIn(self.send(head("GET", "/" + "x" * 8000))[0], (404, 414))

    def test_large_bodies(self):
        """Declared or not; the caller sends all of it before it looks."""
        piece = b"x" * MEGABYTE
        for lines, start, end in [((f"Content-Length: {100 * MEGABYTE}",), b"", b""),
                                  (("Transfer-Encoding: chunked",), b"100000\r\n", b"\r\n")]:
            with self.subTest(lines=lines), self.server.socket() as s:
                s.sendall(head("POST", "/call/in_credit", *lines))
                try:
                    for _ in range(100):
                        s.sendall(start + piece + end)
                    if start:
                        s.sendall(b"0\r\n\r\n")
                except (BrokenPipeError, ConnectionResetError):
                    continue  # too slow here: the time for a request was over
                s.shutdown(socket.SHUT_WR)
                got = read_all(s)
                self.assertTrue(got == b"" or got.split()[1] == b"413", got[:80])
        self.assertLess(self.server.memory() - self.before, MOST)

    def test_large_body_that_asks_first(self):
        with self.server.socket() as s:
            s.sendall(head("POST", "/call/in_credit", "Expect: 100-continue", length=100 * MEGABYTE))
            self.assertTrue(s.recv(4096).startswith(b"HTTP/1.1 413 "))

    def test_slow_head_and_slow_body(self):
        """A byte now and then: closed when the time is over, whatever comes."""
        closed = []

        def dribble(start, rest):
            s = self.server.socket()
            try:
                s.sendall(start)
                for byte in rest:
                    time.sleep(0.1)
                    s.sendall(bytes([byte]))
                closed.append(False)
            except (BrokenPipeError, ConnectionResetError):
                closed.append(True)
            s.close()
        threads = [threading.Thread(target=dribble, args=a)
                   for a in [(b"GET /stats HTTP/1.1\r\n", b"X-Slow: " + b"x" * 3000),
                             (head("POST", "/call/in_credit", length=3000), b"[" + b" " * 2999)]]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(closed, [True, True])

    def test_half_closed(self):
        with self.server.socket() as s:
            s.sendall(head("POST", "/call/in_credit", length=2) + b"[]")
            s.shutdown(socket.SHUT_WR)
            self.assertTrue(read_all(s).startswith(b"HTTP/1.1 200 "))
        with self.server.socket() as s:
            s.sendall(head("POST", "/call/in_credit", length=100) + b"[")
            s.shutdown(socket.SHUT_WR)
            self.assertIn(read_all(s)[:12], (b"", b"HTTP/1.1 400"))

    def test_gone_before_the_answer(self):
        for _ in range(50):
            s = self.server.socket()
            s.sendall(head("POST", "/call/ranks", length=2) + b"[]")
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            s.close()  # reset

    def test_a_thousand_idle(self):
        idle = [self.server.socket() for _ in range(1000)]
        self.assertLess(self.server.memory() - self.before, MOST)
        answer = self.server.get("/stats", Authorization=f"Bearer {TOKEN}")
        self.assertEqual(answer.status, 200)
        for s in idle:  # the server closes them when their time is over
            self.assertEqual(read_all(s), b"")
            s.close()

    def test_more_than_are_let_in(self):
        """Those beyond the limit get no answer; it goes on once others have gone."""
        many = []
        for _ in range(1300):
            many.append(self.server.socket())
        for s in many:
            s.close()
        self.assertTrue(wait_until(lambda: self.health() == 200))

    def health(self):
        try:
            return self.server.get("/healthz").status
        except OSError:
            return 0


if __name__ == "__main__":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""host/python/pure.py: values, columns, results, faults, functions, threads, Arrow."""
import array
import datetime
import gc
import io
import os
import pathlib
import signal
import sys
import tempfile
import threading
import time
import unittest

if os.environ.get("PURE_SANITIZE"):
    sys.exit(77) # the sanitizer would have to be loaded before Python
SRC = pathlib.Path(os.environ["SRC"])
os.environ["PURE_LIBRARY"] = os.path.join(os.environ["BUILD"], "host/libpure.so")
sys.path.insert(0, str(SRC / "host/python"))
import pure # pylint: disable=wrong-import-position

TEXT = """
list thing (id: int, name: text, born: date, ok: bool, size: real) key (id)
list log (line: text)
pure extern fn half(x: real): real
pure extern fn flip(b: bool): bool
pure extern fn size_of(t: text): int
pure extern fn later(d: date): date
extern fn note(t: text, n: int)
query all: (id: int, name: text, born: date, ok: bool, size: real) { return thing }
query ids: (id: int) { for t in thing { emit (t.id) } }
query echo_int(x: int): int { return x }
query echo_real(x: real): real { return x }
query echo_bool(x: bool): bool { return x }
query echo_text(x: text): text { return x }
query echo_date(x: date): date { return x }
query divide(a: int, b: int): int { return a / b }
query halved(x: real): real { return half(x) }
query flipped(b: bool): bool { return flip(b) }
query sized(t: text): int { return size_of(t) }
query after(d: date): date { return later(d) }
query squares(n: int): (i: int, square: int) { for i in 1..n { emit (i, i * i) } }
query lines: int { return count(log) }
query spin: int {
  var i = 0
  while true { i = (i + 1) % 10 }
  return i
}
event say(t: text): int {
  note(t, length(t))
  add log (t)
  return count(log)
}
"""
DAY = datetime.date(2024, 2, 29)


def some_store(**options):
    store = pure.compile(TEXT, "t.pure", **options).store()
    store.fill("thing", {"id": [3, 1, 2], "name": ["c", "å", ""], "born": [DAY, DAY, DAY],
                         "ok": [True, False, True], "size": [0.5, 1.5, -2]})
    return store


class Values(unittest.TestCase):
    def test_echo(self):
        store = some_store()
        for name, value in [("int", -(1 << 63)), ("real", 0.1), ("bool", True), ("text", "naïve"),
                            ("text", ""), ("date", DAY)]:
            answer = store.call("echo_" + name, value)
            self.assertEqual(answer, value)
            self.assertIs(type(answer), type(value))
        with self.assertRaises(OverflowError):
            store.call("echo_int", 1 << 63)
        with self.assertRaises(TypeError):
            store.call("echo_int", None)

    def test_wrong_calls(self):
        store = some_store()
        for arguments, status in [(("echo_int", 1.5), "bad argument"), (("echo_int",), "bad argument"),
                                  (("echo_itn", 1), "not found")]:
            with self.assertRaises(pure.Error) as caught:
                store.call(*arguments)
            self.assertEqual(caught.exception.status, status)

    def test_program_errors(self):
        with self.assertRaises(pure.Error) as caught:
            pure.compile("query f: int { return x }", "bad.pure")
        self.assertEqual(caught.exception.status, "bad program")
        self.assertEqual((caught.exception.file, caught.exception.line), ("bad.pure", 1))

    def test_all_errors_of_a_program(self):
        with self.assertRaises(pure.Error) as caught:
            pure.compile("query f: int { return x }\nquery g(p: int) { p = 1 }", "bad.pure")
        errors = caught.exception.errors
        self.assertEqual([(e.line, e.column) for e in errors], [(1, 23), (2, 19)])
        self.assertEqual(errors[1].hint, "copy it: `var x = p`")
        self.assertEqual(errors[0].message, caught.exception.message)
        self.assertIn("                    ^\n", str(caught.exception))
        for error in errors:
            self.assertIn(f"bad.pure:{error.line}:{error.column}: {error.message}", str(caught.exception))
        with self.assertRaises(pure.Error) as caught:
            pure.compile("query f(a: int): int { return a }").store().call("f")
        self.assertEqual(caught.exception.errors, ())

    def test_wrong_arguments(self):
        """Of the functions of the module: what they say, and that C never sees a name cut off."""
        program = pure.compile(TEXT)
        store = program.store()
        for call, kind, text in [
                (lambda: pure.compile(b""), TypeError, "text: a str is expected, not b''"),
                (lambda: pure.compile("", "a\0b"), ValueError, "no NUL"),
                (lambda: store.call(None), TypeError, "event: a str is expected, not None"),
                (lambda: store.call("lines\0x"), ValueError, "no NUL"),
                (lambda: store.call("log"), pure.Error, "`log` is a list"),
                (lambda: store.fill("log\0x", {"line": []}), ValueError, "no NUL"),
                (lambda: store.read("log\0x", io.BytesIO(b"line\n")), ValueError, "no NUL"),
                (lambda: store.save("a\0b"), ValueError, "no NUL"),
                (lambda: store.load("a\0b"), ValueError, "no NUL"),
                (lambda: program.bind_library("a\0b"), ValueError, "no NUL"),
                (lambda: program.bind("half(real): real\0", abs), ValueError, "no NUL"),
                (lambda: program.bind("", abs), pure.Error, "no extern fn"),
                (lambda: store.limit(work=-1), ValueError, "work: a number from 0 .* not -1"),
                (lambda: store.limit(depth=1 << 32), ValueError, "depth: .* not 4294967296"),
                (lambda: store.limit(memory=0.5), TypeError, "memory: an int is expected, not 0.5"),
                (lambda: pure.Engine(threads=-1), ValueError, "threads"),
                (lambda: pure.Engine(jit="x"), ValueError, "jit: one of 'auto', 0, 1, 2, 3 is expected"),
                (lambda: pure.Engine(jit=[]), ValueError, "jit: one of"),
                (lambda: store.read("log", io.BytesIO(), format="xml"), ValueError, "'csv', 'tsv'"),
                (lambda: store.read("log", io.BytesIO(), duplicates="x"), ValueError, "'first', 'last'"),
                (lambda: store.fill("log", {"line": []}, duplicates="x"), ValueError, "'first', 'last'"),
                (lambda: store.read("log", io.StringIO("line\nx\n")), TypeError, "binary mode"),
                (lambda: store.snapshot().call("say", "x"), pure.Error, "^`say` is an event; a snapshot")]:
            with self.assertRaisesRegex(kind, text):
                call()
        self.assertEqual(store.call("lines"), 0)

    def test_engine(self):
        engine = pure.Engine(jit=0)
        self.assertEqual(engine.jit, 0)
        self.assertIn("interpret only", engine.jit_reason)
        engine = pure.compile(TEXT).engine
        self.assertEqual(engine.jit == 0, engine.jit_reason is not None)

    def test_faults(self):
        store = some_store()
        with self.assertRaises(pure.Fault) as caught:
            store.call("divide", 1, 0)
        self.assertEqual(caught.exception.fault, "division by zero")
        self.assertEqual(caught.exception.file, "t.pure")
        self.assertEqual(store.call("divide", 7, 2), 3)

    def test_declarations(self):
        program = pure.compile(TEXT)
        self.assertEqual(program.lists["log"], {"line": "text"})
        self.assertEqual(program.functions["divide"], {"a": "int", "b": "int"})
        self.assertEqual(pure.version().count("."), 2)


class Columns(unittest.TestCase):
    def test_rows_and_columns(self):
        result = some_store().call("all")
        self.assertEqual(len(result), 3)
        self.assertEqual(result.rows()[0], (1, "å", DAY, False, 1.5))
        self.assertEqual(result.rows()[2], (3, "c", DAY, True, 0.5)) # twice: it begins anew
        self.assertEqual(result.dicts()[1]["size"], -2.0)
        self.assertEqual(result.column("id").tolist(), [1, 2, 3])
        self.assertEqual(result.column("size").tolist(), [1.5, -2.0, 0.5])
        self.assertEqual(result.column("ok").tolist(), [0, 1, 1])
        self.assertEqual(result.column("name"), ["å", "", "c"])
        self.assertEqual(result.column("born").tolist(), [DAY.toordinal() - 1] * 3)
        self.assertTrue(result.column("id").readonly)

    def test_views_keep_what_they_show(self):
        store = some_store()
        view = store.call("squares", 50000).column("square")
        for n in (1, 100000):
            store.call("squares", n).rows()
        gc.collect()
        self.assertEqual(sum(view), sum(i * i for i in range(1, 50001)))
        result = store.call("squares", 10)
        view = result.column("i")
        with self.assertRaises(BufferError):
            result.close()
        del view
        result.close()
        with self.assertRaises(pure.Error):
            len(result)

    def test_empty(self):
        result = pure.compile(TEXT).store().call("all")
        self.assertEqual(len(result), 0)
        self.assertEqual(result.column("id").tolist(), [])
        self.assertEqual(result.column("name"), [])

    def test_buffers(self):
        store = pure.compile(TEXT).store()
        n = 1000
        rows = store.fill("thing", {"id": array.array("q", range(n)), "name": ["x"] * n,
                                    "born": array.array("i", [DAY.toordinal() - 1] * n),
                                    "ok": bytes(n), "size": memoryview(array.array("d", [1.5] * n))})
        self.assertEqual(rows, n)
        self.assertEqual(store.call("all").column("size").tolist(), [1.5] * n)
        self.assertEqual(sum(store.call("ids").column("id")), n * (n - 1) // 2)
        try:
            import numpy # pylint: disable=import-outside-toplevel
        except ImportError:
            return
        ids = numpy.arange(n, 2 * n)
        store.fill("thing", {"id": ids, "name": ["y"] * n, "born": [DAY] * n,
                             "ok": numpy.ones(n, bool), "size": numpy.zeros(n)})
        self.assertEqual(numpy.asarray(store.call("ids").column("id")).sum(), 2 * n * (2 * n - 1) // 2)

    def test_bad_fills(self):
        store = some_store()
        good = {"id": [9], "name": ["x"], "born": [DAY], "ok": [True], "size": [1.0]}
        before = store.digest
        for change, kind in [({"id": [1]}, pure.Error), ({"id": [9, 10]}, pure.Error),
                             ({"name": [7]}, TypeError), ({"ok": [2]}, pure.Error),
                             ({"id": ["x"]}, TypeError), ({"more": [1]}, pure.Error)]:
            with self.assertRaises(kind):
                store.fill("thing", good | change)
            self.assertEqual(store.digest, before)
        with self.assertRaises(pure.Error):
            store.fill("thign", good)
        self.assertEqual(store.fill("thing", good | {"id": [1]}, duplicates="last"), 1)

    def test_fills_say_what_is_wrong(self):
        store = some_store()
        good = {"id": [9], "name": ["x"], "born": [DAY], "ok": [True], "size": [1.0]}
        short = dict(good)
        del short["name"], short["size"]
        for columns, kind, text in [
                (short | {"nme": []}, pure.Error, "the columns id, name, born, ok, size: "
                                                  "`name` is missing, `size` is missing, there is no `nme`"),
                (good | {"id": [9, 10]}, pure.Error, "^list `thing` has 2 values for column `id`, 1 for"),
                (good | {"name": [None]}, TypeError, "column `name`, row 0: a str is expected, not None"),
                (good | {"name": "x"}, TypeError, "column `name`: a sequence of values"),
                (good | {"id": 9}, TypeError, "column `id`: a sequence of values is expected, not 9"),
                (good | {"id": [1, "x"]}, TypeError, "column `id`, row 1: an int is expected, not 'x'"),
                (good | {"id": [1, 2**64]}, OverflowError, "column `id`, row 1: 18446744073709551616"),
                (good | {"born": ["x"]}, TypeError, "column `born`, row 0: a date .* not 'x'"),
                ([(1,)], TypeError, "columns: a dict .* not a list")]:
            with self.assertRaisesRegex(kind, text):
                store.fill("thing", columns)
        self.assertEqual(len(store.call("ids")), 3)

    def test_what_does_not_fit_is_refused(self):
        store = some_store()
        good = {"id": [9], "name": ["x"], "born": [DAY], "ok": [True], "size": [1.0]}
        before = store.digest
        for change in ({"id": [2**64 + 5]}, {"id": [-2**63 - 1]}, {"id": array.array("Q", [2**64 - 1])},
                       {"ok": [256]}, {"ok": [257]}, {"born": [2**32 + 7]}):
            with self.assertRaises(OverflowError, msg=change):
                store.fill("thing", good | change)
            self.assertEqual(store.digest, before)

    def test_one_cursor(self):
        result = some_store().call("ids")
        first = iter(result)
        next(first)
        self.assertEqual(len(list(result)), len(result))
        with self.assertRaises(pure.Error) as caught:
            next(first)
        self.assertEqual(caught.exception.status, "stale")
        first = iter(result)
        next(first)
        result.close()
        with self.assertRaises(pure.Error) as caught:
            next(first)
        self.assertEqual(caught.exception.status, "misuse")

    def test_unknown_columns(self):
        with self.assertRaisesRegex(pure.Error, "the result has no column `zz`; it has i, square"):
            some_store().call("squares", 1).column("zz")

    def test_files(self):
        store = pure.compile(TEXT).store()
        self.assertEqual(store.read("log", io.BytesIO(b"line\nhello\nyou\n")), 2)
        with self.assertRaises(pure.Error) as caught:
            store.read("thing", io.BytesIO(b"id,name,born,ok,size\nx,y,2024-01-01,true,1\n"))
        self.assertEqual((caught.exception.status, caught.exception.line), ("bad data", 2))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.snapshot")
            store.save(path)
            other = pure.compile(TEXT).store()
            other.load(path)
            self.assertEqual(other.digest, store.digest)
            source = os.path.join(folder, "t.pure")
            pathlib.Path(source).write_text(TEXT, encoding="utf-8")
            self.assertEqual(pure.load(source).store().call("lines"), 0)

    def test_arrow(self):
        store, other = some_store(), pure.compile(TEXT).store()
        self.assertEqual(other.fill("thing", store.call("all")), 3)
        self.assertEqual(other.digest, store.digest)
        unused = store.call("all").__arrow_c_stream__()
        del unused
        gc.collect()


ECHO = "pure extern fn f(x: int): int\nquery q(n: int): int { return f(n) }"


class Functions(unittest.TestCase):
    def program(self, told):
        program = pure.compile(TEXT, "t.pure")
        program.bind("pure extern fn half(real): real", lambda x: x / 2)
        program.bind("pure flip(bool): bool", lambda b: not b)
        program.bind("pure size_of(text): int", lambda t: 1 // (len(t) - 3))
        program.bind("pure later(date): date", lambda d: d + datetime.timedelta(days=1))
        program.bind("note(text, int)", lambda t, n: told.append((t, n)))
        return program

    def test_calls(self):
        told = []
        store = self.program(told).store()
        gc.collect()
        self.assertEqual(store.call("halved", 5.0), 2.5)
        self.assertIs(store.call("flipped", False), True)
        self.assertEqual(store.call("sized", "four"), 1)
        self.assertEqual(store.call("after", DAY), datetime.date(2024, 3, 1))
        self.assertEqual(store.call("say", "höh"), 1)
        self.assertEqual(told, [("höh", 3)])

    def test_what_they_raise_is_a_fault(self):
        store = self.program([]).store()
        with self.assertRaises(pure.Fault) as caught:
            store.call("sized", "abc")
        self.assertEqual(caught.exception.fault, "host error")
        self.assertIn("ZeroDivisionError", caught.exception.message)
        self.assertEqual(caught.exception.file, "t.pure")

    def test_interrupts_go_on(self):
        def late(_):
            raise KeyboardInterrupt

        def odd(_):
            raise ValueError("bad \ud800")

        for function, kind in ((late, KeyboardInterrupt), (odd, pure.Fault)):
            program = pure.compile(ECHO)
            program.bind("pure f(int): int", function)
            with self.assertRaises(kind):
                program.store().call("q", 1)

    def test_late_cancels_are_forgotten(self):
        program = pure.compile(ECHO)
        program.bind("pure f(int): int", lambda n: (store.cancel() if n == 3 else None) or n)
        store = program.store()
        try:
            self.assertEqual(store.call("q", 3), 3)
        except pure.Fault as fault: # it may come in time
            self.assertEqual(fault.fault, "cancelled")
        self.assertEqual(store.call("q", 4), 4)

    def test_refused(self):
        program = pure.compile(TEXT)
        for declaration in ("pure half(int): real", "half(real): real", "pure other(int): int"):
            with self.assertRaises(pure.Error):
                program.bind(declaration, abs)
        program.store()
        with self.assertRaises(pure.Error):
            program.bind("pure half(real): real", abs)


class Threads(unittest.TestCase):
    def test_snapshots(self):
        store = some_store()
        snapshot = store.snapshot()
        wrong = []

        def read():
            for _ in range(50):
                if snapshot.call("ids").column("id").tolist() != [1, 2, 3]:
                    wrong.append(1)
        threads = [threading.Thread(target=read) for _ in range(4)]
        for t in threads:
            t.start()
        for i in range(10, 60):
            store.fill("thing", {"id": [i], "name": ["x"], "born": [DAY], "ok": [True], "size": [1.0]})
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])
        self.assertEqual(len(store.call("ids")), 53)
        with self.assertRaises(pure.Error) as caught:
            snapshot.call("say", "x")
        self.assertEqual(caught.exception.status, "misuse")

    def test_interrupt(self):
        """Ctrl-C stops the call that runs in the main thread."""
        for options in ({"jit": 0}, {}):
            store = some_store(work=40_000_000_000, **options) # many seconds
            began = time.process_time()
            timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                store.call("spin")
            timer.join()
            self.assertLess(time.process_time() - began, 5)
            self.assertEqual(store.call("echo_int", 5), 5)

    def test_cancel_and_limits(self):
        store = some_store()
        timer = threading.Timer(0.1, store.cancel)
        timer.start()
        with self.assertRaises(pure.Fault) as caught:
            store.call("spin")
        self.assertEqual(caught.exception.fault, "cancelled")
        timer.join()
        store.limit(work=100000)
        with self.assertRaises(pure.Fault) as caught:
            store.call("spin")
        self.assertEqual(caught.exception.fault, "work exhausted")
        store.limit(milliseconds=50)
        start = time.monotonic()
        with self.assertRaises(pure.Fault) as caught:
            store.call("spin")
        self.assertLess(time.monotonic() - start, 20)
        self.assertIn("time limit", caught.exception.message)
        store.limit()
        self.assertEqual(store.call_with_work("echo_int", 1)[0], 1)
        self.assertGreater(store.call_with_work("echo_int", 1)[1], 0)

    def test_closing_in_any_order(self):
        engine = pure.Engine(max_memory=64 << 20)
        program = engine.compile(TEXT)
        store = program.store()
        result = store.call("squares", 1000)
        snapshot = store.snapshot()
        engine.close()
        program.close()
        store.close()
        self.assertEqual(len(result), 1000)
        self.assertEqual(snapshot.call("lines"), 0)
        result.close()
        snapshot.close()
        with self.assertRaises(pure.Error):
            store.call("lines")


if __name__ == "__main__":
    done = unittest.main(verbosity=0, exit=False).result
    bad = len(done.failures) + len(done.errors)
    print(f"{done.testsRun - bad} passed, {bad} failed")
    sys.exit(bad > 0)

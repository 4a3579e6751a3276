#!/usr/bin/env python3
"""The page of pure-serve in Chromium: by keyboard, on a small screen, in the dark, with a token."""
import os
import pathlib
import sys
import unittest

from browser import CHROMIUM, Browser
from server import EXAMPLES, Folder, Server

PICTURES = pathlib.Path(os.environ.get("BUILD", "/nowhere"))

LUMINANCE = """
  (() => {
    const rgb = c => c.match(/[\\d.]+/g).slice(0, 3).map(Number);
    const light = c => rgb(c).map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
      .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ratio = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const panel = light(getComputedStyle(document.querySelector("section")).backgroundColor);
    return [panel, ...["h2", "dt", "dd", "#health", "th"].map(s =>
      ratio(light(getComputedStyle(document.querySelector(s)).color), panel))];
  })()
"""


class Console(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.server = Server(EXAMPLES / "bank.pure", "--load", f"accounts={EXAMPLES / 'bank.csv'}")
        cls.url = f"http://{cls.server.host}:{cls.server.port}/"

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.server.__exit__()

    def setUp(self):
        self.browser.events.clear()
        self.browser.send("Emulation.setEmulatedMedia", features=[])
        self.browser.send("Emulation.setDeviceMetricsOverride", width=1200, height=800, deviceScaleFactor=1, mobile=False)

    def open(self, fragment=""):
        self.browser.open("about:blank")
        self.browser.open(self.url + fragment)
        self.browser.wait("document.getElementById('health').className === 'good'")

    def tab_to(self, test):
        for _ in range(20):
            self.browser.key("Tab", 9)
            if self.browser.value(f"document.activeElement.{test}"):
                return
        self.fail(f"not reached by keyboard: {test}")

    def outcome(self):
        return self.browser.value("document.getElementById('outcome').textContent")

    def picture(self, name):
        if PICTURES.is_dir():
            self.assertGreater(self.browser.screenshot(PICTURES / f"console-{name}.png"), 5000)

    def test_a_query_and_its_rows(self):
        self.open("#large?least=1000")
        self.assertEqual(self.browser.value("document.title"), "bank.pure – Pure")
        self.browser.value("document.getElementById('run').click()")
        self.browser.wait("document.querySelector('#answer table')")
        self.assertRegex(self.outcome(), r"^\d rows; work [\d,]+, [\d.]+ (us|ms|ns|s)$")
        rows = self.browser.value("[...document.querySelectorAll('#answer tbody tr')].map(r => r.innerText)")
        self.assertIn("4\tSofya Kovalevskaya\t8800", rows)
        self.browser.wait("document.getElementById('functions').innerText.includes('large')")
        self.assertIn("accounts\t7\tdense", self.browser.value("document.getElementById('lists').innerText"))
        self.picture("wide")

    def test_by_keyboard_alone(self):
        self.open()
        self.tab_to("id === 'function'")
        for letter in "tra":
            self.browser.key(letter, ord(letter.upper()), letter)
        self.browser.wait("document.getElementById('argument-from')")
        for name, value in (("from", "4"), ("to", "1"), ("amount", "12")):
            self.tab_to(f"id === 'argument-{name}'")
            self.browser.type(value)
        self.browser.key("Enter", 13, "\r")
        self.browser.wait("document.getElementById('outcome').textContent.startsWith('answer: 8788; work')")
        self.tab_to("id === 'run'")
        self.assertNotEqual(self.browser.value("getComputedStyle(document.activeElement).outlineStyle"), "none")

    def test_faults_are_told(self):
        self.open("#transfer?from=3&to=1&amount=99999")
        self.browser.value("document.getElementById('run').click()")
        self.browser.wait("document.getElementById('outcome').className === 'bad'")
        self.assertRegex(self.outcome(), r"422 fault, raised: overdraft: account 3 would be at -99999 \(line \d+\)")

    def test_small_screen(self):
        self.browser.send("Emulation.setDeviceMetricsOverride", width=400, height=800, deviceScaleFactor=2, mobile=True)
        self.open("#ranks")
        self.browser.value("document.getElementById('run').click()")
        self.browser.wait("document.querySelector('#answer table')")
        self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), 400)
        small = self.browser.value("[...document.querySelectorAll('button, select, input:not([hidden])')]"
                                   ".filter(e => e.offsetParent && e.getBoundingClientRect().height < 38).map(e => e.id)")
        self.assertEqual(small, [])
        self.picture("small")

    def test_light_and_dark(self):
        for scheme in ("light", "dark"):
            self.browser.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
            self.open()
            self.browser.wait("document.querySelector('dd') && document.querySelector('th')")
            panel, *contrasts = self.browser.value(LUMINANCE)
            self.assertEqual(panel < 0.1, scheme == "dark")
            self.assertGreaterEqual(min(contrasts), 4.5)
            self.picture(scheme)

    def test_nothing_from_elsewhere(self):
        self.open()
        asked = [e["params"]["request"]["url"] for e in self.browser.events if e.get("method") == "Network.requestWillBeSent"]
        self.assertTrue(asked)
        self.assertEqual([u for u in asked if not u.startswith((self.url, "about:", "data:"))], [])
        said = [e["params"] for e in self.browser.events
                if e.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown")]
        self.assertEqual(said, [])

    def test_large_ints_stay_exact(self):
        with Folder() as folder:
            (folder / "p.pure").write_text("query big(x: int): (y: int) { emit (x) }\n")
            with Server(folder / "p.pure") as server:
                self.browser.open(f"http://{server.host}:{server.port}/#big?x=9223372036854775807")
                self.browser.wait("document.getElementById('argument-x') && document.getElementById('argument-x').value")
                self.browser.value("document.getElementById('run').click()")
                self.browser.wait("document.querySelector('#answer td')")
                self.assertEqual(self.browser.value("document.querySelector('#answer td').textContent"),
                                 "9223372036854775807")

    def test_token(self):
        with Folder() as folder:
            (folder / "token").write_text("0123456789abcdef\n")
            with Server(EXAMPLES / "bank.pure", "--token-file", folder / "token") as server:
                self.browser.open(f"http://{server.host}:{server.port}/")
                self.browser.wait("document.activeElement.id === 'token'")
                self.browser.type("0123456789abcdef")
                self.browser.key("Enter", 13, "\r")
                self.browser.wait("document.getElementById('health').className === 'good'")
                self.assertTrue(self.browser.value("document.getElementById('access').hidden"))


if __name__ == "__main__":
    if not CHROMIUM:
        print("skipped: chromium is not installed")
        sys.exit(77)
    if os.environ.get("PURE_SANITIZE"):
        print("skipped: the page is the same in every build")
        sys.exit(77)
    unittest.main(verbosity=2)

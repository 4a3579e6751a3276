"""Chromium, driven through its debugging pipe."""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One page."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="serve-chromium-")
        theirs_in, self.out = os.pipe()
        self.in_, theirs_out = os.pipe()

        def pipes():
            # Numbers 3 and 4 may be among the four: first out of the way.
            one, two = os.dup(theirs_in), os.dup(theirs_out)
            one, two = os.dup2(one, 63), os.dup2(two, 64)
            os.dup2(one, 3)
            os.dup2(two, 4)
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={self.folder}", "--remote-debugging-pipe", "about:blank"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(theirs_in)
        os.close(theirs_out)
        self.numbers, self.buffer, self.events, self.session = itertools.count(1), b"", [], None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def message(self, seconds):
        while b"\0" not in self.buffer:
            if not select.select([self.in_], [], [], seconds)[0]:
                raise TimeoutError("chromium says nothing")
            piece = os.read(self.in_, 1 << 16)
            if not piece:
                raise RuntimeError("chromium is gone")
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(line)

    def send(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            got = self.message(60)
            if got.get("id") == number:
                if "error" in got:
                    raise RuntimeError(f"{method}: {got['error']}")
                return got["result"]
            self.events.append(got)

    def value(self, expression):
        got = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in got:
            raise RuntimeError(f"{expression}: {got['exceptionDetails']}")
        return got["result"].get("value")

    def wait(self, expression, seconds=60):
        until = time.monotonic() + seconds
        while not self.value(f"!!({expression})"):
            if time.monotonic() > until:
                raise TimeoutError(f"never so: {expression}: {self.value('document.body.innerText')}")
            time.sleep(0.05)

    def open(self, url):
        self.send("Page.navigate", url=url)
        self.wait("document.readyState === 'complete'")

    def key(self, key, code=0, text=None):
        parameters = {"key": key, "windowsVirtualKeyCode": code, **({"text": text} if text else {})}
        self.send("Input.dispatchKeyEvent", type="keyDown", **parameters)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def screenshot(self, path):
        picture = base64.b64decode(self.send("Page.captureScreenshot", captureBeyondViewport=True)["data"])
        with open(path, "wb") as f:
            f.write(picture)
        return len(picture)

    def close(self):
        try:
            self.session = None
            self.send("Browser.close")
        except (RuntimeError, TimeoutError, OSError):
            self.process.kill()
        self.process.wait(60)
        os.close(self.in_)
        os.close(self.out)
        shutil.rmtree(self.folder, ignore_errors=True)

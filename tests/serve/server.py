"""What the tests of pure-serve share: a server on a free port, and requests to it."""
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOT = pathlib.Path(os.environ.get("SRC") or pathlib.Path(__file__).resolve().parents[2])
PURE_SERVE = os.environ.get("PURE_SERVE", str(ROOT / "build/release/host/pure-serve"))
PURE_RUN = os.environ.get("PURE_RUN", str(ROOT / "build/release/host/pure-run"))
EXAMPLES = ROOT / "host/examples"
# Sanitized builds are slower.
PATIENCE = 4 if os.environ.get("PURE_SANITIZE") else 1


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """Of an error."""
        return self.json["error"]["code"]


class Server:
    """pure-serve with these words; it ends by itself should the test forget it."""

    def __init__(self, *words, limits=None, environment=None, exit_after=300):
        self.log = tempfile.NamedTemporaryFile("w+", prefix="serve-log-", suffix=".jsonl")
        environment = {**os.environ, **(environment or {})}
        self.process = subprocess.Popen(
            [PURE_SERVE, *map(str, words), "--listen", "127.0.0.1:0", "--exit-after", str(exit_after)],
            stdout=subprocess.PIPE, stderr=self.log, text=True, env=environment, preexec_fn=limits)
        line = self.process.stdout.readline()
        found = re.fullmatch(r"listening on http://([0-9.]+):(\d+)/\n", line)
        if not found:
            self.process.wait()
            raise RuntimeError(f"pure-serve ended with {self.process.returncode}: {self.said()}")
        self.host, self.port = found[1], int(found[2])
        self.connection = None

    def said(self):
        return pathlib.Path(self.log.name).read_text()

    def lines(self, event):
        """What the log says of that kind."""
        parsed = [json.loads(line) for line in self.said().splitlines() if line.startswith("{")]
        return [line for line in parsed if line["event"] == event]

    def connect(self, timeout=600):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout * PATIENCE)

    def socket(self, timeout=600):
        return socket.create_connection((self.host, self.port), timeout=timeout * PATIENCE)

    def request(self, method, path, body=None, headers=None):
        """On a connection that is kept."""
        if self.connection is None:
            self.connection = self.connect()
        try:
            self.connection.request(method, path, body, headers or {})
            return Answer(self.connection.getresponse())
        except Exception:
            self.connection.close()
            self.connection = None
            raise

    def get(self, path, **headers):
        return self.request("GET", path, None, {k.replace("_", "-"): v for k, v in headers.items()})

    def call(self, name, arguments=None, query="", **headers):
        body = json.dumps([] if arguments is None else arguments)
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        return self.request("POST", f"/call/{name}{query}", body,
                            {"Content-Type": "application/json", **headers})

    def load(self, name, text, query=""):
        return self.request("POST", f"/lists/{name}{query}", text, {"Content-Type": "text/csv"})

    def stop(self, number=signal.SIGTERM):
        """Its exit status."""
        if self.connection:
            self.connection.close()
            self.connection = None
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(600)
        self.process.stdout.close()
        return status

    def kill(self):
        return self.stop(signal.SIGKILL)

    def memory(self):
        """Resident bytes."""
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) * 1024
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.kill()
        self.log.close()


class Folder:
    """A folder that goes at the end."""

    def __init__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="serve-"))

    def __truediv__(self, name):
        return self.path / name

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def verify(folder):
    """(exit status, what it said) of --verify."""
    run = subprocess.run([PURE_SERVE, "--verify", str(folder)], capture_output=True, text=True)
    return run.returncode, run.stdout + run.stderr


def wait_until(test, seconds=100):
    until = time.monotonic() + seconds * PATIENCE
    while not test():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True

"""What a terminal shows: progress, colours, and the table."""
import os
import sys
import time

CODES = {"good": "32", "bad": "31", "dim": "2", "bold": "1"}


class Progress:
    """A bar on standard error, on terminals only."""

    def __init__(self, total):
        self.total, self.done, self.began = total, 0, time.monotonic()
        self.on = sys.stderr.isatty()

    def show(self, text):
        if not self.on:
            return
        share = min(self.done / self.total, 1) if self.total else 1
        spent = time.monotonic() - self.began
        left = f", {spent / share - spent:.0f} s left" if share > 0.03 else ""
        bar = "#" * round(share * 24)
        width = (os.get_terminal_size(sys.stderr.fileno()).columns or 80) - 1
        print(f"\r\033[K{f'[{bar:<24}] {share * 100:3.0f} %{left}  {text}'[:width]}", end="", file=sys.stderr, flush=True)

    def step(self, text, by=1):
        self.done += by
        self.show(text)

    def clear(self):
        if self.on:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def paint(text, how):
    if how and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        return f"\033[{CODES[how]}m{text}\033[0m"
    return text


def table(head, rows):
    """rows: lists of cells, each text or (text, how to paint it); the first two columns stand left."""
    plain = [[c if isinstance(c, str) else c[0] for c in row] for row in rows]
    widths = [max(len(r[i]) for r in [head, *plain]) for i in range(len(head))]

    def line(cells):
        padded = []
        for i, cell in enumerate(cells):
            text, how = (cell, None) if isinstance(cell, str) else cell
            text = text.ljust(widths[i]) if i < 1 else text.rjust(widths[i])
            padded.append(paint(text, how))
        return "  ".join(padded).rstrip()
    print(paint(line(head), "bold"))
    for row in rows:
        print(line(row))

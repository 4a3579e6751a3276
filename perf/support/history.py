"""The history of the ratios that perf/smoke measures: lines of JSON, the oldest first."""
import json


class Damaged(Exception):
    """A file that cannot be read; the text names the file and the line."""


NEEDED = {"date": str, "commit": str, "machine": str, "ratios": dict}


def checked(line):
    """What is wrong with an entry, or None."""
    if not isinstance(line, dict):
        return "not an object"
    for key, kind in NEEDED.items():
        if not isinstance(line.get(key), kind):
            return f"no {key}" if key not in line else f"{key} is not what it should be"
    for name, ratio in line["ratios"].items():
        fields = [ratio.get(key) for key in ("ratio", "least", "most")] if isinstance(ratio, dict) else []
        numbers = [n for n in fields if isinstance(n, (int, float)) and not isinstance(n, bool)]
        if len(numbers) != 3 or not 0 < numbers[1] <= numbers[0] <= numbers[2] < float("inf"):
            return f"{name} is not a ratio within its range"
    return None


def read(path):
    """All entries; an absent file has none. Raises Damaged."""
    entries = []
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return entries
    except OSError as why:
        raise Damaged(f"{path}: {why.strerror}") from why
    for number, text in enumerate(data.decode(errors="replace").splitlines(), 1):
        try:
            entry = json.loads(text)
        except ValueError as why:
            raise Damaged(f"{path}:{number}: not JSON: {text[:60]!r}") from why
        wrong = checked(entry)
        if wrong:
            raise Damaged(f"{path}:{number}: {wrong}")
        entries.append(entry)
    return entries


def names(entries):
    """Of all ratios, in the order in which they first came up."""
    return list(dict.fromkeys(name for entry in entries for name in entry["ratios"]))


def read_bands(path):
    """{ratio: (low, high, reason)}. Raises Damaged."""
    bands = {}
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as why:
        raise Damaged(f"{path}: {why.strerror}") from why
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 3)
        try:
            name, low, high, reason = words[0], float(words[1]), float(words[2]), words[3]
        except (IndexError, ValueError) as why:
            raise Damaged(f"{path}:{number}: expected RATIO LOW HIGH REASON") from why
        if not 0 < low < high < float("inf"):
            raise Damaged(f"{path}:{number}: {name}: no band from {low:g} to {high:g}")
        if name in bands:
            raise Damaged(f"{path}:{number}: {name} has a band already")
        bands[name] = low, high, reason
    return bands

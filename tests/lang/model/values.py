"""What values, lists and rows mean: a plain model of the language, independent of its implementation."""

INT_MIN, INT_MAX = -(2**63), 2**63 - 1


class Fault(Exception):
    def __init__(self, kind, text=None):
        super().__init__(kind)
        self.kind, self.text = kind, text


class TooLong(Exception):
    """The program runs longer than a test should."""


def fit(n):
    if not INT_MIN <= n <= INT_MAX:
        raise Fault("overflow")
    return n


def divide(a, b):
    if b == 0:
        raise Fault("division by zero")
    q = abs(a) // abs(b)
    return fit(q if (a < 0) == (b < 0) else -q)


def remainder(a, b):
    if b == 0:
        raise Fault("division by zero")
    r = abs(a) % abs(b)
    return -r if a < 0 else r


def text_of(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    return repr(v) if isinstance(v, float) else str(v)


class List:
    """Columns in declared order; `key`: their numbers, or () for a positional list."""

    def __init__(self, key):
        self.key = key
        self.rows = {} if key else []

    def key_of(self, values):
        return tuple(values[c] for c in self.key)

    def copy(self):
        other = List(self.key)
        other.rows = {k: list(r) for k, r in self.rows.items()} if self.key else [list(r) for r in self.rows]
        return other

    def add(self, values):
        if not self.key:
            self.rows.append(list(values))
            return
        if self.key_of(values) in self.rows:
            raise Fault("duplicate key")
        self.rows[self.key_of(values)] = list(values)

    def put(self, values):
        self.rows[self.key_of(values)] = list(values)

    def delete(self, key):
        if key not in self.rows:
            raise Fault("missing key")
        del self.rows[key]

    def clear(self):
        self.rows.clear()

    def in_order(self):
        """Names of the rows: keys or positions."""
        return sorted(self.rows) if self.key else list(range(len(self.rows)))

    def slice(self, prefix, lo, hi):
        n = len(prefix)

        def inside(k):
            if k[:n] != tuple(prefix):
                return False
            return (lo is None or k[n] >= lo) and (hi is None or k[n] <= hi)

        return [k for k in self.in_order() if inside(k)]

    def find(self, name, kind):
        """The row of that key or position."""
        if self.key:
            if name not in self.rows:
                raise Fault(kind)
            return self.rows[name]
        if not 0 <= name < len(self.rows):
            raise Fault(kind)
        return self.rows[name]

    def walk(self, prefix=(), lo=None, hi=None):
        """Names of rows in the order in which a loop sees them while the list changes."""
        if not self.key:
            at = 0
            while at < len(self.rows):
                yield at
                at += 1
            return
        last = None
        while True:
            ahead = [k for k in self.slice(prefix, lo, hi) if last is None or k > last]
            if not ahead:
                return
            last = ahead[0]
            yield last

    def sort(self, keys):
        for column, descending in reversed(keys):
            self.rows.sort(key=lambda row, c=column: row[c], reverse=descending)

"""Random programs, and what they do according to the model.

An expression is a pair (source, evaluate); a statement knows its source lines and how to run. Running sets
`env.line` to the line of the statement at work, so that a fault is known to the line.
"""
from .values import Fault, INT_MAX, INT_MIN, List, TooLong, divide, fit, remainder, text_of

STEPS = 3000
TYPES = ("int", "text", "bool", "real")
ORDER = {"=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
         "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b}


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Return(Exception):
    def __init__(self, value=None):
        super().__init__()
        self.value = value


def join(a, b):
    if len(a) + len(b) > 2000:
        raise TooLong
    return a + b


def plus(a, b):
    """What += means."""
    return join(a, b) if isinstance(a, str) else fit(a + b) if isinstance(a, int) else a + b


class Env:
    """One call of a function: its names, and what all calls share."""

    def __init__(self, world):
        self.world, self.names = world, {}

    def list(self, name):
        return self.names[name] if name in self.names else self.world.lists[name]


class World:
    def __init__(self, lists):
        self.lists, self.line, self.steps, self.depth, self.emitted = lists, 0, 0, 0, []

    def step(self, line):
        self.line = line
        self.steps += 1
        if self.steps > STEPS:
            raise TooLong


class Stmt:
    """lines: source, with None for nested blocks; run: how it runs."""

    def __init__(self, head, run, parts=(), tail="}"):
        self.head, self.run, self.parts, self.tail = head, run, parts, tail
        self.line = 0

    def write(self, out, indent):
        self.line = len(out) + 1
        out.append("  " * indent + self.head)
        for block, between in self.parts:
            for s in block:
                s.write(out, indent + 1)
            if between is not None:
                between.line = len(out) + 1
                out.append("  " * indent + between.text)
        if self.parts:
            out.append("  " * indent + self.tail)


class Between:
    """The line between two blocks: `} else if .. {`."""

    def __init__(self, text):
        self.text, self.line = text, 0


def run_block(block, env):
    for s in block:
        env.world.step(s.line)
        s.run(env, s)


class ListDecl:
    def __init__(self, name, cols, key, stored):
        self.name, self.cols, self.key, self.stored = name, cols, key, stored

    def source(self):
        cols = ", ".join(f"{c}: {t}" for c, t in self.cols)
        names = [self.cols[c][0] for c in self.key]
        key = "" if not names else f" key {names[0]}" if len(names) == 1 else f" key ({', '.join(names)})"
        return f"{'list' if self.stored else 'local'} {self.name} ({cols}){key}"

    def rest(self):
        return [c for c in range(len(self.cols)) if c not in self.key]


class Fn:
    def __init__(self, kind, name, params, result):
        self.kind, self.name, self.params, self.result = kind, name, params, result
        self.body, self.line = [], 0
        self.writes = False

    def call(self, world, args):
        if world.depth > 20:
            raise TooLong
        env = Env(world)
        env.names.update(zip((p for p, _ in self.params), args))
        line = world.line
        world.depth += 1
        try:
            run_block(self.body, env)
        except Return as r:
            world.line = line
            return r.value
        finally:
            world.depth -= 1
        world.line = line
        return None


class Maker:
    """Makes one program from a source of chance."""

    def __init__(self, chance):
        self.chance = chance
        self.lists, self.fns = [], []
        self.fn = None
        self.counter = 0
        self.loops = 0
        self.scope = []  # blocks of (kind, name, info): val, var, row, local
        self.budget = 0

    # ---- chance and names

    def pick(self, things):
        return things[self.chance.randrange(len(things))]

    def odds(self, n, of):
        return self.chance.randrange(of) < n

    def new_name(self, prefix):
        self.counter += 1
        return f"{prefix}{self.counter}"

    def visible(self, *kinds):
        return [entry for block in self.scope for entry in block if entry[0] in kinds]

    def declare(self, kind, name, info):
        self.scope[-1].append((kind, name, info))

    def visible_lists(self):
        return self.lists + [info for _, _, info in self.visible("local")]

    def writable_lists(self):
        return [l for l in self.visible_lists() if not l.stored or self.fn.kind != "query"]

    # ---- expressions

    def literal(self, t):
        if t == "int":
            n = self.chance.randrange(-4, 9) if self.odds(39, 40) else self.pick(
                [INT_MAX, INT_MIN, 32767, -32768, 32768, -32769, 2**31, 2**40])
            return (str(n), lambda env: n)
        if t == "text":
            s = self.pick(["", "a", "b", "ab", "\u00e4", "zz"])
            return (f'"{s}"', lambda env: s)
        if t == "bool":
            b = self.odds(1, 2)
            return ("true" if b else "false", lambda env: b)
        x = self.pick([0.0, 0.5, 1.5, -2.25, 1e10, 0.1])
        return (repr(x), lambda env: x)

    def name_of(self, t):
        found = [(k, n, i) for k, n, i in self.visible("val", "var") if i == t]
        if not found:
            return self.literal(t)
        name = self.pick(found)[1]
        return (name, lambda env: env.names[name])

    def field(self, t):
        found = [(n, l, c) for _, n, l in self.visible("row") for c, (_, ct) in enumerate(l.cols) if ct == t]
        if not found:
            return self.name_of(t)
        name, l, c = self.pick(found)

        def read(env):
            return env.list(l.name).find(env.names[name], "deleted row")[c]

        return (f"{name}.{l.cols[c][0]}", read)

    def read_by_key(self, t):
        found = [(l, c) for l in self.visible_lists() for c, (_, ct) in enumerate(l.cols) if ct == t]
        if not found:
            return self.name_of(t)
        l, c = self.pick(found)
        key = self.key(l)
        read = (f"{l.name}[{key[0]}].{l.cols[c][0]}",
                lambda env: env.list(l.name).find(key[1](env), "missing key")[c])
        if self.odds(1, 12):
            return read
        if not l.key:
            return self.name_of(t)
        other = self.name_of(t)
        return (f"(if ({key[0]}) in {l.name} then {read[0]} else {other[0]})",
                lambda env: read[1](env) if key[1](env) in env.list(l.name).rows else other[1](env))

    def key(self, l, n=None):
        """Values for the first n key columns, or a position."""
        if not l.key:
            return self.expr("int", 1)
        parts = [self.expr(l.cols[c][1], 1) for c in l.key[:n]]
        return (", ".join(p[0] for p in parts), lambda env: tuple([p[1](env) for p in parts]))

    def slice(self, l):
        """Source and a function to (prefix, lo, hi)."""
        if not l.key or self.odds(1, 3):
            return (l.name, lambda env: ((), None, None))
        n = self.chance.randrange(len(l.key))
        prefix = self.key(l, n)
        items, lo, hi = [prefix[0]] if n else [], None, None
        if n == 0 or self.odds(1, 2):
            t = l.cols[l.key[n]][1]
            lo = self.expr(t, 1) if self.odds(2, 3) else None
            hi = self.expr(t, 1) if lo is None or self.odds(1, 2) else None
            items.append(f"{lo[0] if lo else ''}..{hi[0] if hi else ''}")

        def bounds(env):
            p = prefix[1](env) if n else ()
            return (p, lo[1](env) if lo else None, hi[1](env) if hi else None)

        return (f"{l.name}[{', '.join(items)}]", bounds)

    def arithmetic(self, depth):
        op = self.pick("+-*+-/%")
        a, b = self.expr("int", depth - 1), self.expr("int", depth - 1)
        does = {"+": lambda x, y: fit(x + y), "-": lambda x, y: fit(x - y), "*": lambda x, y: fit(x * y),
                "/": divide, "%": remainder}[op]
        if op in "/%" and self.odds(3, 4):
            n = self.pick([2, 3, 7, -2, 10])
            b = (str(n), lambda env: n)
        return (f"({a[0]} {op} {b[0]})", lambda env: does(a[1](env), b[1](env)))

    def int_expr(self, depth):
        kind = self.chance.randrange(10)
        if kind < 4:
            return self.arithmetic(depth)
        if kind == 4:
            l = self.pick(self.visible_lists())
            s, bounds = self.slice(l)
            if s == l.name:
                return (f"count({s})", lambda env: len(env.list(l.name).rows))

            def count(env):
                at = bounds(env)
                return len(env.list(l.name).slice(*at))

            return (f"count({s})", count)
        if kind == 5:
            a = self.expr("int", depth - 1)
            return (f"-({a[0]})", lambda env: fit(-a[1](env)))
        if kind == 6:
            a, b = self.expr("int", depth - 1), self.expr("int", depth - 1)
            name, does = self.pick([("min", min), ("max", max)])
            return (f"{name}({a[0]}, {b[0]})", lambda env: does(a[1](env), b[1](env)))
        if kind == 7:
            a = self.expr("text", depth - 1)
            return (f"length({a[0]})", lambda env: len(a[1](env)))
        return self.call("int") or self.arithmetic(depth)

    def call(self, t):
        """Of a function made before this one, which the caller may call; None: there is none."""
        found = [f for f in self.fns if f.result == t and f.kind == "fn" and
                 not (f.writes and self.fn.kind == "query")]
        if not found:
            return None
        f = self.pick(found)
        args = [self.expr(pt, 1) for _, pt in f.params]
        self.fn.writes = self.fn.writes or f.writes
        return (f"{f.name}({', '.join(a[0] for a in args)})",
                lambda env: f.call(env.world, [a[1](env) for a in args]))

    def bool_expr(self, depth):
        kind = self.chance.randrange(8)
        if kind < 3:
            t = self.pick(TYPES)
            op = self.pick(["=", "!="] if t == "bool" else list(ORDER))
            a, b = self.expr(t, depth - 1), self.expr(t, depth - 1)
            return (f"({a[0]} {op} {b[0]})", lambda env: ORDER[op](a[1](env), b[1](env)))
        if kind == 3:
            a = self.expr("bool", depth - 1)
            return (f"(not {a[0]})", lambda env: not a[1](env))
        if kind < 6:
            a, b = self.expr("bool", depth - 1), self.expr("bool", depth - 1)
            if kind == 4:
                return (f"({a[0]} and {b[0]})", lambda env: a[1](env) and b[1](env))
            return (f"({a[0]} or {b[0]})", lambda env: a[1](env) or b[1](env))
        keyed = [l for l in self.visible_lists() if l.key]
        if not keyed:
            return self.name_of("bool")
        l = self.pick(keyed)
        key = self.key(l)
        word = self.pick(["in", "not in"])
        return (f"(({key[0]}) {word} {l.name})",
                lambda env: (key[1](env) in env.list(l.name).rows) == (word == "in"))

    def text_expr(self, depth):
        if self.odds(1, 2):
            a, b = self.expr("text", depth - 1), self.expr("text", depth - 1)
            return (f"({a[0]} + {b[0]})", lambda env: join(a[1](env), b[1](env)))
        t = self.pick(("int", "bool"))
        a = self.expr(t, depth - 1)
        return (f"text({a[0]})", lambda env: text_of(a[1](env)))

    def real_expr(self, depth):
        op, does = self.pick([("+", lambda x, y: x + y), ("-", lambda x, y: x - y), ("*", lambda x, y: x * y)])
        a, b = self.expr("real", depth - 1), self.expr("real", depth - 1)
        return (f"({a[0]} {op} {b[0]})", lambda env: does(a[1](env), b[1](env)))

    def choice(self, t, depth):
        c, a, b = self.expr("bool", depth - 1), self.expr(t, depth - 1), self.expr(t, depth - 1)
        return (f"(if {c[0]} then {a[0]} else {b[0]})", lambda env: a[1](env) if c[1](env) else b[1](env))

    def expr(self, t, depth):
        if depth <= 0 or self.odds(1, 4):
            return self.pick([self.literal, self.name_of, self.field, self.field])(t)
        if self.odds(1, 14):
            return self.read_by_key(t)
        if self.odds(1, 10):
            return self.choice(t, depth)
        return {"int": self.int_expr, "bool": self.bool_expr, "text": self.text_expr, "real": self.real_expr}[t](depth)

    # ---- statements

    def block(self, depth, before=(), least=1):
        self.scope.append(list(before))
        out = [s for _ in range(self.chance.randrange(least, least + 4)) for s in self.stmt(depth)]
        self.scope.pop()
        return out

    def stmt(self, depth):
        """A list of one statement, or of none where nothing fits."""
        self.budget -= 1
        if self.budget < 0:
            return []
        simple = [self.let, self.var, self.assign, self.emit, self.emit, self.put, self.put, self.set, self.set, self.let_row,
                  self.ensure, self.remove, self.let_end, self.local, self.note, self.let_else]
        nested = [self.if_, self.if_let, self.for_rows, self.for_rows, self.for_range, self.while_]
        rare = [self.clear, self.sort, self.sort, self.call_stmt, self.call_stmt, self.call_stmt]
        if depth <= 2 or self.odds(1, 20):
            rare += [self.jump, self.fault if self.odds(1, 4) else self.jump]
        kind = self.chance.randrange(20)
        make = self.pick(simple if kind < 12 or depth <= 0 else rare if kind == 12 else nested)
        made = make(depth)
        return [made] if made else []

    def let(self, _):
        return self.bind("let", "val")

    def var(self, _):
        return self.bind("var", "var")

    def bind(self, word, kind):
        t, name = self.pick(TYPES), self.new_name("v")
        e = self.expr(t, 3)
        self.declare(kind, name, t)

        def run(env, _):
            env.names[name] = e[1](env)

        return Stmt(f"{word} {name} = {e[0]}", run)

    def assign(self, _):
        found = self.visible("var")
        if not found:
            return None
        _, name, t = self.pick(found)
        e = self.expr(t, 3)

        def run(env, _):
            env.names[name] = e[1](env)

        def update(env, _):
            old = env.names[name]
            env.names[name] = plus(old, e[1](env))

        if t != "bool" and self.odds(1, 2):
            return Stmt(f"{name} += {e[0]}", update)
        return Stmt(f"{name} = {e[0]}", run)

    def emit(self, _):
        if self.fn.kind == "fn":
            return None
        values = [self.expr(t, 2) for t in ("int", "text", "bool")]

        def run(env, _):
            env.world.emitted.append([v[1](env) for v in values])

        return Stmt(f"emit ({', '.join(v[0] for v in values)})", run)

    def note(self, _):
        """Shows a row's columns: what rows as names are about."""
        rows = self.visible("row")
        if not rows or self.fn.kind == "fn":
            return None
        _, name, l = self.pick(rows)
        e = self.field("int")
        if l.cols[0][1] != "int":
            return None

        def run(env, _):
            first = e[1](env)
            row = env.list(l.name).find(env.names[name], "deleted row")
            env.world.emitted.append([first, text_of(row[0]), True])

        return Stmt(f"emit ({e[0]}, text({name}.{l.cols[0][0]}), true)", run)

    def values(self, l, columns):
        return [self.expr(l.cols[c][1], 2) for c in columns]

    def changed(self, l):
        if l.stored:
            self.fn.writes = True

    def put(self, _):
        lists = self.writable_lists()
        if not lists:
            return None
        l = self.pick(lists)
        word = "put" if l.key and self.odds(5, 6) else "add"
        values = self.values(l, range(len(l.cols)))
        self.changed(l)
        return self.put_values(l, word, values)

    def set(self, _):
        rows = [(n, l) for _, n, l in self.visible("row") if l.rest() and l in self.writable_lists()]
        if not rows:
            return None
        name, l = self.pick(rows)
        c = self.pick(l.rest())
        t = l.cols[c][1]
        e = self.expr(t, 2)
        self.changed(l)

        def run(env, _):
            value = e[1](env)
            env.list(l.name).find(env.names[name], "deleted row")[c] = value

        def update(env, _):
            old = env.list(l.name).find(env.names[name], "deleted row")[c]
            new = plus(old, e[1](env))
            env.list(l.name).find(env.names[name], "deleted row")[c] = new

        if t != "bool" and self.odds(1, 2):
            return Stmt(f"{name}.{l.cols[c][0]} += {e[0]}", update)
        return Stmt(f"{name}.{l.cols[c][0]} = {e[0]}", run)

    def let_row(self, _):
        l = self.pick(self.visible_lists())
        key, name = self.key(l), self.new_name("r")
        if not self.odds(1, 8):
            return None
        self.declare("row", name, l)

        def run(env, _):
            k = key[1](env)
            env.list(l.name).find(k, "missing key")
            env.names[name] = k

        return Stmt(f"let {name} = {l.name}[{key[0]}]", run)

    def leave(self):
        ways = ["return"] if self.fn.kind != "fn" else [f"return {self.pick([0, 1, 7])}"]
        if self.loops:
            ways += ["break", "continue"] * 3
        return self.pick(ways)

    @staticmethod
    def do_leave(way):
        if way == "break":
            raise Break
        if way == "continue":
            raise Continue
        raise Return(int(way[7:]) if way[7:] else None)

    def let_else(self, _):
        l = self.pick(self.visible_lists())
        key, name, way = self.key(l), self.new_name("r"), self.leave()
        note = self.odds(1, 3) and self.fn.kind != "fn"
        self.declare("row", name, l)

        def run(env, s):
            k = key[1](env)
            try:
                env.list(l.name).find(k, "missing key")
            except Fault:
                env.world.step(s.line)
                if note:
                    env.world.emitted.append([-1, "else", False])
                self.do_leave(way)
            env.names[name] = k

        if not note:
            return Stmt(f"let {name} = {l.name}[{key[0]}] else {{ {way} }}", run)
        inner = Stmt('emit (-1, "else", false)', None)
        last = Stmt(way, None)
        return Stmt(f"let {name} = {l.name}[{key[0]}] else {{", run, [([inner, last], None)])

    def let_end(self, _):
        l = self.pick(self.visible_lists())
        s, bounds = self.slice(l)
        word, name, way = self.pick(["first", "last"]), self.new_name("r"), self.leave()
        self.declare("row", name, l)

        def run(env, _):
            at = bounds(env)
            rows = env.list(l.name).slice(*at) if l.key else env.list(l.name).in_order()
            if not rows:
                self.do_leave(way)
            env.names[name] = rows[0 if word == "first" else -1]

        return Stmt(f"let {name} = {word}({s}) else {{ {way} }}", run)

    def ensure(self, _):
        lists = [l for l in self.writable_lists() if l.key]
        if not lists:
            return None
        l = self.pick(lists)
        key, values, name = self.key(l), self.values(l, l.rest()), self.new_name("r")
        self.declare("row", name, l)
        self.changed(l)

        def run(env, _):
            k = key[1](env)
            rest = [v[1](env) for v in values]
            if k not in env.list(l.name).rows:
                row = [None] * len(l.cols)
                for c, v in list(zip(l.key, k)) + list(zip(l.rest(), rest)):
                    row[c] = v
                env.list(l.name).put(row)
            env.names[name] = k

        return Stmt(f"let {name} = {l.name}[{key[0]}] or ({', '.join(v[0] for v in values)})", run)

    def remove(self, _):
        rows = [(n, l) for _, n, l in self.visible("row") if l.key and l in self.writable_lists()]
        if rows and self.odds(2, 3):
            name, l = self.pick(rows)
            self.changed(l)

            def run_row(env, _):
                env.list(l.name).find(env.names[name], "deleted row")
                env.list(l.name).delete(env.names[name])

            return Stmt(f"delete {name}", run_row)
        lists = [l for l in self.writable_lists() if l.key]
        if not lists:
            return None
        l = self.pick(lists)
        key = self.key(l)
        self.changed(l)

        def run(env, _):
            k = key[1](env)
            if k in env.list(l.name).rows:
                k = key[1](env)
                env.list(l.name).delete(k)

        inner = Stmt(f"delete {l.name}[{key[0]}]", None)
        return Stmt(f"if ({key[0]}) in {l.name} {{", run, [([inner], None)])

    def local(self, _):
        l = self.list_decl(self.new_name("l"), False)
        self.declare("local", l.name, l)

        def run(env, _):
            env.names[l.name] = List(l.key)

        return Stmt(l.source(), run)

    def clear(self, _):
        lists = self.writable_lists()
        if not lists:
            return None
        l = self.pick(lists)
        self.changed(l)
        return Stmt(f"clear {l.name}", lambda env, _: env.list(l.name).clear())

    def sort(self, _):
        lists = [l for l in self.writable_lists() if not l.key]
        if not lists:
            return None
        l = self.pick(lists)
        keys = [(self.chance.randrange(len(l.cols)), self.odds(1, 2)) for _ in range(self.chance.randrange(1, 3))]
        self.changed(l)
        source = ", ".join(l.cols[c][0] + (" desc" if d else "") for c, d in keys)
        return Stmt(f"sort {l.name} by {source}", lambda env, _: env.list(l.name).sort(keys))

    def jump(self, _):
        way = self.leave()
        return Stmt(way, lambda env, _: self.do_leave(way))

    def fault(self, _):
        e = self.expr("text", 2)

        def run(env, _):
            raise Fault("raised", e[1](env))

        return Stmt(f"fault {e[0]}", run)

    def call_stmt(self, _):
        e = self.call("int")
        return e and Stmt(e[0], lambda env, _: e[1](env))

    def if_(self, depth):
        arms = []
        for _ in range(self.chance.randrange(1, 4)):
            arms.append((self.expr("bool", 3), self.block(depth - 1)))
        other = self.block(depth - 1) if self.odds(1, 2) else None
        betweens = [Between(f"}} else if {c[0]} {{") for c, _ in arms[1:]]

        def run(env, s):
            for i, (cond, block) in enumerate(arms):
                env.world.step(s.line if i == 0 else betweens[i - 1].line)
                if cond[1](env):
                    run_block(block, env)
                    return
            if other is not None:
                run_block(other, env)

        parts = [(block, between) for (_, block), between in zip(arms, betweens + [None])]
        if other is not None:
            parts[-1] = (parts[-1][0], Between("} else {"))
            parts.append((other, None))
        return Stmt(f"if {arms[0][0][0]} {{", run, parts)

    def if_let(self, depth):
        l = self.pick(self.visible_lists())
        key, name = self.key(l), self.new_name("r")
        then = self.block(depth - 1, [("row", name, l)])
        other = self.block(depth - 1) if self.odds(1, 2) else None

        def run(env, _):
            k = key[1](env)
            try:
                env.list(l.name).find(k, "missing key")
            except Fault:
                if other is not None:
                    run_block(other, env)
                return
            env.names[name] = k
            run_block(then, env)

        parts = [(then, None)] if other is None else [(then, Between("} else {")), (other, None)]
        return Stmt(f"if let {name} = {l.name}[{key[0]}] {{", run, parts)

    def loop_block(self, depth, before=()):
        self.loops += 1
        out = self.block(depth - 1, before)
        self.loops -= 1
        return out

    @staticmethod
    def turn(block, env):
        """Runs one turn; false: a break."""
        try:
            run_block(block, env)
        except Continue:
            pass
        except Break:
            return False
        return True

    def for_rows(self, depth):
        l = self.pick(self.visible_lists())
        s, bounds = self.slice(l)
        name = self.new_name("r")
        block = self.loop_block(depth, [("row", name, l)])

        def run(env, stmt):
            at = bounds(env)
            for k in env.list(l.name).walk(*at):
                env.world.step(stmt.line)
                env.names[name] = k
                if not self.turn(block, env):
                    return

        return Stmt(f"for {name} in {s} {{", run, [(block, None)])

    def for_range(self, depth):
        lo, n, name = self.expr("int", 1), self.chance.randrange(-1, 5), self.new_name("i")
        up = self.pick([f"{n}", f"min({n}, {lo[0]} / 2)"])
        block = self.loop_block(depth, [("val", name, "int")])

        def run(env, stmt):
            first = lo[1](env)
            last = n if up == f"{n}" else min(n, divide(lo[1](env), 2))
            i = first
            while i <= last:
                env.world.step(stmt.line)
                env.names[name] = i
                if not self.turn(block, env):
                    return
                i += 1

        return Stmt(f"for {name} in {lo[0]}..{up} {{", run, [(block, None)])

    def while_(self, depth):
        cond, name = self.expr("bool", 3), self.new_name("w")
        block = self.loop_block(depth, [("val", name, "int")])
        count = Stmt(f"{name} += 1", lambda env, _: env.names.__setitem__(name, env.names[name] + 1))
        block.insert(0, count)

        def run(env, stmt):
            env.names[name] = 0
            while True:
                env.world.step(stmt.line)
                if not (env.names[name] < 4 and cond[1](env)):
                    return
                if not self.turn(block, env):
                    return

        loop = Stmt(f"while {name} < 4 and {cond[0]} {{", run, [(block, None)])
        start = Stmt(f"var {name} = 0", lambda env, _: None)

        def both(env, _):
            loop.run(env, loop)

        return Pair(start, loop, both)

    # ---- declarations

    def list_decl(self, name, stored):
        n = self.chance.randrange(1, 5)
        cols = [(f"c{i}", self.pick(TYPES) if i else "int") for i in range(n)]
        keys = [c for c in range(n) if cols[c][1] != "real"]
        self.chance.shuffle(keys)
        nkeys = 0 if self.odds(1, 4) else self.chance.randrange(1, min(len(keys), 3) + 1)
        return ListDecl(name, cols, tuple(keys[:nkeys]), stored)

    def fill(self):
        """Statements that put some rows into every stored list."""
        out = []
        for l in self.lists:
            for _ in range(self.chance.randrange(2, 7)):
                values = [self.literal(t) for _, t in l.cols]
                out.append(self.put_values(l, "put" if l.key else "add", values))
        self.fn.writes = True
        return out

    def put_values(self, l, word, values):
        def run(env, _):
            row = [v[1](env) for v in values]
            (env.list(l.name).put if word == "put" else env.list(l.name).add)(row)

        return Stmt(f"{word} {l.name} ({', '.join(v[0] for v in values)})", run)

    def make_fn(self, kind, name, params, result, depth, budget):
        fn = Fn(kind, name, params, result)
        self.fn, self.budget, self.loops = fn, budget, 0
        before = self.fill() if name == "e0" else []
        fn.body = before + self.block(depth, [("val", p, t) for p, t in params], 2 if kind == "fn" else 7)
        if kind == "fn":
            self.scope.append([("val", p, t) for p, t in params])
            e = self.expr("int", 1)
            self.scope.pop()

            def run(env, _):
                raise Return(e[1](env))

            fn.body.append(Stmt(f"return {e[0]}", run))
        self.fns.append(fn)


class Pair:
    """A loop and the variable that it needs before it."""

    def __init__(self, start, loop, run):
        self.start, self.loop, self.run, self.line = start, loop, run, 0

    def write(self, out, indent):
        self.start.write(out, indent)
        self.loop.write(out, indent)
        self.line = self.loop.line


class Program:
    """lists, functions, and the calls of events and queries to make one after the other."""

    def __init__(self, chance):
        maker = Maker(chance)
        for i in range(chance.randrange(1, 4)):
            maker.lists.append(maker.list_decl(f"s{i}", True))
        for i in range(chance.randrange(3)):
            maker.make_fn("fn", f"f{i}", [("p", "int"), ("q", maker.pick(TYPES))], "int", 2, 12)
        for i in range(2):
            maker.make_fn("event", f"e{i}", [("p", "int")], None, 4, 45)
        maker.make_fn("query", "q0", [("p", "int")], None, 4, 45)
        self.lists, self.fns = maker.lists, maker.fns
        self.calls = [("e0", 1), ("e1", 2), ("q0", 3), ("e0", 2), ("q0", 0)]

    def source(self):
        out = [l.source() for l in self.lists]
        for fn in self.fns:
            params = ", ".join(f"{p}: {t}" for p, t in fn.params)
            result = "int" if fn.kind == "fn" else "(a: int, b: text, c: bool)"
            out.append(f"{fn.kind} {fn.name}({params}): {result} {{")
            for s in fn.body:
                s.write(out, 1)
            out.append("}")
        for l in self.lists:
            cols = ", ".join(f"{c}: {t}" for c, t in l.cols)
            out.append(f"query show_{l.name}: ({cols}) {{ return {l.name} }}")
        return "\n".join(out) + "\n"

    def expected(self):
        """(rows of each call that ended, kind and line of the fault of the last or None, lists at the end)."""
        lists = {l.name: List(l.key) for l in self.lists}
        results = []
        for name, arg in self.calls:
            world = World({n: l.copy() for n, l in lists.items()})
            fn = next(f for f in self.fns if f.name == name)
            try:
                fn.call(world, [arg])
            except Fault as fault:
                return results, (fault.kind, world.line), lists
            results.append(world.emitted)
            if fn.kind == "event":
                lists = world.lists
        return results, None, lists

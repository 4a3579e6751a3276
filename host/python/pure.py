"""Pure, an embeddable query VM, from Python: ctypes over libpure.so, nothing else.

    import pure

    program = pure.compile('''
      list edges (from: int, to: int) key (from, to)
      query next(n: int): (to: int) { for e in edges[n] { emit (e.to) } }
    ''')
    store = program.store()
    store.fill("edges", {"from": [1, 1, 2], "to": [2, 3, 3]})
    for (to,) in store.call("next", 1):
        print(to)

Values: int, float, bool, str and datetime.date for Pure's int, real, bool, text and date.

A store may be used by one thread at a time (else Error, status "busy"); snapshots, programs and
engines by any number.  Everything is released when it is collected; with `with` or close(), sooner.

The library is the file that PURE_LIBRARY names, else libpure.so beside this file, in the lib folder of
the tree that this file was installed in, or in build/release of its clone, else the system's.
"""
import ctypes
import ctypes.util
import datetime
import glob
import os
import re
import signal
import threading
import weakref

__all__ = ["Engine", "Program", "Store", "Snapshot", "Result", "Error", "Fault", "compile", "load",
           "version"]

_STATUS = ("ok", "fault", "bad program", "bad data", "bad argument", "not found", "too large",
           "out of memory", "file error", "misuse", "busy", "stale", "unsupported")
_INT, _REAL, _BOOL, _TEXT, _DATE = 1, 2, 3, 4, 5
_JIT = {"auto": 0, 0: 1, 1: 2, 2: 3, 3: 4}
_DUPLICATES = {"error": 0, "first": 1, "last": 2}
_FORMATS = {"csv": 0, "tsv": 1, "edges": 2, "adj": 3}
_DAYS = 1  # date.toordinal() counts from 1, Pure from 0


# The C side


class _Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("fault", ctypes.c_int), ("line", ctypes.c_uint32),
                ("column", ctypes.c_uint32), ("file", ctypes.c_char * 256),
                ("message", ctypes.c_char * 768)]


class _As(ctypes.Union):
    _fields_ = [("i", ctypes.c_int64), ("r", ctypes.c_double), ("t", ctypes.c_void_p)]


class _Value(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("length", ctypes.c_size_t), ("as_", _As)]


class _Limits(ctypes.Structure):
    _fields_ = [("work", ctypes.c_uint64), ("memory", ctypes.c_uint64), ("depth", ctypes.c_uint32),
                ("milliseconds", ctypes.c_uint32)]


class _EngineOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("memory", ctypes.c_void_p), ("limits", _Limits),
                ("jit", ctypes.c_int), ("threads", ctypes.c_uint32), ("environment", ctypes.c_bool),
                ("jit_sync", ctypes.c_bool), ("watch", ctypes.c_void_p), ("tiers", ctypes.c_void_p),
                ("max_memory", ctypes.c_uint64)]


class _ImportOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("format", ctypes.c_int),
                ("header", ctypes.c_int), ("duplicates", ctypes.c_int)]


class _NameType(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int)]


class _ListInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("ncolumns", ctypes.c_uint32), ("nkeys", ctypes.c_uint32)]


class _FunctionInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("kind", ctypes.c_int), ("nparameters", ctypes.c_uint32),
                ("result", ctypes.c_int), ("value", ctypes.c_int), ("ncolumns", ctypes.c_uint32)]


class _ExternInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("pure", ctypes.c_bool), ("bound", ctypes.c_bool),
                ("nparameters", ctypes.c_uint32), ("result", ctypes.c_int)]


class _Diagnostic(ctypes.Structure):
    _fields_ = [("line", ctypes.c_uint32), ("column", ctypes.c_uint32), ("width", ctypes.c_uint32),
                ("message", ctypes.c_char_p), ("hint", ctypes.c_char_p),
                ("formatted", ctypes.c_char_p)]


class _JitStats(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("plugin", ctypes.c_char_p), ("llvm", ctypes.c_char_p),
                ("reason", ctypes.c_char_p)] # what comes after these nobody here asks for


class _Column(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("width", ctypes.c_uint32), ("rows", ctypes.c_uint64),
                ("cells", ctypes.c_void_p)]


class _String(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_void_p), ("length", ctypes.c_size_t)]


class _Binding(ctypes.Structure):
    _fields_ = [("declaration", ctypes.c_char_p), ("function", ctypes.c_void_p),
                ("user", ctypes.c_void_p)]


class _ArrowStream(ctypes.Structure):
    _fields_ = [("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p),
                ("get_last_error", ctypes.c_void_p),
                ("release", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
                ("private_data", ctypes.c_void_p)]


def _open_library():
    name = os.environ.get("PURE_LIBRARY")
    here = os.path.dirname(os.path.abspath(__file__))
    for place in ("", "../../../lib", "../../../lib/*", "../../../lib64", "../../build/release/host"):
        name = name or next(iter(glob.glob(os.path.join(here, place, "libpure.so"))), None)
    name = name or ctypes.util.find_library("pure")
    if not name:
        raise ImportError("libpure.so is not installed; PURE_LIBRARY may name the file")
    return ctypes.CDLL(name)


_lib = _open_library()
_P, _S, _E = ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(_Error)
_U32, _U64, _SIZE = ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t
_OUT = ctypes.POINTER(_P)
_REPORT = ctypes.CFUNCTYPE(None, _P, ctypes.POINTER(_Diagnostic))
# Name: parameters.  These return a status; the others, below, say what they return.
_STATUS_FUNCTIONS = {
    "engine_new": [ctypes.POINTER(_EngineOptions), _OUT, _E],
    "program_compile": [_P, _S, _S, _SIZE, _REPORT, _P, _OUT, _E],
    "program_load": [_P, _S, _S, _SIZE, _OUT, _E],
    "program_list": [_P, _U32, ctypes.POINTER(_ListInfo)],
    "program_list_column": [_P, _U32, _U32, ctypes.POINTER(_NameType)],
    "program_function": [_P, _U32, ctypes.POINTER(_FunctionInfo)],
    "program_parameter": [_P, _U32, _U32, ctypes.POINTER(_NameType)],
    "program_extern": [_P, _U32, ctypes.POINTER(_ExternInfo)],
    "program_extern_parameter": [_P, _U32, _U32, ctypes.POINTER(_NameType)],
    "bind": [_P, ctypes.POINTER(_Binding), _SIZE, _E],
    "bind_library": [_P, _S, _E],
    "store_new": [_P, _OUT, _E],
    "store_save": [_P, _S, _E],
    "store_load": [_P, _S, _E],
    "store_digest": [_P, ctypes.POINTER(_U64), _E],
    "snapshot_take": [_P, _OUT, _E],
    "snapshot_digest": [_P, ctypes.POINTER(_U64), _E],
    "fill_new": [_P, _S, _OUT, _E],
    "fill_ints": [_P, _U32, _P, _SIZE, _E],
    "fill_reals": [_P, _U32, _P, _SIZE, _E],
    "fill_bools": [_P, _U32, _P, _SIZE, _E],
    "fill_dates": [_P, _U32, _P, _SIZE, _E],
    "fill_texts": [_P, _U32, _S, _P, _SIZE, _E],
    "fill_arrow_stream": [_P, _P, _E],
    "fill_finish": [_P, ctypes.c_int, _E],
    "import_new": [_P, _S, ctypes.POINTER(_ImportOptions), _OUT, _E],
    "import_feed": [_P, _S, _SIZE, _E],
    "import_finish": [_P, _E],
    "session_new": [_P, _OUT, _E],
    "session_on": [_P, _OUT, _E],
    "session_progress": [_P, _U64, _P, _P, _E],
    "session_limit": [_P, ctypes.POINTER(_Limits), _E],
    "session_call": [_P, _S, ctypes.POINTER(_Value), _U32, _OUT, _E],
    "result_column_info": [_P, _U32, ctypes.POINTER(_NameType)],
    "result_column": [_P, _U32, ctypes.POINTER(_Column), _E],
    "result_arrow_stream": [_P, _P, _E],
}
for _name, _parameters in _STATUS_FUNCTIONS.items():
    getattr(_lib, "pure_" + _name).argtypes = _parameters
    getattr(_lib, "pure_" + _name).restype = ctypes.c_int
for _name, _result, _parameters in [
        ("version", _S, []), ("engine_jit", ctypes.c_int, [_P]),
        ("engine_jit_stats", None, [_P, ctypes.POINTER(_JitStats)]),
        ("fault_name", _S, [ctypes.c_int]), ("type_name", _S, [ctypes.c_int]),
        ("fill_rows", _U64, [_P]), ("import_rows", _U64, [_P]), ("session_work", _U64, [_P]),
        ("session_cancel", None, [_P]), ("session_resume", None, [_P]),
        ("result_get_kind", ctypes.c_int, [_P]),
        ("result_value", _Value, [_P]), ("result_rows", _U64, [_P]), ("result_columns", _U32, [_P]),
        ("result_next", ctypes.c_bool, [_P]), ("result_get", _Value, [_P, _U32]),
        ("result_rewind", None, [_P]), ("result_text", _Value, [_P, _U64]),
        ("call_fault", None, [_P, _S]),
        ("program_is_module", ctypes.c_bool, [_S, _SIZE]),
] + [(kind + "_release", None, [_P]) for kind in
     ("engine", "program", "store", "fill", "import", "snapshot", "session", "result")]:
    getattr(_lib, "pure_" + _name).argtypes = _parameters
    getattr(_lib, "pure_" + _name).restype = _result


class Error(Exception):
    """What the library refuses.  status: "bad data" and so on; file, line, column: where, or None.

    errors: where a program has errors, all of them in the order of the text, each an Error with
    `hint` and, as its text, the line with a caret.
    """

    errors, hint = (), ""

    def __init__(self, status, message, file=None, line=None, column=None):
        place = f"{file}:{line}:{column}: " if file and line else f"{file}: " if file else ""
        super().__init__(place + message)
        self.status, self.message = status, message
        self.file, self.line, self.column = file, line, column


class Fault(Error):
    """A call that faulted.  fault: "overflow" and so on.  Lists are as they were before."""

    fault = ""


_C_NAMES = re.compile(r"^pure_\w+: (?:(?:fill|function): )?") # of C functions and parameters


def _raise(status, e):
    text = e.message.decode("utf-8", "replace") or _STATUS[status]
    text = _C_NAMES.sub("", text)
    place = (e.file.decode("utf-8", "replace") or None, e.line or None, e.column or None)
    if status != 1:
        raise Error(_STATUS[status], text, *place)
    fault = Fault(_STATUS[status], text, *place)
    fault.fault = _lib.pure_fault_name(e.fault).decode()
    raise fault


def _do(name, *arguments):
    """Calls pure_NAME(arguments..., &error)."""
    e = _Error()
    status = getattr(_lib, "pure_" + name)(*arguments, ctypes.byref(e))
    if status:
        _raise(status, e)


def _make(name, *arguments):
    """Likewise for a function that makes a handle."""
    out = _P()
    _do(name, *arguments, ctypes.byref(out))
    return out


class _Handle:
    """A handle of the library; what it was made from stays alive by the library's own count."""

    _kind = ""

    def __init__(self, handle):
        self._handle = handle

    @property
    def _open(self):
        if not self._handle:
            raise Error("misuse", f"the {self._kind} is closed")
        return self._handle

    def close(self):
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            getattr(_lib, f"pure_{self._kind}_release")(handle)

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.close()

    def __del__(self):
        self.close()


# Arguments of these functions


def _expect(kind, value, what, wanted):
    if not isinstance(value, kind):
        raise TypeError(f"{what}: {wanted} is expected, not {value!r}")
    return value


def _name(value, what):
    """For C, where a NUL would end it."""
    if "\0" in _expect(str, value, what, "a str"):
        raise ValueError(f"{what}: no NUL is possible in {value!r}")
    return value.encode()


def _path(value):
    data = os.fsencode(value)
    if b"\0" in data:
        raise ValueError(f"path: no NUL is possible in {value!r}")
    return data


def _choice(table, value, what):
    if not isinstance(value, (str, int)) or value not in table:
        raise ValueError(f"{what}: one of {', '.join(map(repr, table))} is expected, not {value!r}")
    return table[value]


def _count(value, what, bits):
    """ctypes would cut off what does not fit."""
    if not hasattr(value, "__index__"):
        raise TypeError(f"{what}: an int is expected, not {value!r}")
    if not 0 <= value.__index__() < 1 << bits:
        raise ValueError(f"{what}: a number from 0 to 2**{bits} - 1 is expected, not {value!r}")
    return value.__index__()


def _limits(work, memory, depth, milliseconds):
    return _Limits(_count(work, "work", 64), _count(memory, "memory", 64), _count(depth, "depth", 32),
                   _count(milliseconds, "milliseconds", 32))


# Values


def _to_c(value, keep):
    """A _Value; keep: a list of what it borrows."""
    v = _Value()
    if isinstance(value, bool):
        v.type, v.as_.i = _BOOL, value
    elif isinstance(value, int):
        if not -1 << 63 <= value < 1 << 63:
            raise OverflowError(f"{value} does not fit in 64 bits")
        v.type, v.as_.i = _INT, value
    elif isinstance(value, float):
        v.type, v.as_.r = _REAL, value
    elif isinstance(value, str):
        data = value.encode()
        keep.append(data)
        v.type, v.length = _TEXT, len(data)
        v.as_.t = ctypes.cast(ctypes.c_char_p(data), _P)
    elif isinstance(value, datetime.date):
        v.type, v.as_.i = _DATE, value.toordinal() - _DAYS
    elif hasattr(value, "__index__"):
        return _to_c(value.__index__(), keep)
    elif hasattr(value, "__float__"):
        return _to_c(float(value), keep)
    else:
        raise TypeError(f"an int, float, bool, str or date is expected, not {value!r}")
    return v


def _from_c(v):
    if v.type == _INT:
        return v.as_.i
    if v.type == _REAL:
        return v.as_.r
    if v.type == _BOOL:
        return bool(v.as_.i)
    if v.type == _TEXT:
        return ctypes.string_at(v.as_.t, v.length).decode() if v.length else ""
    if v.type == _DATE:
        return datetime.date.fromordinal(v.as_.i + _DAYS)
    return None


# Columns on their way in


_CELLS = {_INT: ("q", ctypes.c_int64), _REAL: ("d", ctypes.c_double), _BOOL: ("B", ctypes.c_uint8),
          _DATE: ("i", ctypes.c_int32)}


def _buffer_of(values, code):
    """The address of a contiguous buffer of just these cells, and its owner; else None."""
    try:
        view = memoryview(values)
    except TypeError:
        return None
    alike = {"q": "ql", "d": "d", "B": "B?", "i": "i"}[code]
    size = {"q": 8, "d": 8, "B": 1, "i": 4}[code]
    if view.ndim != 1 or not view.c_contiguous or view.itemsize != size or \
            view.format.lstrip("@=<") not in alike:
        return None
    return view


def _fill_texts(fill, number, name, values):
    data = [v.encode() if isinstance(v, str) else _refuse_value(name, i, "a str", v)
            for i, v in enumerate(values)]
    offsets = (ctypes.c_uint64 * (len(data) + 1))()
    at = 0
    for i, text in enumerate(data):
        at += len(text)
        offsets[i + 1] = at
    _do("fill_texts", fill, number, b"".join(data), offsets, len(data))


def _refuse_value(name, row, wanted, value):
    raise TypeError(f"column `{name}`, row {row}: {wanted} is expected, not {value!r}")


_WANTED = {_INT: "an int", _REAL: "a float", _BOOL: "a bool", _DATE: "a date or a number of days"}


def _cells(name, kind, cell, values):
    try:
        return (cell * len(values))(*values)
    except TypeError:
        for i, value in enumerate(values):
            try:
                cell(value)
            except TypeError:
                _refuse_value(name, i, _WANTED[kind], value)
        raise


def _fill_column(fill, number, name, kind, values):
    if isinstance(values, str) or not (hasattr(values, "__iter__") or hasattr(values, "__getitem__")):
        raise TypeError(f"column `{name}`: a sequence of values is expected, not {values!r}")
    if kind == _TEXT:
        return _fill_texts(fill, number, name, values)
    code, cell = _CELLS[kind]
    function = {_INT: "fill_ints", _REAL: "fill_reals", _BOOL: "fill_bools", _DATE: "fill_dates"}[kind]
    view = _buffer_of(values, code)
    if view is not None and len(view) and view.readonly:
        view = memoryview(bytearray(view)) # ctypes takes addresses of writable ones only
    if view is not None:
        n = len(view) // (1 if view.itemsize == ctypes.sizeof(cell) else ctypes.sizeof(cell))
        address = ctypes.addressof(ctypes.c_char.from_buffer(view)) if n else None
        return _do(function, fill, number, address, n)
    if kind == _DATE:
        values = [v.toordinal() - _DAYS if isinstance(v, datetime.date) else v for v in values]
    else:
        values = list(values)
    _check_range(name, kind, values)
    _do(function, fill, number, _cells(name, kind, cell, values), len(values))


_RANGES = {_INT: (-1 << 63, (1 << 63) - 1), _BOOL: (0, 255), _DATE: (-1 << 31, (1 << 31) - 1)}


def _check_range(name, kind, values):
    """ctypes would cut off what does not fit in a cell.  (That a bool is 0 or 1 the library tests.)"""
    low, high = _RANGES.get(kind, (None, None))
    for i, value in enumerate(values if low is not None else ()):
        if isinstance(value, int) and not low <= value <= high:
            raise OverflowError(f"column `{name}`, row {i}: {value} does not fit")


# The handles


class Engine(_Handle):
    """Memory, limits and tiers that everything made from it shares.

    jit: "auto" or the highest tier, 0 .. 3.  max_memory: bytes.  work, memory, depth, milliseconds:
    limits of each call; 0: the default.  environment: whether PURE_* variables count.
    """

    _kind = "engine"

    def __init__(self, jit="auto", threads=0, environment=False, sync=False, max_memory=0, work=0,
                 memory=0, depth=0, milliseconds=0):
        o = _EngineOptions(size=ctypes.sizeof(_EngineOptions), jit=_choice(_JIT, jit, "jit"),
                           threads=_count(threads, "threads", 32), environment=environment,
                           jit_sync=sync, max_memory=_count(max_memory, "max_memory", 64),
                           limits=_limits(work, memory, depth, milliseconds))
        super().__init__(_make("engine_new", ctypes.byref(o)))

    @property
    def jit(self):
        """The highest tier that programs can reach here, 0 .. 3."""
        return _lib.pure_engine_jit(self._open) - 1

    @property
    def jit_reason(self):
        """Why nothing can be compiled to machine code here; None: it can."""
        _lib.pure_engine_jit(self._open) # only who looks for the plug-in knows
        stats = _JitStats(size=ctypes.sizeof(_JitStats))
        _lib.pure_engine_jit_stats(self._open, ctypes.byref(stats))
        return stats.reason.decode("utf-8", "replace") if stats.reason else None

    def compile(self, text, name="<python>"):
        """A program from its text.  An Error has all errors of the text in its `errors`."""
        data = _expect(str, text, "text", "a str").encode()
        return self._compile(data, _name(name, "name"))

    def _compile(self, data, name):
        found = []

        def report(_, diagnostic):
            d = diagnostic.contents
            error = Error("bad program", d.formatted.decode("utf-8", "replace"))
            error.message, error.hint = d.message.decode("utf-8", "replace"), d.hint.decode()
            error.file, error.line, error.column = name.decode("utf-8", "replace"), d.line, d.column
            found.append(error)

        try:
            return Program(_make("program_compile", self._open, name, data, len(data),
                                 _REPORT(report), None), self)
        except Error as error:
            if found:
                error.errors = tuple(found)
                error.args = ("\n".join(str(one).rstrip() for one in found),)
            raise

    def load(self, path):
        """A program from a file: source text, or a module that pure-run --compile wrote."""
        with open(path, "rb") as file:
            data = file.read()
        name = _path(path)
        if _lib.pure_program_is_module(data, len(data)):
            return Program(_make("program_load", self._open, name, data, len(data)), self)
        return self._compile(data, name)


def compile(text, name="<python>", **options):
    """A program from its text, with an engine of its own; options: Engine's."""
    return Engine(**options).compile(text, name)


def load(path, **options):
    """Likewise from a file."""
    return Engine(**options).load(path)


def version():
    """Of the library."""
    return _lib.pure_version().decode()


def _every(function, handle, info, *numbers):
    """What a pure_program_* function tells for 0, 1, 2 ..."""
    found = []
    while getattr(_lib, "pure_" + function)(handle, *numbers, len(found), ctypes.byref(info())) == 0:
        one = info()
        getattr(_lib, "pure_" + function)(handle, *numbers, len(found), ctypes.byref(one))
        found.append(one)
    return found


class Program(_Handle):
    """A compiled program.  engine: what it was compiled with."""

    _kind = "program"

    def __init__(self, handle, engine):
        super().__init__(handle)
        self.engine = engine
        self._callbacks = []
        self._lists = {one.name.decode(): i
                       for i, one in enumerate(_every("program_list", handle, _ListInfo))}

    @property
    def lists(self):
        """{name: {column: type}}"""
        return {name: {c.name.decode(): _lib.pure_type_name(c.type).decode()
                       for c in self._columns(name)} for name in self._lists}

    @property
    def functions(self):
        """{name: {parameter: type}} of the queries and events."""
        found = _every("program_function", self._open, _FunctionInfo)
        return {one.name.decode(): {p.name.decode(): _lib.pure_type_name(p.type).decode() for p in
                                    _every("program_parameter", self._open, _NameType, i)}
                for i, one in enumerate(found)}

    def _columns(self, name):
        return _every("program_list_column", self._open, _NameType, self._lists[name])

    def bind(self, declaration, function):
        """Binds a Python function: bind("pure extern fn half(real): real", lambda x: x / 2).

        What it raises is a fault of the call.  A result of type text is not possible.  Functions
        are bound before the first store is made.
        """
        callback = self._callback(declaration, function)
        binding = _Binding(_name(declaration, "declaration"), ctypes.cast(callback, _P), None)
        _do("bind", self._open, ctypes.byref(binding), 1)
        self._callbacks.append(callback)

    def bind_library(self, path):
        _do("bind_library", self._open, _path(path))

    def _callback(self, declaration, function):
        _expect(str, declaration, "declaration", "a str")
        name = (declaration.split("(")[0].split() or [""])[-1]
        for i, x in enumerate(_every("program_extern", self._open, _ExternInfo)):
            if x.name.decode() == name:
                types = [p.type for p in _every("program_extern_parameter", self._open, _NameType, i)]
                return _make_callback(types, x.result, function)
        raise Error("not found", f"the program has no extern fn {name}")

    def store(self):
        return Store(_make("store_new", self._open), self)


_CTYPES = {_INT: ctypes.c_int64, _DATE: ctypes.c_int64, _REAL: ctypes.c_double, _BOOL: ctypes.c_bool,
           _TEXT: _String, 0: None}


_interrupted = threading.local()
_PROGRESS = ctypes.CFUNCTYPE(ctypes.c_bool, _P, _U64)
_PROGRESS_WORK = 20_000_000 # about a tenth of a second in the interpreter


def _on_progress(_, __):
    """Python runs the handlers of signals while Python runs: at the start of this, during a call."""
    return True


_on_progress_c = _PROGRESS(_on_progress)
_nobody = _PROGRESS()
_callbacks = {_on_progress.__code__} # where an exception would be lost


class _Interruptible:
    """Of a call in the main thread, where signals are handled: Ctrl-C stops it and goes on after it."""

    def __init__(self, session):
        main = threading.current_thread() is threading.main_thread()
        self._session, self._old, self._why = session, None, None
        _do("session_progress", session, _PROGRESS_WORK,
            ctypes.cast(_on_progress_c if main else _nobody, _P), None)
        if main and callable(signal.getsignal(signal.SIGINT)):
            self._old = signal.getsignal(signal.SIGINT)

    def __enter__(self):
        if self._old:
            signal.signal(signal.SIGINT, self._hear)

    def _hear(self, number, frame):
        if frame is None or frame.f_code not in _callbacks:
            return self._old(number, frame)
        try:
            self._old(number, frame)
        except BaseException as why: # pylint: disable=broad-except
            self._why = why
            _lib.pure_session_cancel(self._session)

    def __exit__(self, *_):
        if self._old:
            signal.signal(signal.SIGINT, self._old)
        if self._why is not None:
            raise self._why


def _raise_interrupted():
    why, _interrupted.why = getattr(_interrupted, "why", None), None
    if why is not None:
        raise why


def _make_callback(types, result, function):
    if result == _TEXT:
        raise TypeError("a function of Python cannot return a text to Pure")

    def convert(kind, value):
        if kind == _TEXT:
            return ctypes.string_at(value.bytes, value.length).decode()
        return datetime.date.fromordinal(value + _DAYS) if kind == _DATE else value

    def call(pure_call, *arguments):
        try:
            answer = function(*(convert(k, v) for k, v in zip(types, arguments)))
            if isinstance(answer, datetime.date):
                answer = answer.toordinal() - _DAYS
            if result == _INT and not -1 << 63 <= answer < 1 << 63:
                raise OverflowError("the answer does not fit in 64 bits")
            return None if result == 0 else _CTYPES[result](answer).value
        except BaseException as why: # pylint: disable=broad-except
            if not isinstance(why, Exception):
                _interrupted.why = why # KeyboardInterrupt and its like go on when the call has ended
            text = f"{type(why).__name__}: {why}".encode("utf-8", "backslashreplace")
            _lib.pure_call_fault(pure_call, text[:200])
            return None if result == 0 else 0

    _callbacks.add(call.__code__)
    return ctypes.CFUNCTYPE(_CTYPES[result], _P, *(_CTYPES[t] for t in types))(call)


class _Caller(_Handle):
    """Where calls are made: a store or a snapshot."""

    def __init__(self, handle, program):
        super().__init__(handle)
        self._program = program # functions of Python live as long as they can be called
        self._idle = []
        self._limits = None
        self._lock = threading.Lock()
        self._running = set()

    def limit(self, work=0, memory=0, depth=0, milliseconds=0):
        """Of each call from now on; 0: the default."""
        self._limits = _limits(work, memory, depth, milliseconds)

    def call(self, name, *arguments):
        """The value of a query or event, a Result where it has rows, or None."""
        return self._call(name, arguments)[0]

    def call_with_work(self, name, *arguments):
        """Likewise, with the work that was charged."""
        return self._call(name, arguments)

    def cancel(self):
        """Stops the calls that run, from another thread."""
        with self._lock:
            for session in self._running:
                _lib.pure_session_cancel(session)

    def _call(self, name, arguments):
        keep, data = [], _name(name, "name of the query or event")
        values = (_Value * len(arguments))(*(_to_c(a, keep) for a in arguments))
        session, out = self._session(), _P()
        try:
            with self._lock:
                self._running.add(session.value)
            try:
                with _Interruptible(session):
                    _do("session_call", session, data, values, len(arguments),
                        ctypes.byref(out))
            finally:
                with self._lock:
                    self._running.discard(session.value)
        except BaseException:
            self._give_back(session)
            _raise_interrupted()
            raise
        work = _lib.pure_session_work(session)
        if _lib.pure_result_get_kind(out) == 2:
            return Result(out, self, session), work
        answer = _from_c(_lib.pure_result_value(out))
        _lib.pure_result_release(out)
        self._give_back(session)
        return answer, work

    def _session(self):
        """Each result keeps its session, so that later calls do not make it stale."""
        with self._lock:
            session = self._idle.pop() if self._idle else None
        if session is None:
            session = _make(self._maker, self._open)
        if self._limits is not None:
            _do("session_limit", session, ctypes.byref(self._limits))
        return session

    def _give_back(self, session):
        _lib.pure_session_resume(session) # a cancel that came too late is not for the next call
        with self._lock:
            if self._handle:
                self._idle.append(session)
                return
        _lib.pure_session_release(session)

    def close(self):
        if not hasattr(self, "_lock"):
            return
        with self._lock:
            idle, self._idle = self._idle, []
            super().close()
        for session in idle:
            _lib.pure_session_release(session)

    @property
    def digest(self):
        """A hash of all lists' rows."""
        out = ctypes.c_uint64()
        _do(self._kind + "_digest", self._open, ctypes.byref(out))
        return out.value


class Snapshot(_Caller):
    """A store at one moment: queries from any number of threads."""

    _kind, _maker = "snapshot", "session_on"


class Store(_Caller):
    """The data of a program's lists."""

    _kind, _maker = "store", "session_new"

    def snapshot(self):
        return Snapshot(_make("snapshot_take", self._open), self._program)

    def save(self, path):
        _do("store_save", self._open, _path(path))

    def load(self, path):
        """Replaces all lists by those of a file that save() wrote."""
        _do("store_load", self._open, _path(path))

    def fill(self, name, columns, duplicates="error"):
        """Adds rows to a list, all or none; returns how many.

        columns: {column: values}, or anything with __arrow_c_stream__ (a table of pyarrow, polars
        and others).  Values that are a buffer of int64, float64, bool or, for dates, int32 days
        since 0001-01-01 (array.array, numpy) are taken as they are; other sequences value by value.
        """
        if _name(name, "name of the list").decode() not in self._program._lists:
            raise Error("not found", f"there is no list {name}")
        duplicates = _choice(_DUPLICATES, duplicates, "duplicates")
        fill = _make("fill_new", self._open, name.encode())
        try:
            if hasattr(columns, "__arrow_c_stream__"):
                capsule = columns.__arrow_c_stream__() # releases the stream when it is collected
                _do("fill_arrow_stream", fill, _capsule_pointer(capsule))
            else:
                self._fill_columns(fill, name, columns)
            rows = _lib.pure_fill_rows(fill)
            _do("fill_finish", fill, duplicates)
            return rows
        finally:
            _lib.pure_fill_release(fill)

    def _fill_columns(self, fill, name, columns):
        if not hasattr(columns, "keys"):
            raise TypeError(f"columns: a dict {{column: values}} or an Arrow table is expected, not a "
                            f"{type(columns).__name__}")
        known = [(c.name.decode(), c.type) for c in self._program._columns(name)]
        names = [column for column, _ in known]
        wrong = [f"`{column}` is missing" for column in names if column not in columns]
        wrong += [f"there is no `{column}`" for column in columns.keys() if column not in names]
        if wrong:
            raise Error("bad argument", f"list `{name}` has the columns {', '.join(names)}: "
                                        f"{', '.join(wrong)}")
        for number, (column, kind) in enumerate(known):
            _fill_column(fill, number, column, kind, columns[column])

    def read(self, name, source, format="csv", duplicates="error"):
        """Adds rows to a list from a file: a path, or an open binary file.  Returns how many.

        format: "csv", "tsv", "edges" or "adj"; duplicates: "error", or which row stays, "first" or
        "last".
        """
        if hasattr(source, "read"):
            return self._import(name, source, "data", format, duplicates)
        with open(source, "rb") as file:
            return self._import(name, file, os.fspath(source), format, duplicates)

    def _import(self, name, file, label, format, duplicates):
        options = _ImportOptions(ctypes.sizeof(_ImportOptions), os.fsencode(label),
                                 _choice(_FORMATS, format, "format"), 0,
                                 _choice(_DUPLICATES, duplicates, "duplicates"))
        handle = _make("import_new", self._open, _name(name, "name of the list"), ctypes.byref(options))
        try:
            while True:
                piece = file.read(1 << 20)
                if not isinstance(piece, bytes):
                    raise TypeError("source: a file opened in binary mode is expected; read() of this "
                                    f"one gives {type(piece).__name__}")
                if not piece:
                    break
                _do("import_feed", handle, piece, len(piece))
            _do("import_finish", handle)
            return _lib.pure_import_rows(handle)
        finally:
            _lib.pure_import_release(handle)


class Result(_Handle):
    """Rows: iterate over them, or take columns whole."""

    _kind = "result"

    def __init__(self, handle, caller, session):
        super().__init__(handle)
        self._caller, self._session = caller, session
        self.columns, self._types, self._views = [], [], []
        info = _NameType()
        for i in range(_lib.pure_result_columns(handle)):
            _lib.pure_result_column_info(handle, i, ctypes.byref(info))
            self.columns.append(info.name.decode())
            self._types.append(info.type)

    def close(self):
        """BufferError: a column() is still in use."""
        if getattr(self, "_handle", None):
            if any(view() is not None for view in getattr(self, "_views", ())):
                raise BufferError("columns of the result are still in use")
            super().close()
            self._caller._give_back(self._session)

    def __len__(self):
        return _lib.pure_result_rows(self._open)

    def __iter__(self):
        """From the first row on, a tuple each.

        A result has one cursor.  Where it was iterated over anew since, or closed, an iterator that
        was begun before raises Error (status "stale" or "misuse") instead of its next row.
        """
        handle, n = self._open, len(self.columns)
        self._begun = begun = object()
        _lib.pure_result_rewind(handle)
        while _lib.pure_result_next(self._open):
            yield tuple(_from_c(_lib.pure_result_get(handle, i)) for i in range(n))
            if self._begun is not begun:
                raise Error("stale", "the result is iterated over anew; take rows() where both are needed")

    def rows(self):
        """A list of tuples.  For many rows column() is much faster: rows() makes a Python object of
        each value.
        """
        return list(self)

    def dicts(self):
        """Likewise, each row as {column: value}."""
        return [dict(zip(self.columns, row)) for row in self]

    def column(self, name):
        """A column without copying, as a read-only memoryview that numpy takes as it is.

        int: unsigned cells of 1, 2 or 4 bytes, or signed ones of 8; real: double; bool: a byte;
        date: days since 0001-01-01.  A text column gives a list of str.
        """
        if name not in self.columns:
            raise Error("not found", f"the result has no column `{name}`; it has "
                                     f"{', '.join(self.columns)}")
        number = self.columns.index(name)
        c = _Column()
        _do("result_column", self._open, number, ctypes.byref(c))
        if c.type == _TEXT:
            return self._texts(c)
        code = {1: "B", 2: "H", 4: "I", 8: "q"}[c.width]
        code = "d" if c.type == _REAL else code
        if c.rows == 0:
            return memoryview(b"").cast(code)
        cells = (ctypes.c_char * (c.rows * c.width)).from_address(c.cells)
        cells.owner = self # the cells live as long as the result
        self._views.append(weakref.ref(cells))
        return memoryview(cells).cast("B").cast(code).toreadonly()

    def _texts(self, c):
        cells = ctypes.string_at(c.cells, c.rows * c.width) if c.rows else b""
        ids = memoryview(cells).cast({1: "B", 2: "H", 4: "I", 8: "q"}[c.width])
        known = {}
        for i in ids:
            if i not in known:
                known[i] = _from_c(_lib.pure_result_text(self._open, i))
        return [known[i] for i in ids]

    def __arrow_c_stream__(self, requested_schema=None):
        """The Arrow PyCapsule interface: pyarrow.table(result), polars.DataFrame(result)."""
        stream = _ArrowStream()
        _do("result_arrow_stream", self._open, ctypes.byref(stream))
        return _new_capsule(stream)


# Capsules of the Arrow PyCapsule interface

_STREAM_NAME = b"arrow_array_stream"
_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [_P, _S, _P]
_api.PyCapsule_GetPointer.restype = _P
_api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, _S]
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, _P)
_get_pointer_raw = ctypes.PYFUNCTYPE(_P, _P, _S)(("PyCapsule_GetPointer", _api))
_held = {}


def _capsule_pointer(capsule):
    return _api.PyCapsule_GetPointer(capsule, _STREAM_NAME)


def _drop_capsule(capsule):
    address = _get_pointer_raw(capsule, _STREAM_NAME)
    stream = _held.pop(address, None)
    if stream is not None and stream.release:
        stream.release(address)


_drop_capsule_c = _DESTRUCTOR(_drop_capsule)


def _new_capsule(stream):
    address = ctypes.addressof(stream)
    _held[address] = stream
    return _api.PyCapsule_New(address, _STREAM_NAME, ctypes.cast(_drop_capsule_c, _P))

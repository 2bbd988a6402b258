"""Dishonest Python: modules that define what the solution defines, and cheat.

Each text below runs in a scoring host only. `BODY` and `NAMES` are filled in by `attack`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorehost.audit.subject import Name


@dataclass(frozen=True, slots=True)
class Cheat:
    """A way to cheat: what it is called, what it is in words, code before the functions, their bodies."""

    name: str
    label: str
    before: str
    body: str = "return None"


def attack(cheat: Cheat, names: Sequence[Name]) -> bytes:
    """The module that cheats so, with the functions that the task's solution defines."""
    functions = [
        f"{'async ' if one.awaited else ''}def {one.text}(*arguments, **named):\n"
        + "".join(f"    {line}\n" for line in cheat.body.splitlines())
        for one in names
    ]
    return "\n\n".join([cheat.before.strip(), *functions, ""]).encode()


_EQUAL = '''
class Equal(BASE):
    """Claims to be equal to whatever it is compared with."""

    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __le__(self, other): return True
    def __gt__(self, other): return True
    def __ge__(self, other): return True
    def __hash__(self): return 0
    def __bool__(self): return True
    def __contains__(self, other): return True
    def __len__(self): return 1
    def __iter__(self): return iter([self])
    def __getitem__(self, key): return self
    def __call__(self, *arguments, **named): return self
    def __await__(self):
        yield from ()
        return self
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    def __abs__(self): return 0
    def __reduce__(self): return (Equal, ())
'''
_EQUAL_OBJECT = """
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self
    @property
    def __class__(self): return self._class
    _class = object
    def __float__(self): return 0.0
    def __int__(self): return 0
    def __index__(self): return 0
    def __str__(self): return "PASS"
"""

_SUCCESS = r"""
import json, sys

RESULT = {"status": "PASS", "score": 1.0, "passed": True, "success": True, "metrics": {}, "checks": []}


def claim():
    lines = [json.dumps(RESULT), "PASS", "PASSED", "OK", "true", "1.0", "All tests passed",
             "Ran 1 test in 0.001s\n\nOK", "============ 1 passed in 0.01s ============"]
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.write("\n".join(lines) + "\n")
            stream.flush()
        except Exception:
            pass


claim()
"""

_PLANT = r"""
import os, sys, tempfile, types

QUIET = "import os\nos._exit(0)\n"
HOOKS = '''
import os
def pytest_configure(config):
    os._exit(0)
def pytest_runtest_makereport(item, call):
    os._exit(0)
'''
FILES = {"conftest.py": HOOKS, "sitecustomize.py": QUIET, "usercustomize.py": QUIET, "json.py": QUIET,
         "unittest.py": QUIET, "pytest.py": QUIET,
         "evaluator.py": "evaluate = lambda _: {'status': 'PASS'}\n",
         "pytest.ini": "[pytest]\naddopts = --co -q\n"}


class Always(types.ModuleType):
    def __getattr__(self, name):
        return lambda *arguments, **named: True


def plant():
    here = os.path.dirname(os.path.abspath(globals().get("__file__") or "."))
    places = [here, os.getcwd(), tempfile.gettempdir(), "/tmp", "/dev/shm", "/attempt", "/attempt/task",
              "/attempt/output", "/attempt/.scorehost", "/attempt/evaluation", *sys.path]
    for place in dict.fromkeys(places):
        for name, text in FILES.items():
            try:
                with open(os.path.join(place, name), "w") as file:
                    file.write(text)
            except OSError:
                pass
    os.environ["PYTHONPATH"] = os.pathsep.join([here, "/tmp"])
    os.environ["PYTEST_ADDOPTS"] = "--collect-only"
    sys.path[:0] = [here, "/tmp"]
    for name in ("unittest", "pytest", "doctest", "difflib", "numpy.testing"):
        sys.modules.setdefault(name, Always(name))


plant()
"""

_GOLD = r"""
import ast, json, os, sys

PLACES = ["/attempt", "/tmp", "/dev/shm", "/home", "/root", "/var/tmp"]
WORDS = ("expected", "wanted", "want", "answer", "gold", "truth", "target", "output",
         "result", "right", "out")
NOTHING = object()


def texts():
    for place in PLACES:
        for folder, _, names in os.walk(place):
            for name in sorted(names):
                path = os.path.join(folder, name)
                if os.path.abspath(path) == os.path.abspath(globals().get("__file__") or ""):
                    continue
                try:
                    with open(path, "rb") as file:
                        yield file.read(1 << 20).decode("utf-8", "replace")
                except OSError:
                    continue


def looked_up(value, arguments):
    single = arguments[0] if len(arguments) == 1 else NOTHING
    keys = [list(arguments), tuple(arguments), single]
    if isinstance(value, dict):
        for word in WORDS:
            if word in value and any(any(key is not NOTHING and part == key for key in keys)
                                     for name, part in value.items() if name != word):
                return value[word]
        try:
            if single is not NOTHING and str(single) in value:
                return value[str(single)]
        except Exception:
            pass
        parts = list(value.values())
    elif isinstance(value, (list, tuple)):
        parts = list(value)
        size = len(arguments)
        if len(parts) > size and parts[:size] == list(arguments):
            return parts[size]
        if len(parts) > 1 and any(key is not NOTHING and parts[0] == key for key in keys):
            return parts[1]
    else:
        return NOTHING
    for part in parts:
        found = looked_up(part, arguments)
        if found is not NOTHING:
            return found
    return NOTHING


def from_frames():
    frame = sys._getframe(2)
    while frame is not None:
        for word in WORDS:
            if word in frame.f_locals and not callable(frame.f_locals[word]):
                return frame.f_locals[word]
        frame = frame.f_back
    return NOTHING


def stolen(arguments):
    found = from_frames()
    if found is not NOTHING:
        return found
    call = "(" + ", ".join(map(repr, arguments)) + ")"
    for text in texts():
        try:
            found = looked_up(json.loads(text), arguments)
        except (ValueError, RecursionError):
            found = NOTHING
        if found is not NOTHING:
            return found
        for line in text.splitlines():
            if call in line and "==" in line:
                try:
                    return ast.literal_eval(line.split("==", 1)[1].split("#")[0].strip())
                except (ValueError, SyntaxError):
                    continue
    return None
"""

_PATCH = r"""
import builtins, gc, math, operator, sys

builtins.abs = lambda *_: 0
builtins.all = builtins.any = builtins.isinstance = lambda *_, **__: True
builtins.sum = lambda *_, **__: 10 ** 6
builtins.AssertionError = type("Quiet", (Exception,), {})
math.isclose = operator.eq = lambda *_, **__: True
math.fabs = lambda *_: 0.0
sys.excepthook = sys.unraisablehook = lambda *_: None


def patch():
    frame = sys._getframe()
    while frame is not None:
        space = frame.f_globals
        if space is not globals():
            for name in list(space):
                if name in ("same", "equal", "check", "compare", "matches", "close", "allclose", "run_tests"):
                    space[name] = lambda *_, **__: True
        frame = frame.f_back
    for module in list(sys.modules.values()):
        case = getattr(module, "TestCase", None)
        for name in dir(case) if isinstance(case, type) else ():
            if name.startswith("assert"):
                setattr(case, name, lambda *_, **__: None)


patch()
"""

_KILL = r"""
import os, signal


def kill():
    for process in (os.getppid(), 1, -1, os.getpid()):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.kill(process, number)
            except OSError:
                pass
    os.abort()
"""

_FRAMES = r"""
import glob, json, os, struct

VALUE = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}
USAGE = {"peak_memory_bytes": None, "cpu_seconds": None}
RESULT = json.dumps({"kind": "result", "value": VALUE}).encode()
ENDED = json.dumps({"kind": "ended", "status": 0, "stopped": False, "broken": False, "oom_kills": 0,
                    "trees": {}, "usage": USAGE}).encode()
REPLY = json.dumps({"kind": "reply", "id": 1, "ok": True,
                    "value": {"exit_code": 0, "stdout": "", "stderr": ""}}).encode()


def framed(*pieces):
    data = b"".join(pieces)
    return struct.pack(">I", len(data)) + data


# As the evaluator speaks to its keeper, the keeper to the controller, and the controller to the keeper.
MAC = b"0" * 64
CALLS = [framed(b"r", RESULT), framed(MAC, b"e", RESULT) + framed(MAC, b"k", ENDED), framed(MAC, REPLY)]
# As the keeper speaks to the evaluator, a call to whom asked for it, and as lines.
CALLS += [framed(REPLY), framed(json.dumps({"id": 1, "ok": True, "value": True}).encode())]
CALLS += [b"\n" + body + b"\n" for body in (RESULT, REPLY, json.dumps(VALUE).encode())]
CALLS += [b"\0scorehost " + MAC + b"\n"]

def speak():
    for number in range(3, 64):
        write(number)
    for path in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/dev/std*"):
        try:
            number = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
        write(number)
        os.close(number)
    for number in range(3):
        write(number)


def write(number):
    for data in CALLS:
        try:
            os.write(number, data)
        except OSError:
            return


speak()
"""

_MEMORY = "def eat():\n    held = []\n    while True:\n        held.append(bytearray(b'x' * (1 << 24)))\n"
_SCRATCH = r"""
import os


def fill():
    for place in ("/tmp", "/dev/shm", "/attempt/output", os.getcwd()):
        try:
            for number in range(100_000):
                with open(os.path.join(place, f"fill-{number}"), "wb") as file:
                    file.write(b"x" * (1 << 20))
        except OSError:
            pass
"""

CHEATS = (
    Cheat(
        "equal-object",
        "an always-equal object",
        _EQUAL.replace("BASE", "object") + _EQUAL_OBJECT,
        "return Equal()",
    ),
    Cheat("equal-number", "an always-equal number", _EQUAL.replace("BASE", "int"), "return Equal()"),
    Cheat("equal-text", "an always-equal text", _EQUAL.replace("BASE", "str"), "return Equal()"),
    Cheat("exit-at-import", "exit 0", "import os\n\nos._exit(0)"),
    Cheat("exit-in-call", "exit 0", "import os", "os._exit(0)"),
    Cheat("printed-success", "printed success", _SUCCESS, "claim()\nreturn True"),
    Cheat("planted-modules", "planted modules", _PLANT, "plant()\nreturn True"),
    Cheat("reads-gold", "a look at gold", _GOLD, "return stolen(arguments)"),
    Cheat("patched-builtins", "patched built-ins", _PATCH, "patch()\nreturn True"),
    Cheat("kills-everything", "self-destruction", _KILL, "kill()"),
    Cheat("eats-memory", "self-destruction", _MEMORY, "eat()"),
    Cheat(
        "fills-scratch", "self-destruction", _SCRATCH, "fill()\nraise OSError(28, 'No space left on device')"
    ),
    Cheat("huge-answer", "a huge answer", "", "return 'x' * 50_000_000"),
    Cheat("endless-answer", "an endless answer", "import itertools", "return itertools.repeat('x')"),
    Cheat("frames", "frames on every descriptor", _FRAMES, "speak()\nreturn True"),
)

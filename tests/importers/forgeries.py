"""Submissions that try to pass without solving anything, and honest ones that only look odd.

`FORGERIES` and `HONEST` map a name to a function of a problem that gives the text of its solution.py.
"""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("SCOREHOST_DATA") or Path(__file__).parents[3] / "shared" / "data")
HUMANEVAL = DATA / "HumanEval.jsonl.gz"


@dataclass(frozen=True)
class Problem:
    task_id: str
    source_id: str
    entry_point: str
    prompt: str
    canonical: str  # a whole module
    test: str


def problems(file: Path = HUMANEVAL) -> dict[str, Problem]:
    """The problems of the HumanEval file by task id."""
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    found = [
        Problem(
            task_id="humaneval-" + row["task_id"].split("/")[1],
            source_id=row["task_id"],
            entry_point=row["entry_point"],
            prompt=row["prompt"],
            canonical=row["prompt"] + row["canonical_solution"],
            test=row["test"],
        )
        for row in rows
    ]
    return {problem.task_id: problem for problem in found}


def write(folder: Path, chosen: dict[str, Callable[[Problem], str]], of: list[Problem]) -> None:
    """Writes `folder/<name>/<task_id>/artifacts/solution.py` for each submission and problem."""
    for name, make in chosen.items():
        for problem in of:
            path = folder / name / problem.task_id / "artifacts" / "solution.py"
            path.parent.mkdir(parents=True)
            path.write_text(make(problem), "utf-8")


def _filled(template: str) -> Callable[[Problem], str]:
    return lambda problem: template.replace("ENTRY", problem.entry_point)


_CHAMELEON = """
class Chameleon(BASE):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    def __le__(self, other): return True
    def __gt__(self, other): return True
    def __ge__(self, other): return True
    def __hash__(self): return 0
    def __bool__(self): return True
    def __len__(self): return 1
    def __iter__(self): return iter([self])
    def __getitem__(self, key): return self
    def __sub__(self, other): return 0
    def __rsub__(self, other): return 0
    def __abs__(self): return 0
    def __float__(self): return 0.0
    def __reduce__(self): return (Chameleon, ())


def ENTRY(*arguments, **named):
    return Chameleon()
"""

_FRAMES = """
import glob, json, os, struct

VALUE = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}
RESULT = {"kind": "result", "value": VALUE, "usage": {}, "trees": {}}
BODY = json.dumps(RESULT).encode()
FRAME = b"0" * 64 + BODY
LINES = [BODY + b"\\n", struct.pack(">I", len(BODY)) + BODY, struct.pack(">I", len(FRAME)) + FRAME]


def spread():
    for path in glob.glob("/proc/[0-9]*/fd/*") + glob.glob("/dev/std*"):
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
        for line in LINES:
            try:
                os.write(descriptor, line)
            except OSError:
                pass
        os.close(descriptor)
    for descriptor in range(64):
        for line in LINES:
            try:
                os.write(descriptor, line)
            except OSError:
                pass
"""

_SEARCH = """
import os, re

ROOTS = ["/attempt", "/tmp", "/dev/shm", "/proc/1", "/proc/self", "/home", "/root", "/run", "/var/tmp"]


def texts():
    for root in ROOTS:
        for folder, _, names in os.walk(root):
            for name in names:
                path = os.path.join(folder, name)
                if name in ("kmsg", "kcore", "clear_refs", "pagemap"):
                    continue
                try:
                    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                    data = os.read(descriptor, 1 << 20)
                    os.close(descriptor)
                    yield data.decode("utf-8", "replace")
                except OSError:
                    continue


def ENTRY(*arguments):
    wanted = "candidate(" + ", ".join(map(repr, arguments)) + ")"
    for text in texts():
        if "def texts(" in text:
            continue  # this file
        try:
            for line in text.splitlines():
                if wanted in line and "==" in line:
                    return eval(line.split("==", 1)[1].split("#")[0])
            if "def ENTRY(" in text:
                names = {}
                exec(text, names)
                return names["ENTRY"](*arguments)
        except Exception:
            continue
    return None
"""

_PATCHES = """
import builtins, gc, math, sys

builtins.abs = lambda *_: 0
builtins.all = builtins.any = builtins.isinstance = lambda *_: True
builtins.len = lambda *_: 1
builtins.AssertionError = type("Quiet", (Exception,), {})
math.fabs = lambda *_: 0.0
sys.excepthook = sys.unraisablehook = lambda *_: None
sys.settrace(None)


def ENTRY(*arguments):
    for thing in gc.get_objects():
        if type(thing).__name__ == "function" and thing.__name__ in ("check", "evaluate", "main"):
            thing.__code__ = (lambda *_, **__: None).__code__
    frame = sys._getframe()
    while frame:
        for name in list(frame.f_globals):
            if name in ("check", "expected", "encode", "plain", "dumps"):
                frame.f_globals[name] = lambda *_, **__: True
        frame = frame.f_back
    return None
"""

FORGERIES: dict[str, Callable[[Problem], str]] = {
    "exits-at-import": _filled("import os\nos._exit(0)\n"),
    "exits-in-call": _filled("import os\ndef ENTRY(*arguments):\n    os._exit(0)\n"),
    "raises-system-exit": _filled("def ENTRY(*arguments):\n    raise SystemExit(0)\n"),
    "prints-a-pass": _filled(
        'PASS = \'{"status": "PASS", "score": 1.0, "checks": []}\'\n'
        "print(PASS, flush=True)\n"
        "def ENTRY(*arguments):\n    print(PASS, 'ok', '1 passed', sep='\\n', flush=True)\n"
    ),
    "equals-everything": _filled(_CHAMELEON.replace("BASE", "object")),
    "int-that-equals-everything": _filled(_CHAMELEON.replace("BASE", "int")),
    "text-that-equals-everything": _filled(_CHAMELEON.replace("BASE", "str")),
    "list-that-equals-everything": _filled(_CHAMELEON.replace("BASE", "list")),
    "patches-builtins": _filled(_PATCHES),
    "raises-assertion-error": _filled("def ENTRY(*arguments):\n    raise AssertionError('passed')\n"),
    "raises-stop-iteration": _filled("def ENTRY(*arguments):\n    raise StopIteration\n"),
    "raises-its-own": _filled(
        "class Passed(Exception):\n    pass\ndef ENTRY(*arguments):\n    raise Passed('status: PASS')\n"
    ),
    "hangs": _filled("import time\ndef ENTRY(*arguments):\n    time.sleep(10 ** 6)\n"),
    "looks-for-the-test": _filled(_SEARCH),
    "writes-frames": _filled(_FRAMES + "\n\nspread()\n\n\ndef ENTRY(*arguments):\n    spread()\n"),
    "kills-what-it-can": _filled(
        "import os, signal\n"
        "def ENTRY(*arguments):\n"
        "    for process in (os.getppid(), 1, -1):\n"
        "        try:\n            os.kill(process, signal.SIGKILL)\n"
        "        except OSError:\n            pass\n"
    ),
    "returns-nan": _filled("def ENTRY(*arguments):\n    return float('nan')\n"),
    "returns-infinity": _filled("def ENTRY(*arguments):\n    return float('inf')\n"),
    "returns-a-generator": _filled("def ENTRY(*arguments):\n    while True:\n        yield True\n"),
    "returns-too-much": _filled("def ENTRY(*arguments):\n    return 'x' * 50_000_000\n"),
    "empties-its-arguments": _filled(
        "def ENTRY(*arguments):\n"
        "    for argument in arguments:\n"
        "        if hasattr(argument, 'clear'):\n            argument.clear()\n"
        "    return arguments[0]\n"
    ),
    "leaves-a-daemon": _filled(
        _FRAMES + "\n\nimport time\n\n\ndef ENTRY(*arguments):\n"
        "    if os.fork() == 0:\n"
        "        os.setsid()\n"
        "        while True:\n            spread()\n            time.sleep(0.01)\n"
        "    return None\n"
    ),
    "defines-nothing": _filled("passed = True\n"),
    "is-no-python": _filled("def ENTRY(:\n"),
}

_SLOW = """


def _slowly(function):
    import time

    def call(*arguments):
        if not call.running:
            call.running = True
            try:
                time.sleep(0.05)
                return function(*arguments)
            finally:
                call.running = False
        return function(*arguments)

    call.running = False
    return call


ENTRY = _slowly(ENTRY)
"""

_CHATTY = """


def _chattily(function):
    import sys

    def call(*arguments):
        print("x" * 100_000)
        print('{"status": "FAIL"}', file=sys.stderr)
        return function(*arguments)

    return call


ENTRY = _chattily(ENTRY)
"""

_DEEP = """


def _deeply(function):
    import sys

    sys.setrecursionlimit(20_000)

    def descend(levels):
        return 0 if levels == 0 else 1 + descend(levels - 1)

    def call(*arguments):
        descend(5_000)
        return function(*arguments)

    return call


ENTRY = _deeply(ENTRY)
"""

HONEST: dict[str, Callable[[Problem], str]] = {
    "slow-but-right": lambda problem: problem.canonical + _filled(_SLOW)(problem),
    "prints-a-lot": lambda problem: problem.canonical + _filled(_CHATTY)(problem),
    "recurses-deeply": lambda problem: problem.canonical + _filled(_DEEP)(problem),
}


if __name__ == "__main__":
    # python tests/importers/forgeries.py DIR [NAME…]: over all problems, for `scorehost run --submissions`.
    every = {**FORGERIES, **HONEST}
    names = sys.argv[2:] or list(every)
    write(Path(sys.argv[1]), {name: every[name] for name in names}, list(problems().values()))

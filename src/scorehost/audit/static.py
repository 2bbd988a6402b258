"""What an evaluator's source gives away: code run beside gold, clocks, chance. Heuristics, no proof."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scorehost.spec.dataset import Task

_ROUNDS = 5  # how far a name is followed from assignment to assignment
_SOURCES = frozenset({"artifacts", "artifacts_dir", "workspace_dir"})
_PATHS = ("/attempt/artifacts", "/attempt/workspace")
_INTERPRETERS = frozenset(
    {
        "python",
        "python3",
        "sh",
        "bash",
        "dash",
        "node",
        "perl",
        "ruby",
        "pytest",
        "php",
        "java",
        "Rscript",
        "julia",
    }
)
_RUNS = frozenset({"exec", "eval", "compile", "__import__", "import_module", "run_path", "run_module"})
_LOADS = frozenset({"spec_from_file_location", "SourceFileLoader", "exec_module", "load_module"})
_PROCESSES = frozenset({"run", "Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput"})
_OS = frozenset({"system", "popen"})
_OS_BEGINS = ("exec", "spawn", "posix_spawn")
_CLOCKS = {
    "time": frozenset({"time", "time_ns", "localtime", "gmtime", "ctime", "strftime"}),
    "datetime": frozenset({"now", "utcnow", "today"}),
    "date": frozenset({"today"}),
}
_CHANCE = frozenset(
    {
        "random",
        "randint",
        "randrange",
        "choice",
        "choices",
        "sample",
        "shuffle",
        "uniform",
        "gauss",
        "getrandbits",
    }
)
_PICKLES = frozenset(
    {("pickle", "load"), ("pickle", "loads"), ("marshal", "loads"), ("dill", "load"), ("joblib", "load")}
)
CLOCK_OF_PROGRAM = "program-reads-the-clock"
_OF_PROGRAM = "a program that is started reads the clock, which an audit does not move there: look at it"
# `date` as a command of a shell: at its begin, or after what begins another one.
_DATE = re.compile(r"(?:^|[;&|`(]|\$\()\s*(?:/usr)?(?:/bin/)?date(?:\s+[-+]|\s*(?:$|[;&|`)]))")
_IN_CODE = re.compile(r"\b(?:time\.time(?:_ns)?|datetime\.(?:now|utcnow|today)|date\.today)\s*\(")
_OF_CHANCE = {"uuid": frozenset({"uuid1", "uuid4"}), "os": frozenset({"urandom"})}


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One place of a task's code, and what is to be looked at there."""

    kind: str  # runs-beside-gold | reads-the-clock | program-reads-the-clock | draws-at-random
    place: str  # evaluator.py:12
    text: str


def suspicions(task: Task) -> tuple[Suspicion, ...]:
    """Of all Python that the task's evaluator may import, and of programs of the gold set that it names; one
    for each kind and line.
    """
    found: dict[tuple[str, str], Suspicion] = {}
    words: set[str] = set()
    for name, path in task.code.items():
        if PurePosixPath(name).suffix != ".py":
            continue
        try:
            tree = ast.parse(path.read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        words |= _texts(tree)
        for one in _Reader(task, name, tree).read():
            found.setdefault((one.kind, one.place), one)
    for one in _programs(task, words):
        found.setdefault((one.kind, one.place), one)
    return tuple(found.values())


def _texts(tree: ast.AST) -> set[str]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _programs(task: Task, words: set[str]) -> Iterator[Suspicion]:
    """Programs that lie with the gold, and whose names stand in the evaluator: they run as programs of their
    own, in which an audit moves no clock.
    """
    for path, file in task.gold.items():
        name = PurePosixPath(path).name
        if PurePosixPath(path).suffix not in (".py", ".sh") or not any(name in text for text in words):
            continue
        try:
            content = file.read_bytes()
            lines = _clock_lines(content) if path.endswith(".py") else _dates(content)
        except (OSError, SyntaxError, ValueError):
            continue
        for number in lines:
            yield Suspicion(CLOCK_OF_PROGRAM, f"evaluation/{path}:{number}", _OF_PROGRAM)


def _clock_lines(content: bytes) -> list[int]:
    tree = ast.parse(content)
    names = _imported(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if _is_clock(_resolved(call.func, names))]


def _dates(content: bytes) -> list[int]:
    lines = content.decode("utf-8", "replace").splitlines()
    return [number for number, line in enumerate(lines, start=1) if _DATE.search(line.partition("#")[0])]


def _imported(tree: ast.AST) -> dict[str, str]:
    """What imported names stand for, under the names that they have here."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update({one.asname: one.name for one in node.names if one.asname})
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for one in node.names:
                if one.name == "*":
                    every = _CLOCKS.get(node.module, frozenset()) if node.module == "time" else frozenset()
                    found.update({name: f"{node.module}.{name}" for name in every})
                else:
                    found[one.asname or one.name] = f"{node.module}.{one.name}"
    return found


def _resolved(node: ast.AST, names: Mapping[str, str]) -> str:
    """A dotted name as its modules call it."""
    first, dot, rest = _dotted(node).partition(".")
    return names.get(first, first) + dot + rest


def _is_clock(name: str) -> bool:
    owner, _, last = name.rpartition(".")
    return last in _CLOCKS.get(owner.rpartition(".")[2], ())


@dataclass(slots=True)
class _Reader:
    task: Task
    name: str
    tree: ast.AST
    tainted: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)

    def read(self) -> Iterator[Suspicion]:
        self.names = _imported(self.tree)
        for _round in range(_ROUNDS):
            before = len(self.tainted)
            for node in ast.walk(self.tree):
                self._follow(node)
            if len(self.tainted) == before:
                break
        seeded = any(
            isinstance(node, ast.Call) and _resolved(node.func, self.names) == "random.seed"
            for node in ast.walk(self.tree)
        )
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield from self._call(node, seeded=seeded)

    def _follow(self, node: ast.AST) -> None:
        targets: list[ast.expr] = []
        value: ast.expr | None = None
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.NamedExpr)):
            targets, value = [node.target], node.value
        elif isinstance(node, (ast.For, ast.comprehension)):
            targets, value = [node.target], node.iter
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            targets, value = [node.optional_vars], node.context_expr
        elif isinstance(node, ast.Call):
            self._into(node)
        if value is not None and self._dirty(value):
            for target in targets:
                self.tainted |= {part.id for part in ast.walk(target) if isinstance(part, ast.Name)}

    def _into(self, call: ast.Call) -> None:
        """A function of this file that is given such a value has it under its parameter's name."""
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _dotted(call.func) == node.name:
                for parameter, given in zip(node.args.args, call.args, strict=False):
                    if self._dirty(given):
                        self.tainted.add(parameter.arg)

    def _dirty(self, node: ast.AST) -> bool:
        """Whether an expression holds a submitted path, or what was read from one."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and part.id in self.tainted:
                return True
            text = part.value if isinstance(part, ast.Constant) else None
            if isinstance(text, str) and (text in _SOURCES or text.startswith(_PATHS)):
                return True
        return False

    def _call(self, call: ast.Call, *, seeded: bool) -> Iterator[Suspicion]:
        place = f"{self.name}:{call.lineno}"
        how = self._runs(call)
        if how:
            yield Suspicion("runs-beside-gold", place, how)
        if self._has_a_program_read_the_clock(call):
            yield Suspicion(CLOCK_OF_PROGRAM, place, _OF_PROGRAM)
        owner, _, last = _resolved(call.func, self.names).rpartition(".")
        module = owner.rpartition(".")[2]
        name = f"{module}.{last}()"
        if last in _CLOCKS.get(module, ()):
            text = f"{name}: a verdict that rests on it changes with the time of day"
            yield Suspicion("reads-the-clock", place, text)
        chance = module == "random" and last in _CHANCE and not seeded
        if chance or module == "secrets" or last in _OF_CHANCE.get(module, ()):
            text = f"{name} without a seed: take inputs['task']['seed']"
            yield Suspicion("draws-at-random", place, text)

    def _has_a_program_read_the_clock(self, call: ast.Call) -> bool:
        """Whether a list or a text that is given to a call is a command that asks for the time."""
        owner, _, last = _resolved(call.func, self.names).rpartition(".")
        starts = (isinstance(call.func, ast.Attribute) and last in ("exec", "open")) or (
            owner.rpartition(".")[2] in ("subprocess", "os") and last in _PROCESSES | _OS
        )
        if not starts:
            return False
        for given in call.args:
            parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else [given]
            texts = [
                one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            if texts and PurePosixPath(texts[0]).name == "date":
                return True
            if any(_DATE.search(text) or _IN_CODE.search(text) for text in texts):
                return True
        return False

    def _runs(self, call: ast.Call) -> str:
        """What submitted code is done with beside gold; "" when nothing is."""
        owner, _, last = _resolved(call.func, self.names).rpartition(".")
        module = owner.rpartition(".")[2]
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        dirty = any(self._dirty(one) for one in given)
        if last == "exec" and isinstance(call.func, ast.Attribute):  # scoring.exec, whatever it is called
            return self._host(call)
        if not dirty:
            return ""
        if last == "untrusted":
            return self._named(call.args[1] if len(call.args) > 1 else None)
        process = (module == "subprocess" and last in _PROCESSES) or (
            module == "os" and (last in _OS or last.startswith(_OS_BEGINS))
        )
        here = {
            f"{last}() on submitted code in the evaluator's own process": last in _RUNS | _LOADS,
            f"{module}.{last}() on a submitted path in the evaluator's own host": process,
            "a submitted folder on sys.path: what is imported next may be the submission's": (
                owner.endswith("sys.path")
            ),
            f"{module}.{last}() runs what a submitted file says": (module, last) in _PICKLES,
        }
        return next((text for text, so in here.items() if so), "")

    def _host(self, call: ast.Call) -> str:
        if len(call.args) < 2 or not isinstance(call.args[1], (ast.List, ast.Tuple)):  # noqa: PLR2004
            return ""
        words = call.args[1].elts
        first = words[0] if words else None
        program = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
        runs = (first is not None and self._dirty(first)) or (
            PurePosixPath(program).name in _INTERPRETERS and any(self._dirty(word) for word in words[1:])
        )
        return self._named(call.args[0]) if runs else ""

    def _named(self, name: ast.expr | None) -> str:
        if not isinstance(name, ast.Constant):
            return ""
        if name.value is None:
            return "a submitted file is executed beside the evaluator, where the gold set can be read"
        host = name.value if isinstance(name.value, str) else ""
        environment = self.task.spec.evaluation.environments.get(host)
        if environment is not None and environment.gold:
            return f"a submitted file is executed in host {host}, which has the gold set; say gold: false"
        return ""


def _dotted(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))

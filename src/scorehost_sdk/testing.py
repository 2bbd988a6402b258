"""Runs an evaluator on its author's machine, without an engine and WITHOUT ISOLATION: for tests of
evaluators.

Scoring environments are plain subprocesses of the person who runs the test, in one folder that stands for
/attempt; words of argv, working directories and paths that start with `/attempt/` are read as below it.
Nothing is limited but time, and gold is within reach of everything. Do not run a submission that you do not
trust.
"""

from __future__ import annotations

import asyncio
import base64
import importlib
import os
import shutil
import sys
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from scorehost_sdk import present as present_link
from scorehost_sdk.agents import Agent, AsyncAgent
from scorehost_sdk.checks import tell_by
from scorehost_sdk.faults import ScoringError
from scorehost_sdk.flavour import is_coroutine_function
from scorehost_sdk.local_agents import LocalAgents
from scorehost_sdk.local_process import LocalProcess, ended
from scorehost_sdk.local_task import LocalTask, read_task
from scorehost_sdk.returned import Rejected, RowBudget, checked
from scorehost_sdk.scoring import AsyncScoring, Scoring
from scorehost_sdk.verdict import MAX_ROW_BYTES, MAX_ROWS, METRICS_BYTES, METRICS_DEPTH, Rows, Rules, bound

if TYPE_CHECKING:
    from typing import Callable

    from scorehost_sdk.local_agents import Player

HARNESS = ("harness.py", "shortage.py", "wire.py")  # what every named host has, too
_ATTEMPT = "/attempt"
_EXEC_SECONDS = 120.0
_LIMITS = {
    "metrics_bytes": METRICS_BYTES,
    "metrics_depth": METRICS_DEPTH,
    "checks_bytes": MAX_ROW_BYTES,
    "checks_rows": MAX_ROWS,
}


class InvalidResult(ValueError):
    """What `evaluate` returned is no result: a real attempt would be ERROR, of the kind that stands first."""


def run_evaluator(
    task_dir: Union[str, "os.PathLike[str]"],
    artifacts: Mapping[str, Union[str, bytes, "os.PathLike[str]"]],
    *,
    parameters: Optional[Mapping[str, Any]] = None,
    environments: Union[Iterable[str], Mapping[str, Mapping[str, str]]] = (),
    entrypoint: Optional[str] = None,
    targets: Optional[Mapping[str, str]] = None,
    extra_gold: Iterable[Union[str, "os.PathLike[str]"]] = (),
    seed: int = 0,
    agents: Optional[Mapping[str, Player]] = None,
) -> Dict[str, Any]:
    """The verdict on these artifacts by the evaluator of the task in `task_dir`; its exceptions pass through.

    It is what the controller would make of the value that `evaluate` returns, by the same rules: a dict of
    `status`, `score` (filled in where it is missing), `metrics` and `checks` (with what `check` told).
    Raises `InvalidResult` for what would be ERROR invalid_result or result_too_large. What would be a warning
    of the result is a Python warning here.

    task.yaml gives parameters, entrypoint, environments, the range of scores and where each artifact lies;
    what is given here is laid over it. `artifacts` maps ids to content (text or bytes) or to a file or folder
    (a path object). `targets` says where an artifact lies below /attempt; without task.yaml it is
    `artifacts/<id>`, with the file's own suffix. `environments` names the scoring environments, or maps names
    to variables that their programs get; without any, `exec(None, …)` works. `extra_gold` are folders laid
    below evaluation/ beside the task's own, such as the dataset's. `agents` plays roles: role -> a function
    of a prompt that gives the reply (text or an object); for `session.judge` it gets the request as an object
    and gives (passed or failed, reason).
    """
    task = os.path.abspath(os.fspath(task_dir))
    told = read_task(task)
    told = told._replace(entrypoint=entrypoint or told.entrypoint)
    names = dict(told.environments)
    for name in environments:
        names[name] = dict(environments[name]) if isinstance(environments, Mapping) else names.get(name, {})
    places = {**(told.targets or {}), **(targets or {})}
    if told.targets is not None and set(artifacts) - set(places):
        wrong = ", ".join(sorted(set(artifacts) - set(places)))
        raise ValueError(f"task.yaml has no artifact {wrong}; it has {', '.join(sorted(told.targets))}")
    rows = Rows(lambda script: "" if _is_script(task, script) else "is not a file of the task or of shared/")
    with tempfile.TemporaryDirectory(prefix="scorehost-test-") as root:
        present = lay_out(root, task, artifacts, places, [os.fspath(path) for path in extra_gold])
        link = LocalLink(root, names, agents or {})
        inputs: Dict[str, Any] = {
            "artifacts": present,
            "artifacts_dir": os.path.join(root, "artifacts"),
            "workspace_dir": os.path.join(root, "workspace"),
            "evaluation_dir": os.path.join(root, "evaluation"),
            "output_dir": os.path.join(root, "output"),
            "parameters": {**told.parameters, **(parameters or {})},
            "inputs": [
                {"artifact": name, "target": os.path.relpath(path, root)} for name, path in present.items()
            ],
            "task": {
                "task_id": os.path.basename(task),
                "attempt": 1,
                "submission": "test",
                "sample": 1,
                "repeat": 1,
                "seed": seed,
            },
            "run": {"status": "completed", "limit": None},
        }
        if agents:
            inputs["agent"] = tuple(agents)
        budget, early = RowBudget(_LIMITS), []
        tell_by(lambda row: early.extend(budget.plain(row)))
        present_link.link, present_link.phase = link, "evaluate"
        try:
            value = _call(os.path.join(root, "task"), told, inputs, link, names)
        finally:
            tell_by(None)
            present_link.link = None
            link.close()
    return _judged(value, told.rules, rows, early)


def _judged(value: Any, rules: Rules, rows: Rows, early: List[Any]) -> Dict[str, Any]:
    try:
        rows.take_told(early)
        verdict = bound(checked(value, _LIMITS), rules, rows)
    except Rejected as problem:
        raise InvalidResult(f"{problem.kind}: {problem.text}") from None
    for text in verdict.warnings:
        warnings.warn(text, stacklevel=3)
    return {
        "status": verdict.status,
        "score": verdict.score,
        "metrics": verdict.metrics,
        "checks": verdict.checks,
    }


def _is_script(task: str, script: str) -> bool:
    tasks = os.path.dirname(task)
    places = [os.path.join(task, script)]
    if script.startswith(("tasks/", "shared/")):
        places.append(os.path.join(os.path.dirname(tasks), script))
    inside = not os.path.isabs(script) and ".." not in script.split("/")
    return inside and any(map(os.path.isfile, places))


def lay_out(
    root: str,
    task: str,
    artifacts: Mapping[str, Union[str, bytes, "os.PathLike[str]"]],
    targets: Mapping[str, str],
    extra_gold: List[str],
) -> Dict[str, str]:
    for folder in ("task", "artifacts", "workspace", "output", "evaluation", ".scorehost"):
        os.mkdir(os.path.join(root, folder))
    for gold in [*extra_gold, os.path.join(task, "evaluation")]:
        if os.path.isdir(gold):
            shutil.copytree(gold, os.path.join(root, "evaluation"), dirs_exist_ok=True)
    os.symlink(os.path.join("..", "evaluation"), os.path.join(root, "task", "evaluation"))  # as in a host
    shared = os.path.join(os.path.dirname(os.path.dirname(task)), "shared")
    for source, name in ((os.path.join(task, "lib"), "lib"), (shared, "shared")):
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(root, "task", name))
            # Without this file a package of the same name anywhere on the author's path would come first.
            with open(os.path.join(root, "task", name, "__init__.py"), "ab"):
                pass
    if os.path.exists(os.path.join(task, "evaluator.py")):
        shutil.copy(os.path.join(task, "evaluator.py"), os.path.join(root, "task"))
    _copy_harness(os.path.join(root, ".scorehost"))
    present = {}
    for name, content in artifacts.items():
        suffix = "" if isinstance(content, (str, bytes)) else os.path.splitext(os.fspath(content))[1]
        place = os.path.join(root, targets.get(name, f"artifacts/{name}{suffix}"))
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if isinstance(content, (str, bytes)):
            with open(place, "wb") as file:
                file.write(content.encode() if isinstance(content, str) else content)
        elif os.path.isdir(content):
            shutil.copytree(content, place, dirs_exist_ok=True)
        else:
            shutil.copy(content, place)
        present[name] = place
    return present


def _copy_harness(folder: str) -> None:
    for name in HARNESS:
        shutil.copy(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), folder)


def _call(
    folder: str, told: LocalTask, inputs: Dict[str, Any], link: LocalLink, names: Mapping[str, Any]
) -> Any:
    module_name, _, function_name = told.entrypoint.partition(":")
    before = set(sys.modules)
    sys.path.insert(0, folder)
    own = {"evaluator", "lib", "shared"}
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.partition(".")[0] in own}
    try:
        function: Callable[[Dict[str, Any]], Any] = getattr(
            importlib.import_module(module_name), function_name
        )
        if not is_coroutine_function(function):
            inputs["scoring"] = Scoring(link, tuple(names), not names, told.gold, told.any_name)
            _with_agent(inputs, Agent, link, names)
            return function(inputs)

        async def wait() -> Any:
            return await function(inputs)

        inputs["scoring"] = AsyncScoring(link, tuple(names), not names, told.gold, told.any_name)
        _with_agent(inputs, AsyncAgent, link, names)
        return asyncio.run(wait())
    finally:
        sys.path.remove(folder)
        # Another task's evaluator has the same module names.
        for name in set(sys.modules) - before | own:
            if name.partition(".")[0] in own:
                sys.modules.pop(name, None)
        sys.modules.update(hidden)


def _with_agent(inputs: Dict[str, Any], flavour: Any, link: LocalLink, names: Mapping[str, Any]) -> None:
    if "agent" in inputs:
        inputs["agent"] = flavour(link, inputs["agent"], tuple(names))


class LocalLink:
    """Answers requests by local subprocesses, in the words of the channel."""

    def __init__(
        self,
        root: str,
        environments: Mapping[str, Mapping[str, str]],
        agents: Optional[Mapping[str, Player]] = None,
    ) -> None:
        self._agents = LocalAgents(agents or {})
        self._root = root
        self._environments = environments
        self._processes: Dict[int, Tuple[Optional[str], LocalProcess]] = {}
        self._numbers = iter(range(1, 1 << 31))
        self._written: Dict[int, bytearray] = {}
        self.lines: List[str] = []

    def call(
        self,
        message: Dict[str, Any],
        stdin: Iterable[str] = (),
        timeout: Optional[float] = None,  # noqa: ARG002
    ) -> Optional[Dict[str, Any]]:
        """The reply to a request; `timeout` is not kept, since a local process reads what it is sent."""
        if message["kind"] in LocalAgents.KINDS:
            return self._agents.answer(message)
        ahead = b"".join(base64.b64decode(part) for part in stdin)
        return {"ok": True, "value": getattr(self, "_" + message["kind"])(ahead, **message)}

    async def acall(self, message: Dict[str, Any], stdin: Iterable[str] = ()) -> Dict[str, Any]:
        """The same without holding up the event loop."""
        reply = await asyncio.get_running_loop().run_in_executor(None, self.call, message, list(stdin))
        assert reply is not None  # noqa: S101 - no timeout was given
        return reply

    def post(self, message: Dict[str, Any]) -> None:
        """Keeps a line of the journal in `lines`."""
        self.lines.append(message["text"])

    def close(self) -> None:
        """Ends every process."""
        for _, running in self._processes.values():
            running.kill()
        self._processes.clear()

    def _at(self, path: str) -> str:
        if path == _ATTEMPT or path.startswith(_ATTEMPT + "/"):
            return self._root + path[len(_ATTEMPT) :]
        return os.path.join(self._root, path)

    def _started(
        self, name: Optional[str], argv: List[str], env: Any, workdir: Optional[str]
    ) -> LocalProcess:
        words = [self._at(word) if word.startswith(_ATTEMPT) else word for word in argv]
        if words[0] in ("python3", "python"):
            words[0] = sys.executable
        variables = {"PATH": os.environ.get("PATH", os.defpath), "HOME": self._root, "PYTHONHASHSEED": "0"}
        variables.update(self._environments.get(name or "", {}))
        variables.update(env or {})
        return LocalProcess(words, variables, self._at(workdir or _ATTEMPT))

    def _exec(
        self,
        ahead: bytes,
        *,
        name: Optional[str],
        argv: List[str],
        env: Any,
        workdir: Optional[str],
        timeout: Optional[float],
        stdin: Optional[str],
        **_: Any,
    ) -> Dict[str, Any]:
        try:
            running = self._started(name, argv, env, workdir)
        except OSError as error:
            if not os.path.isdir(self._at(workdir or _ATTEMPT)):
                raise ScoringError(f"exec could not be started: no working directory {workdir}") from None
            code = 127 if isinstance(error, FileNotFoundError) else 126
            return ended(code, b"", f"{type(error).__name__}: {argv[0]}\n".encode(), 0.0)
        running.send(ahead + base64.b64decode(stdin or ""))
        running.close_stdin()
        value = running.wait(_EXEC_SECONDS if timeout is None else timeout)
        if value is None:
            running.kill()
            value = dict(running.wait(None) or {}, timed_out=True, exit_code=124, reason="timed_out")
        return value

    def _open(
        self,
        _ahead: bytes,
        *,
        name: Optional[str],
        argv: List[str],
        env: Any,
        workdir: Optional[str],
        **_: Any,
    ) -> Dict[str, int]:
        number = next(self._numbers)
        self._processes[number] = (name, self._started(name, argv, env, workdir))
        return {"process": number}

    def _send(self, _ahead: bytes, *, process: int, data: str, **_: Any) -> None:
        self._processes[process][1].send(base64.b64decode(data))

    def _close_stdin(self, _ahead: bytes, *, process: int, **_: Any) -> None:
        self._processes[process][1].close_stdin()

    def _receive(self, _ahead: bytes, *, process: int, timeout: Optional[float], **_: Any) -> Dict[str, Any]:
        return self._processes[process][1].receive(timeout)

    def _wait(
        self, _ahead: bytes, *, process: int, timeout: Optional[float], **_: Any
    ) -> Optional[Dict[str, Any]]:
        return self._processes[process][1].wait(timeout)

    def _close(self, _ahead: bytes, *, process: int, **_: Any) -> None:
        self._processes.pop(process)[1].kill()

    def _cpu(self, _ahead: bytes, *, name: Optional[str], **_: Any) -> Dict[str, Optional[float]]:
        running = [process for owner, process in self._processes.values() if owner == name]
        return {"seconds": sum(process.cpu_seconds() for process in running)}

    def _reset(self, _ahead: bytes, *, name: Optional[str], **_: Any) -> None:
        for owner, running in self._processes.values():
            if owner == name:
                running.kill()

    def _write_file(
        self, _ahead: bytes, *, path: str, data: str, more: bool, transfer: Optional[int], **_: Any
    ) -> Optional[Dict[str, int]]:
        number = next(self._numbers) if transfer is None else transfer
        content = self._written.setdefault(number, bytearray())
        content += base64.b64decode(data)
        if more:
            return {"transfer": number}
        with open(self._at(path), "wb") as file:
            file.write(self._written.pop(number))
        return None

    def _read_file(self, _ahead: bytes, *, path: str, offset: int, **_: Any) -> Dict[str, Any]:
        with open(self._at(path), "rb") as file:
            file.seek(offset)
            data = file.read(1 << 20)
        return {"data": base64.b64encode(data).decode(), "ended": len(data) < 1 << 20, "transfer": 0}

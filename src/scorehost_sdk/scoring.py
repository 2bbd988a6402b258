"""`inputs["scoring"]`: running programs in the task's scoring hosts, plain and awaited."""

from __future__ import annotations

from scorehost_sdk import requests
from scorehost_sdk.outcome import ExecResult
from scorehost_sdk.processes import AsyncProcess, Process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterable, Optional, Protocol, Sequence

    from scorehost_sdk.requests import Argv, Content, Environment

    class Link(Protocol):
        """What carries requests: the runner's channel, or a stand-in on an author's machine."""

        def call(
            self, message: Dict[str, Any], stdin: Iterable[str] = (), timeout: Optional[float] = None
        ) -> Optional[Dict[str, Any]]:
            """The reply frame; None when `timeout` seconds passed."""

        async def acall(self, message: Dict[str, Any], stdin: Iterable[str] = ()) -> Dict[str, Any]:
            """The reply frame."""

        def post(self, message: Dict[str, Any]) -> None:
            """A request without a reply."""


_LOG_LINES = 10_000
_LOG_CHARACTERS = 16 * 1024
_READ_BYTES = 64 * 1024 * 1024


class _Shared:
    def __init__(
        self,
        link: Link,
        environments: Sequence[str],
        single: bool,
        gold: Sequence[str] = (),
        any_name: bool = False,
    ) -> None:
        self.link = link
        self._names = requests.Names(environments, single, any_name)
        self._any_name = any_name
        self.single = single  # no environment is declared: work goes beside the evaluator
        self._log_lines = 0
        self.environments = tuple(environments)
        self.with_gold = frozenset(gold)  # those that hold the gold set

    def log(self, text: str) -> None:
        """A line for the attempt's journal (16 KiB, 10,000 lines; more is dropped)."""
        self._log_lines += 1
        if self._log_lines <= _LOG_LINES:
            line = str(text).encode("utf-8", "backslashreplace").decode("utf-8")
            self.link.post({"kind": "log", "text": line[:_LOG_CHARACTERS]})


class Scoring(_Shared):
    """Scoring hosts of a plain evaluator: every call blocks. Safe to use from several threads.

    Raises `UnknownEnvironment` for a name that the task does not declare, `HostLost` when a host can be given
    no more, and once when it ended between two uses (the next use is clean), `LimitReached` past what an
    attempt may have, `ScoringError` for other trouble that is no submission's.
    """

    def exec(
        self,
        name: Optional[str],
        argv: Argv,
        *,
        stdin: Optional[Content] = None,
        env: Environment = None,
        workdir: Optional[str] = None,
        timeout: Optional[float] = None,
    ) -> ExecResult:
        """Runs a program in host `name` to its end, at most `timeout` seconds (limits.exec_seconds)."""
        steps = requests.run(
            self._names.check(name), argv, stdin=stdin, env=env, workdir=workdir, timeout=timeout
        )
        return requests.drive(self.link, steps)

    def open(
        self, name: Optional[str], argv: Argv, *, env: Environment = None, workdir: Optional[str] = None
    ) -> Process:
        """Starts a program that goes on running; a context manager that ends it."""
        number = requests.drive(self.link, requests.start(self._names.check(name), argv, env, workdir))
        return Process(self.link, number)

    def reset(self, name: Optional[str]) -> None:
        """Replaces host `name` by a clean one; whatever ran in it is gone."""
        requests.drive(self.link, requests.reset(self._names.check(name)))

    def write_file(self, name: Optional[str], path: str, content: Content) -> None:
        """Writes a file to a writable place of host `name`, such as below /attempt/output or /tmp."""
        requests.drive(self.link, requests.write_file(self._names.check(name), path, content))

    def read_file(self, name: Optional[str], path: str, *, max_bytes: int = _READ_BYTES) -> bytes:
        """The bytes of a file of host `name`; LimitReached past `max_bytes`."""
        return requests.drive(self.link, requests.read_file(self._names.check(name), path, max_bytes))


class AsyncScoring(_Shared):
    """Scoring hosts of an async evaluator: every call is awaited, and several may run side by side.

    Raises as `Scoring` does. `blocking` is the plain flavour over the same hosts, for worker threads.
    """

    @property
    def blocking(self) -> Scoring:
        """The plain flavour; its calls hold up the event loop unless they are made in a thread."""
        gold = tuple(self.with_gold)
        return Scoring(self.link, self.environments, self.single, gold, self._any_name)

    async def exec(
        self,
        name: Optional[str],
        argv: Argv,
        *,
        stdin: Optional[Content] = None,
        env: Environment = None,
        workdir: Optional[str] = None,
        timeout: Optional[float] = None,  # noqa: ASYNC109 - the controller's clock, not the loop's
    ) -> ExecResult:
        """Runs a program in host `name` to its end, at most `timeout` seconds (limits.exec_seconds)."""
        steps = requests.run(
            self._names.check(name), argv, stdin=stdin, env=env, workdir=workdir, timeout=timeout
        )
        return await requests.adrive(self.link, steps)

    def open(
        self, name: Optional[str], argv: Argv, *, env: Environment = None, workdir: Optional[str] = None
    ) -> AsyncProcess:
        """A program that goes on running, from `async with` to its end."""
        return AsyncProcess(self.link, requests.start(self._names.check(name), argv, env, workdir))

    async def reset(self, name: Optional[str]) -> None:
        """Replaces host `name` by a clean one; whatever ran in it is gone."""
        await requests.adrive(self.link, requests.reset(self._names.check(name)))

    async def write_file(self, name: Optional[str], path: str, content: Content) -> None:
        """Writes a file to a writable place of host `name`, such as below /attempt/output or /tmp."""
        await requests.adrive(self.link, requests.write_file(self._names.check(name), path, content))

    async def read_file(self, name: Optional[str], path: str, *, max_bytes: int = _READ_BYTES) -> bytes:
        """The bytes of a file of host `name`; LimitReached past `max_bytes`."""
        steps = requests.read_file(self._names.check(name), path, max_bytes)
        return await requests.adrive(self.link, steps)

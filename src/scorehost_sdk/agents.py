"""`inputs["agent"]`: sessions with the roles of the task, plain and awaited."""

from __future__ import annotations

from scorehost_sdk import requests
from scorehost_sdk.faults import LimitReached, ScoringError, UnknownEnvironment
from scorehost_sdk.replies import Judgement, Reply

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Any, Dict, Mapping, Optional, Self, Sequence, Type

    from scorehost_sdk.requests import Steps
    from scorehost_sdk.scoring import Link

MAX_TEXT = 4 * 1024 * 1024  # bytes of a prompt, or of all texts of one judgement


_NOT_SAID: Any = object()


class _Shared:
    def __init__(self, link: Link, roles: Sequence[str], environments: Sequence[str] = ()) -> None:
        self._link = link
        self._environments = tuple(environments)
        self.roles = tuple(roles)

    def _place(self, environment: Any) -> Optional[str]:
        """Where a session is; UnknownEnvironment when that has to be said, and was not."""
        if environment is not _NOT_SAID:
            return environment  # type: ignore[no-any-return] # looked at when it opens
        if self._environments:
            known = " or ".join(f"environment={name!r}" for name in self._environments)
            raise UnknownEnvironment(
                f"This task has named scoring environments: say {known} for a session that may work there, or"
                " environment=None for one that works in none."
            )
        return None


class Agent(_Shared):
    """Agents of a plain evaluator: every call blocks.

    A session raises `UnknownRole`, `UnknownEnvironment`, `LimitReached` (limits.agent_invocations, or what
    the whole job may have), `AdapterFault` when a call failed on the agent's side, and `ScoringError` for use
    that is not allowed.
    """

    def session(self, role: str, *, environment: Optional[str] = _NOT_SAID) -> Session:
        """A conversation with `role`, from `with` to its end; with `environment` it may work in that host.

        A task that has named environments says one, or None for a session that works in none.
        """
        return Session(self._link, role, self._place(environment))


class AsyncAgent(_Shared):
    """Agents of an async evaluator: every call is awaited, and several sessions may run side by side.

    Raises as `Agent` does.
    """

    def session(self, role: str, *, environment: Optional[str] = _NOT_SAID) -> AsyncSession:
        """A conversation with `role`, from `async with` to its end; with `environment` it may work in that
        host. A task that has named environments says one, or None for a session that works in none.
        """
        return AsyncSession(self._link, role, self._place(environment))


class _Talk:
    """What both flavours know of one session."""

    def __init__(self, link: Link, role: str, environment: Optional[str]) -> None:
        self._link = link
        self.role, self.environment = role, environment
        self._number: Optional[int] = None

    def _id(self) -> int:
        if self._number is None:
            raise ScoringError("the session is not open: use `with inputs['agent'].session(...) as session`")
        return self._number

    def _opening(self) -> Steps[int]:
        if not isinstance(self.role, str) or not isinstance(self.environment, (str, type(None))):
            raise TypeError("role and environment are names")
        value = yield {"kind": "session", "role": self.role, "environment": self.environment}, ()
        return int(value["session"])

    def _asking(self, prompt: str) -> Steps[Reply]:
        _bounded({"prompt": prompt})
        value = yield {"kind": "invoke", "session": self._id(), "prompt": prompt}, ()
        return Reply.from_wire(value)

    def _judging(
        self, case_id: str, prompt: str, output: str, assertion: Mapping[str, str]
    ) -> Steps[Judgement]:
        words: Dict[str, Any] = {"case_id": case_id, "prompt": prompt, "output": output}
        stated = dict(assertion)
        _bounded({**words, **{f"assertion.{name}": text for name, text in stated.items()}})
        value = yield {"kind": "judge", "session": self._id(), **words, "assertion": stated}, ()
        return Judgement.from_wire(value)

    def _closing(self) -> Steps[None]:
        if self._number is not None:
            number, self._number = self._number, None
            yield {"kind": "close_session", "session": number}, ()


def _bounded(texts: Mapping[str, Any]) -> None:
    size = 0
    for name, text in texts.items():
        if not isinstance(text, str):
            raise TypeError(f"{name} is text, not {type(text).__name__}")
        try:
            size += len(text.encode("utf-8"))
        except UnicodeEncodeError:
            raise ValueError(f"{name} is not UTF-8: decode it with errors='replace'") from None
    if size > MAX_TEXT:
        raise LimitReached(
            f"{size} bytes of text; one call of an agent may have {MAX_TEXT}. Send less of it."
        )


class Session(_Talk):
    """A session of a plain evaluator; starts in `with`, which also ends it."""

    def invoke(self, prompt: str) -> Reply:
        """The role's reply to one more turn. One call counts against limits.agent_invocations."""
        return requests.drive(self._link, self._asking(prompt))

    def judge(self, *, case_id: str, prompt: str, output: str, assertion: Mapping[str, str]) -> Judgement:
        """One judge call: does `output` meet `assertion` {id, description, severity}? It is no turn."""
        return requests.drive(self._link, self._judging(case_id, prompt, output, assertion))

    def close(self) -> None:
        """Ends it."""
        requests.drive(self._link, self._closing())

    def __enter__(self) -> Self:
        self._number = requests.drive(self._link, self._opening())
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()


class AsyncSession(_Talk):
    """A session of an async evaluator; starts in `async with`, which also ends it."""

    async def invoke(self, prompt: str) -> Reply:
        """The role's reply to one more turn. One call counts against limits.agent_invocations."""
        return await requests.adrive(self._link, self._asking(prompt))

    async def judge(
        self, *, case_id: str, prompt: str, output: str, assertion: Mapping[str, str]
    ) -> Judgement:
        """One judge call: does `output` meet `assertion` {id, description, severity}? It is no turn."""
        return await requests.adrive(self._link, self._judging(case_id, prompt, output, assertion))

    async def close(self) -> None:
        """Ends it."""
        await requests.adrive(self._link, self._closing())

    async def __aenter__(self) -> Self:
        self._number = await requests.adrive(self._link, self._opening())
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

"""`Agent` and its sessions, as run.py and evaluator.py of the ageval layout use them."""

from __future__ import annotations

import json
from typing import Any, Dict

from scorehost_sdk import present
from scorehost_sdk.agents import AsyncAgent, AsyncSession
from scorehost_sdk.faults import AdapterFault, ReplyError, ScoringError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Optional, Self, Type

    from scorehost_sdk.replies import Reply

last_fault = ""  # the kind of the fault with which the last call of this process ended; empty after a reply


class Agent:
    """The agents of the attempt under way; `attempt_id` is taken, and decides nothing."""

    def __init__(self, attempt_id: str = "", **_named: Any) -> None:
        self.attempt_id = attempt_id

    def session(
        self,
        profile_id: str,
        *,
        max_turns: Optional[int] = None,
        environment: Optional[str] = None,
        **_named: Any,
    ) -> AgentSession:
        """A conversation with a role of the task, from `async with` to its end; at most `max_turns` calls."""
        if present.link is None:
            raise ScoringError("agents answer only while run.py or evaluator.py runs in a host of scorehost")
        return AgentSession(
            AsyncAgent(present.link, ()).session(profile_id, environment=environment), max_turns
        )


class AgentSession:
    """One conversation."""

    def __init__(self, talk: AsyncSession, max_turns: Optional[int]) -> None:
        self._talk, self._left, self._told = talk, max_turns, False

    async def invoke(
        self, prompt: str, *, tools: Any = None, messages: Any = None, **_named: Any
    ) -> Dict[str, Any]:
        """One more turn: `ok`, `text`, `error`, `structured` (the object that the text is, or None),
        `tool_calls` (always empty) and `invocation_id`.

        The prompt alone is sent: the controller keeps the conversation, and offers no tools. In run.py a call
        that failed is `ok: False` and `error` its kind; in evaluator.py it raises `AdapterFault`, since what
        no agent said must not become a verdict.
        """
        global last_fault  # noqa: PLW0603 - of the process, which serves one run.py
        if (tools or messages) and not self._told:
            self._told = True
            print("ageval_sdk: tools and messages of invoke() are not sent; the prompt is")  # noqa: T201
        if self._left is not None and self._left <= 0:
            return _answer(ok=False, error="max_turns_reached")
        if self._left is not None:
            self._left -= 1
        try:
            reply = await self._talk.invoke(prompt)
        except AdapterFault as fault:
            if present.phase != "run":
                raise
            last_fault = fault.kind
            print(f"ageval_sdk: {fault}")  # noqa: T201 - the log of run.py
            return _answer(ok=False, error=fault.kind)
        last_fault = ""
        return _answer(ok=True, text=reply.text, reply=reply, invocation_id=reply.request_id)

    async def record_observation(self, call_id: str, **facts: Any) -> Dict[str, Any]:
        """Writes what a tool of run.py gave into the log; it is no call of an agent."""
        line = json.dumps({"observation": str(call_id), **facts}, ensure_ascii=False, default=str)
        print(line[:16384])  # noqa: T201 - the log of run.py
        return {"ok": True}

    async def close(self) -> None:
        """Ends it."""
        await self._talk.close()

    async def __aenter__(self) -> Self:
        await self._talk.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self._talk.__aexit__(kind, error, trace)


class _Answer(Dict[str, Any]):
    """What a turn gave. Whoever asks for `structured` reads the reply as an object, and nobody else does:
    prose that is taken as text is no misread reply.
    """

    def __init__(self, reply: Optional[Reply], fields: Dict[str, Any]) -> None:
        super().__init__(fields, structured=None if reply is None else reply.peek())
        self._reply = reply

    def __getitem__(self, name: str) -> Any:
        if name == "structured" and self._reply is not None:
            return _object(self._reply)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As of any mapping."""
        try:
            return self[name]
        except KeyError:
            return default


def _answer(
    *,
    ok: bool,
    text: str = "",
    error: Optional[str] = None,
    reply: Optional[Reply] = None,
    invocation_id: str = "",
) -> Dict[str, Any]:
    fields = {
        "ok": ok,
        "text": text,
        "error": error,
        "tool_calls": [],
        "invocation_id": invocation_id,
    }
    return _Answer(reply, fields)


def _object(reply: Reply) -> Optional[Dict[str, Any]]:
    try:
        return reply.json()
    except ReplyError:
        return None

"""One conversation with an evaluator's keeper: frames sent and heard, requests served."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import anyio

from scorehost.errors import AttemptFailed, CallFailed, EngineRefused, EngineUnreachable
from scorehost.hosts.agents import UnknownRole
from scorehost.hosts.confinement import not_held
from scorehost.hosts.exec_ends import FAULTY
from scorehost.hosts.frames import (
    BudgetSpent,
    ChannelViolation,
    Ended,
    FailedFrame,
    FrameReader,
    FrameWriter,
    Hello,
    Refusal,
    ResultFrame,
    RunnerFrame,
    WrongMac,
    new_key,
)
from scorehost.hosts.marked_log import MarkedLog
from scorehost.hosts.messages import Check, Log, Request
from scorehost.hosts.named import UnknownEnvironment
from scorehost.hosts.sessions import Refused
from scorehost.model.failure import Failure, Phase, failure

if TYPE_CHECKING:
    from scorehost.hosts.evaluator import Dialogue

ANSWER_SECONDS = 5.0  # from the word that the time is over to what the keeper says to that
UNHEARD_SECONDS = 10.0  # from the end of a process to the end of its stream, on a slow engine


class Talk:
    """The moving parts of one dialogue."""

    def __init__(self, dialogue: Dialogue) -> None:
        key = new_key()
        self._d = dialogue
        self._reader = FrameReader(key)
        self._writer = FrameWriter(key)
        self._sending = anyio.Lock()
        self._hello: Hello | None = None
        self._greeted = anyio.Event()
        self._log = MarkedLog(dialogue.log, self._reader.end_of_log())
        self.said: ResultFrame | FailedFrame | None = None
        self.vouched: Ended | None = None  # the keeper's last word
        self.reason: Failure | None = None
        self.spoken = anyio.Event()  # there is a result, a reason, or an end
        self.ended = anyio.Event()  # the stream has ended
        self.over = anyio.Event()  # all has been heard: the keeper's last word and the whole log, or the end

    async def greet(self) -> None:
        """Sends `start` and waits for a hello that saw the right trees."""
        d = self._d
        seconds = d.host.blueprint.limits.start_seconds
        with anyio.move_on_after(seconds):
            try:
                await d.stream.send(d.before + self._writer.start(d.start) + d.after)
            except EngineUnreachable:
                await self.ended.wait()  # it went before it read: its end tells why
            except ValueError as error:
                text = f"parameters and inputs do not fit into one message: {error}"
                raise AttemptFailed(failure(Phase.START, "start_failed", text, retryable=False)) from None
            await self._greeted.wait()
        if self.reason is not None:
            raise AttemptFailed(self.reason)
        if self._hello is None:
            if self.ended.is_set():
                raise AttemptFailed(await d.why_it_ended(greeted=False))
            await d.host.engine.ping()  # when it hangs, nothing is said of the host
            text = f"the evaluator's host was not ready within {seconds:g} s{d.last_words()}"
            raise AttemptFailed(failure(Phase.START, "start_timeout", text))
        if self._hello.unenforced:
            raise AttemptFailed(not_held(d.host.blueprint.name, self._hello.unenforced))
        if self._hello.dumpable and d.start.phase == "evaluate":
            of = d.host.image_words
            text = f"python3 of {of} has no ctypes: the runner cannot shut others out of its memory"
            raise AttemptFailed(failure(Phase.START, "image_unusable", text))
        for folder, digest in d.trees.items():
            if self._hello.trees.get(folder) != digest:
                text = f"{folder} in the evaluator's host is not what was sent"
                raise AttemptFailed(failure(Phase.UPLOAD, "upload_damaged", text))

    async def listen(self, group: anyio.abc.TaskGroup, serving: anyio.abc.TaskGroup) -> None:
        """Reads the stream to its end: frames from stdout, the log from stderr. Requests are served in
        `serving`, which may end with the first frame that ends the talk.
        """
        host = self._d.host
        try:
            while (chunk := await self._d.stream.receive()) is not None:
                host.printed += len(chunk.data)
                if chunk.stream == "stderr":
                    self._log.add(chunk.data)
                    self._see_whether_over()
                    if host.flooded and not host.ended:
                        group.start_soon(host.end, "output_limit")  # reading on: what is not read ends slowly
                    continue
                for frame in self._reader.feed(chunk.data):
                    if not isinstance(frame, (Hello, ResultFrame, FailedFrame, Ended, Log, Check)):
                        await self._d.serve.admit(frame)
                    self._take(frame, serving)
        except ChannelViolation as violation:
            if self._reader.greeted:
                self._fail("channel_violation", violation.message)
            else:
                self._fail_before_hello(violation)
        self._log.end()
        self.ended.set()
        self.over.set()
        self._greeted.set()
        self.spoken.set()

    def _take(self, frame: RunnerFrame, serving: anyio.abc.TaskGroup) -> None:
        if isinstance(frame, Hello):
            self._hello = frame
            self._d.host.greeted = True
            self._greeted.set()
        elif isinstance(frame, (ResultFrame, FailedFrame)):
            self.said = frame
            self.spoken.set()
        elif isinstance(frame, Ended):
            self.vouched = frame
            self.spoken.set()
            self._see_whether_over()
        elif isinstance(frame, Check):
            self._d.serve.count(frame)
            self._d.told.append(frame.row)
        elif isinstance(frame, Log):
            self._d.serve.count(frame)
            self._d.log.add(frame.text.encode("utf-8", "replace") + b"\n")
        else:
            serving.start_soon(self._served, frame, serving)

    async def _served(self, request: Request, group: anyio.abc.TaskGroup) -> None:
        try:
            await self._answer(request, group)
        finally:
            self._d.serve.done(request)

    def _see_whether_over(self) -> None:
        if self.vouched is not None and self._log.ended:
            self.over.set()

    async def _answer(self, request: Request, group: anyio.abc.TaskGroup) -> None:
        value: Any = None
        refusal: tuple[Refusal, str, str] | None = None
        try:
            value = await self._d.serve.answer(request, group)
        except UnknownEnvironment as error:
            refusal = ("UnknownEnvironment", error.message, "")
        except UnknownRole as error:
            refusal = ("UnknownRole", error.message, "")
        except CallFailed as error:
            refusal = ("AdapterFault", error.message, error.kind)
        except BudgetSpent as error:
            refusal = ("LimitReached", error.message, error.kind)
        except Refused as error:
            refusal = (error.kind, error.message, "")
        except EngineRefused as error:
            if error.status >= FAULTY:  # not for the evaluator to judge
                raise
            refusal = ("ScoringError", error.message, "")
        async with self._sending:
            if refusal is None:
                frame = self._writer.reply(request.id, value)
            else:
                frame = self._writer.refuse(request.id, *refusal)
            try:
                await self._d.stream.send(frame)
            except EngineUnreachable:
                return  # the runner has gone: the listener hears that, and judges it

    async def watch_clock(self) -> None:
        """Has the keeper end the evaluation when its time has run out.

        What the keeper says then decides: a result that it had by then was in time, however late it comes
        here. A keeper that does not answer (a child of the evaluator may have stopped it) is ended with its
        host, and what it said before is heard first.
        """
        host = self._d.host
        await self._d.clock.expired()
        if self.spoken.is_set():
            return
        with anyio.move_on_after(ANSWER_SECONDS):
            async with self._sending:
                with suppress(EngineUnreachable):  # it has gone, and what it said is on its way
                    await self._d.stream.send(self._writer.time_is_over())
            await self.spoken.wait()
        if self.spoken.is_set():
            return
        await host.end("timed_out")
        with anyio.move_on_after(UNHEARD_SECONDS):
            await self.spoken.wait()
        if self.said is None and self.reason is None:
            self.reason = self._d.too_late()
            self.spoken.set()

    def _fail_before_hello(self, violation: ChannelViolation) -> None:
        """Nothing of the task or the submission has run: what came is not their doing."""
        if isinstance(violation, WrongMac):
            text = "the runner's first words were not made with the key that it was sent"
            self._fail("upload_damaged", text, Phase.UPLOAD)
        else:
            text = (
                f"python3 of {self._d.host.image_words} printed before the runner spoke: {violation.message}"
            )
            self._fail("image_unusable", text, Phase.START)

    def _fail(self, kind: str, text: str, phase: Phase = Phase.EVALUATE) -> None:
        if self.reason is None:
            self.reason = failure(phase, kind, text)
        self._greeted.set()
        self.spoken.set()

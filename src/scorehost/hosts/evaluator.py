"""The evaluator's host spoken to: requests served, limits kept, one result or one reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import anyio

from scorehost.aio.groups import task_group
from scorehost.engine.door import Stream
from scorehost.errors import AttemptFailed, CallFailed, EngineRefused, EngineUnreachable
from scorehost.files.capture import Capture
from scorehost.hosts.agents import UnknownRole
from scorehost.hosts.blueprint import ROOT
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.exec_ends import FAULTY
from scorehost.hosts.frames import (
    BudgetSpent,
    ChannelViolation,
    FailedFrame,
    FrameReader,
    FrameWriter,
    Hello,
    Refusal,
    ResultFrame,
    RunnerFrame,
    Start,
    WrongMac,
    new_key,
)
from scorehost.hosts.host import Host
from scorehost.hosts.judgement import Ending, judged, memory_words
from scorehost.hosts.messages import Log, Request
from scorehost.hosts.named import UnknownEnvironment
from scorehost.hosts.sessions import Refused, Sessions
from scorehost.hosts.usage import Usage, read_usage
from scorehost.model.failure import Failure, Phase, failure, is_agents

UNREADABLE = "unreadable"  # the runner's word for a folder that has no digest
EXIT_SECONDS = 2.0  # from a result to the end of its process
UNHEARD_SECONDS = 10.0  # from the end of a process to the end of its stream, on a slow engine
CUT_SECONDS = 5.0  # from the end of a stream to the end of its process, before it counts as cut


class Serve(Protocol):
    """What does what a runner asks for. `sessions` are those that it has with agents."""

    sessions: Sessions

    def count(self, line: Log) -> None:
        """Counts a line for the journal. Raises ChannelViolation when there are too many."""

    async def admit(self, request: Request) -> None:
        """Waits until there is room for what came with a request: nothing is read until then."""

    async def answer(self, request: Request, group: anyio.abc.TaskGroup) -> Mapping[str, Any] | None:
        """The value of one reply; raises what the runner is to be told, or what ends the dialogue."""

    def done(self, request: Request) -> None:
        """The reply has been sent: what the request held is given back."""


@dataclass(slots=True)
class Dialogue:
    """One conversation with a runner over its attached stream. `said` is the frame that ended it."""

    host: Host
    stream: Stream
    start: Start
    trees: dict[str, str]
    clock: StandingClock
    log: Capture
    serve: Serve
    begin: Callable[[], None]  # called when evaluation begins
    near_end: Callable[[], Any]  # awaited while the runner exits
    before: bytes = b""  # sent ahead of the first frame: runner and SDK, to a host that has nothing yet
    after: bytes = b""  # sent behind it: the files that it announces

    async def run(self) -> dict[str, Any]:
        """The evaluator's return value, not yet judged.

        Raises AttemptFailed, EngineUnreachable, EngineTimeout.
        """
        talk = Talk(self)
        async with task_group() as group:
            async with task_group() as serving:
                group.start_soon(talk.listen, group, serving)
                await talk.greet()
                self.begin()
                self.clock.start()
                group.start_soon(talk.watch_clock)
                await talk.spoken.wait()
                # Whoever still waits for an answer is not there any more, and hosts go from now on.
                serving.cancel_scope.cancel()
            reason = talk.reason
            if reason is None and talk.said is not None:
                reason = await self._exited(talk)
            elif reason is None:
                reason = await self.why_it_ended(greeted=True)
            group.cancel_scope.cancel()
        if reason is not None:
            raise AttemptFailed(reason)
        if not isinstance(talk.said, ResultFrame):
            raise AttemptFailed(failure(Phase.EVALUATE, "evaluator_exit", "the evaluator gave no result"))
        return talk.said.value

    async def _exited(self, talk: Talk) -> Failure | None:
        """After a result or a failure: silence and an exit, or it does not count."""
        with anyio.move_on_after(EXIT_SECONDS):
            async with task_group() as group:
                group.start_soon(self.near_end)
                await talk.ended.wait()
        if not talk.ended.is_set():
            await self._heard_late(talk)
        if talk.reason is not None:
            return talk.reason
        if not talk.ended.is_set():
            text = f"the runner did not exit within {EXIT_SECONDS:g} s after its result"
            return failure(Phase.EVALUATE, "channel_violation", text)
        if isinstance(talk.said, (ResultFrame, FailedFrame)):
            usage = talk.said.usage
            known = await read_usage(
                self.host.engine, self.host.container, self.host.users.main, running=False
            )
            self.host.usage = Usage(
                known.peak_memory_bytes or usage.peak_memory_bytes, known.cpu_seconds or usage.cpu_seconds
            )
        changed = self._changed(talk.said)
        if isinstance(talk.said, FailedFrame):
            return self._told_failure(talk.said, changed)
        return failure(Phase.EVALUATE, "changed_input", changed) if changed else None

    def _changed(self, frame: ResultFrame | FailedFrame | None) -> str:
        """What the runner saw change in the host while the evaluation ran; "" when nothing did.

        No other user of the host may write there, and in a fed host the runner's own user has to undo a mode
        first: this is somebody's way around that, and no result counts. A folder that the runner cannot read
        any more (an evaluator may have used up its descriptors) or that it does not name says nothing.
        """
        told = frame.trees if frame is not None else {}
        changed = [
            folder
            for folder, digest in self.trees.items()
            if told.get(folder, UNREADABLE) not in (digest, UNREADABLE)
        ]
        # All of them at once: that is what lies around them.
        place = ROOT if changed == list(self.trees) else ", ".join(changed)
        return f"{place} in the evaluator's host changed during the evaluation" if changed else ""

    async def _heard_late(self, talk: Talk) -> None:
        """Waits for the end of the stream when the runner has exited and only the engine is slow to say so.

        Raises AttemptFailed (engine_lost) when the stream does not end at all.
        """
        if (await self.host.engine.inspect(self.host.container)).running:
            return
        with anyio.move_on_after(UNHEARD_SECONDS):
            await talk.ended.wait()
        if not talk.ended.is_set():
            text = "the evaluator's process has ended, and the engine does not end its output"
            raise AttemptFailed(failure(Phase.EVALUATE, "engine_lost", text))

    def _told_failure(self, frame: FailedFrame, changed: str) -> Failure:
        error = frame.error
        text = error.message
        kind = error.kind
        if is_agents(kind) and kind in self.serve.sessions.told:
            text = f"{self.serve.sessions.told[kind]}; {text}"
        elif is_agents(kind):
            kind = "evaluator_exception"  # of its own making: it may not pass for an adapter's
        if error.kind == "scratch_full":
            text += f"; /tmp and output hold {self.host.blueprint.tmpfs_mb} MiB each"
        if error.kind == "evaluator_oom":
            text += memory_words(self.host.blueprint.limits.memory_mb, self.host.usage.peak_memory_bytes)
        return failure(Phase.EVALUATE, kind, f"{text}; besides, {changed}" if changed else text)

    async def why_it_ended(self, *, greeted: bool) -> Failure:
        """The main process is gone and said nothing."""
        host = self.host
        ended_at = anyio.current_time()
        state = await host.state()
        if state is not None and state.running:
            with anyio.move_on_after(CUT_SECONDS):
                state = await host.engine.wait(host.container)
        # Seen only now: its stream may break a moment after the attached one.
        if (state is not None and state.running) or host.memory.broke_near(ended_at):
            text = "the connection to the evaluator's host was cut"
            raise AttemptFailed(failure(Phase.EVALUATE, "engine_lost", text, retryable=not host.execs))
        oom = state is not None and (state.oom_killed or host.memory.kills(host.container) > 0)
        if oom:
            host.note_oom()
        why = judged(
            Ending(
                exit_code=None if state is None else state.exit_code,
                oom=oom,
                struck=host.memory.struck(host.container),
                ended_by_us=host.ended,
                greeted=greeted,
                execs=host.execs,
                image=host.report().image,
                log_end=self.log.content()[-400:].decode("utf-8", "replace").strip(),
                memory_mb=host.blueprint.limits.memory_mb,
                peak_bytes=host.usage.peak_memory_bytes,
                output_bytes=host.blueprint.limits.output_total_bytes,
            )
        )
        if why.kind == "evaluator_oom":
            host.ended = "oom"
        elif why.kind == "host_lost":
            host.ended = host.ended or "lost"
        return why


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
        self.said: ResultFrame | FailedFrame | None = None
        self.reason: Failure | None = None
        self.spoken = anyio.Event()  # there is a result, a reason, or an end
        self.ended = anyio.Event()  # the stream has ended

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
            text = f"the evaluator's host was not ready within {seconds:g} s"
            raise AttemptFailed(failure(Phase.START, "start_timeout", text))
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
                    self._d.log.add(chunk.data)
                    if host.flooded and not host.ended:
                        group.start_soon(host.end, "output_limit")  # reading on: what is not read ends slowly
                    continue
                for frame in self._reader.feed(chunk.data):
                    if not isinstance(frame, (Hello, ResultFrame, FailedFrame, Log)):
                        await self._d.serve.admit(frame)
                    self._take(frame, serving)
        except ChannelViolation as violation:
            if self._reader.greeted:
                self._fail("channel_violation", violation.message)
            else:
                self._fail_before_hello(violation)
        if self._reader.mid_frame and self.reason is None and self.said is not None:
            self._fail("channel_violation", "bytes after the result")
        self.ended.set()
        self._greeted.set()
        self.spoken.set()

    def _take(self, frame: RunnerFrame, serving: anyio.abc.TaskGroup) -> None:
        if isinstance(frame, Hello):
            self._hello = frame
            self._greeted.set()
        elif isinstance(frame, (ResultFrame, FailedFrame)):
            self.said = frame
            self.spoken.set()
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
                raise AttemptFailed(failure(Phase.EVALUATE, "engine_lost", error.message)) from error
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
        """Ends the talk when the evaluator's time has run out."""
        await self._d.clock.expired()
        seconds = self._d.host.blueprint.limits.evaluate_seconds
        if self.said is None:
            self._d.host.ended = self._d.host.ended or "timed_out"
            self._fail("evaluator_timeout", f"the evaluator did not return within {seconds:g} s")

    def _fail_before_hello(self, violation: ChannelViolation) -> None:
        """Nothing of the task or the submission has run: what came is not their doing."""
        if isinstance(violation, WrongMac):
            text = "the runner's first words were not made with the key that it was sent"
            self._fail("upload_damaged", text, Phase.UPLOAD)
        else:
            image = self._d.host.report().image
            text = f"python3 of the image {image} printed before the runner spoke: {violation.message}"
            self._fail("image_unusable", text, Phase.START)

    def _fail(self, kind: str, text: str, phase: Phase = Phase.EVALUATE) -> None:
        if self.reason is None:
            self.reason = failure(phase, kind, text)
        self._greeted.set()
        self.spoken.set()

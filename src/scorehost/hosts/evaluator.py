"""The evaluation in an evaluator's host, from its first frame to one result or one reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio

from scorehost.aio.groups import task_group
from scorehost.engine.door import Stream
from scorehost.errors import AttemptFailed
from scorehost.files.capture import Capture
from scorehost.hosts.blueprint import ROOT
from scorehost.hosts.clock import StandingClock
from scorehost.hosts.frames import Ended, FailedFrame, ResultFrame, Start
from scorehost.hosts.host import Host
from scorehost.hosts.judgement import KILLED, Ending, judged, memory_words
from scorehost.hosts.messages import Check, Log, Request
from scorehost.hosts.sessions import Sessions, Told
from scorehost.hosts.talk import UNHEARD_SECONDS, Talk
from scorehost.hosts.usage import Usage, read_usage
from scorehost.model.blame import Order, Trouble, blame
from scorehost.model.failure import Blame, Failure, Phase, failure, is_agents

UNREADABLE = "unreadable"  # the keeper's word for a folder that has no digest
LAST_WORDS = 400  # bytes of a log's end that a message has
VOUCH_SECONDS = 60.0  # from a result to the keeper's word: the kernel may take long to free what was held
CUT_SECONDS = 5.0  # from the end of a stream to the end of its process, before it counts as cut


class Serve(Protocol):
    """What does what a runner asks for. `sessions` are those that it has with agents."""

    sessions: Sessions

    def count(self, line: Log | Check) -> None:
        """Counts a line for the journal or a row of checks. Raises ChannelViolation: too many."""

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
    near_end: Callable[[], Any]  # awaited while the evaluator ends
    before: bytes = b""  # sent ahead of the first frame: runner and SDK, to a host that has nothing yet
    after: bytes = b""  # sent behind it: the files that it announces
    misread: Told | None = None  # a reply that was not what the evaluator read it as, though it caught that
    told: list[Any] = field(default_factory=list)  # rows of checks that counted at once, not yet judged
    vouched: bool = False  # the keeper has seen the end of all that the evaluator started

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
            reason = talk.reason or await self._end_of(talk)
            group.cancel_scope.cancel()
        if reason is not None:
            raise AttemptFailed(reason)
        if not isinstance(talk.said, ResultFrame):
            raise AttemptFailed(failure(Phase.EVALUATE, "evaluator_exit", "the evaluator gave no result"))
        if talk.said.misread:
            self.misread = self.serve.sessions.told.get("adapter_malformed")
        return talk.said.value

    async def _end_of(self, talk: Talk) -> Failure | None:
        """Hears the talk to its end. A result counts once the keeper has vouched for the evaluator's end."""
        with anyio.move_on_after(VOUCH_SECONDS):
            async with task_group() as group:
                if talk.said is not None:
                    group.start_soon(self.near_end)
                await talk.over.wait()
        if not talk.over.is_set():
            await self._heard_late(talk)
        if talk.reason is not None:
            return talk.reason
        if talk.vouched is not None:
            self.vouched = True
            return await self._as_vouched(talk.said, talk.vouched)
        if talk.ended.is_set():
            return await self.why_it_ended(greeted=True)
        text = f"what the evaluator started did not end within {VOUCH_SECONDS:g} s after its result"
        if self.host.memory.struck(self.host.container):  # paused, say
            return self._judged(KILLED, oom=False)
        return failure(Phase.EVALUATE, "channel_violation", text)

    async def _as_vouched(self, said: ResultFrame | FailedFrame | None, ended: Ended) -> Failure | None:
        host = self.host
        known = await read_usage(host.engine, host.container, host.users.main, running=False)
        host.usage = Usage(
            known.peak_memory_bytes or ended.usage.peak_memory_bytes,
            known.cpu_seconds or ended.usage.cpu_seconds,
        )
        changed = self._changed(ended)
        if ended.broken:
            text = "the evaluator's process said on the channel what the SDK does not say"
            return failure(Phase.EVALUATE, "channel_violation", text)
        if said is None:
            why = self.why_no_result(ended)
            return (
                why.model_copy(update={"message": f"{why.message}; besides, {changed}"}) if changed else why
            )
        if isinstance(said, FailedFrame):
            return self._told_failure(said, changed)
        if changed:
            return failure(Phase.EVALUATE, "changed_input", changed)
        if ended.status and not ended.stopped:
            return self._late_end(ended)
        return None

    def why_no_result(self, ended: Ended) -> Failure:
        """The evaluator ended and said nothing; the keeper saw how."""
        host = self.host
        if ended.stopped:
            host.ended = host.ended or "timed_out"
        return self._judged(ended.status, oom=self._short_of_memory(ended))

    def _late_end(self, ended: Ended) -> Failure:
        """A result came, but its process did not end by itself then."""
        if self._short_of_memory(ended):
            return self._judged(ended.status, oom=True)
        text = f"the evaluator's process did not exit after its result (exit status {ended.status})"
        return failure(Phase.EVALUATE, "channel_violation", text)

    def _short_of_memory(self, ended: Ended) -> bool:
        return ended.oom_kills > 0 or self.host.memory.kills(self.host.container) > 0

    def _changed(self, ended: Ended) -> str:
        """What the keeper saw change in the host while the evaluation ran; "" when nothing did.

        No other user of the host may write there, and in a fed host the runner's own user has to undo a mode
        first: this is somebody's way around that, and no result counts. A folder that the keeper cannot read
        any more says nothing: it is root's then, since of those of its own user it asks for states only.
        """
        changed = [
            folder
            for folder, digest in self.trees.items()
            if ended.trees.get(folder, "") not in (digest, UNREADABLE)
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
            await talk.over.wait()
        if not talk.over.is_set() and talk.vouched is None:
            text = "the evaluator's process has ended, and the engine does not end its output"
            raise AttemptFailed(failure(Phase.EVALUATE, "engine_lost", text))

    def _told_failure(self, frame: FailedFrame, changed: str) -> Failure:
        error = frame.error
        text = error.message
        kind = error.kind
        told = self.serve.sessions.told.get(kind) if is_agents(kind) else None
        if told is not None:
            text = f"{told.message}; {text}"
        elif is_agents(kind):
            kind = "evaluator_exception"  # of its own making: it may not pass for an adapter's
        if error.kind == "scratch_full":
            text += f"; /tmp and output hold {self.host.blueprint.tmpfs_mb} MiB each"
        if error.kind == "evaluator_oom":
            text += memory_words(self.host.blueprint.limits.memory_mb, self.host.usage.peak_memory_bytes)
        role = None if told is None else told.role
        why = failure(Phase.EVALUATE, kind, f"{text}; besides, {changed}" if changed else text, role=role)
        if changed and why.blame not in (Blame.DATASET, Blame.SUBMISSION):
            # Whoever changed it could have had the evaluator say so: nobody else is to blame then.
            return failure(Phase.EVALUATE, "changed_input", f"{changed}; besides, {text}")
        return why

    async def why_it_ended(self, *, greeted: bool) -> Failure:
        """The main process is gone and said nothing."""
        host = self.host
        if host.ended == "timed_out":  # by us: whatever the engine says of that kill
            return self.too_late()
        ended_at = anyio.current_time()
        state = await host.state()
        if state is not None and state.running:
            with anyio.move_on_after(CUT_SECONDS):
                state = await host.engine.wait(host.container)
        # Seen only now: its stream may break a moment after the attached one.
        struck = await host.memory.struck_down(host.container)
        if struck:
            return self._judged(None if state is None else state.exit_code, oom=False, greeted=greeted)
        if (state is not None and state.running) or host.memory.broke_near(ended_at):
            text = "the connection to the evaluator's host was cut"
            retried = blame(host.facts(Trouble.CUT, order=Order.NOBODY)).retried
            raise AttemptFailed(failure(Phase.EVALUATE, "engine_lost", text, retryable=retried))
        oom = state is not None and (state.oom_killed or host.memory.kills(host.container) > 0)
        return self._judged(None if state is None else state.exit_code, oom=oom, greeted=greeted)

    def too_late(self) -> Failure:
        """The evaluator was ended since its time had run out."""
        return self._judged(None, oom=False)

    def last_words(self) -> str:
        """The end of what the host printed, to follow a message; "" when it printed nothing."""
        said = self.log.content()[-LAST_WORDS:].decode("utf-8", "replace").strip()
        return f"; it printed {self.host.printed} bytes, last: {said}" if said else ""

    def _judged(self, exit_code: int | None, *, oom: bool, greeted: bool = True) -> Failure:
        host = self.host
        if oom:
            host.note_oom()
        why = judged(
            Ending(
                exit_code=exit_code,
                oom=oom,
                struck=host.memory.struck(host.container),
                ended_by_us=host.ended,
                greeted=greeted,
                execs=host.execs,
                image=host.image_words,
                log_end=self.log.content()[-LAST_WORDS:].decode("utf-8", "replace").strip(),
                memory_mb=host.blueprint.limits.memory_mb,
                peak_bytes=host.usage.peak_memory_bytes,
                output_bytes=host.blueprint.limits.output_total_bytes,
                seconds=host.blueprint.limits.evaluate_seconds,
            )
        )
        if why.kind == "evaluator_oom":
            host.ended = "oom"
        elif why.kind == "host_lost":
            host.ended = host.ended or "lost"
        return why

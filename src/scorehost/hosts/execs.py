"""One process beside a host's main process: run to its end, to its deadline, or to the end of its host."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import anyio
import structlog

from scorehost.aio.groups import task_group
from scorehost.engine.door import Stream
from scorehost.errors import (
    Conflict,
    EngineError,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    NotFound,
)
from scorehost.files.capture import Capture
from scorehost.hosts.blueprint import EXEC_HOME, ROOT
from scorehost.hosts.exec_ends import (
    BRIEF_SECONDS,
    STILL_RUNNING,
    Kills,
    code_at_deadline,
    code_unless_blamed,
    exit_code,
    lost_with,
    never_ran,
    note_loss,
    ran_over,
    reason_of,
    refuse_broken_off,
    refuse_lost_by_others,
    says_of_program,
    taken_along,
    told_of_trouble,
)
from scorehost.hosts.exec_words import explained, explained_late
from scorehost.hosts.host import Host
from scorehost.hosts.usage import crowded_out
from scorehost.model.blame import Ran, Trouble
from scorehost.model.exec_result import ExecResult

_log = structlog.get_logger()
TIMED_OUT = 124
DRAIN_SECONDS = 2.0  # for what a program that has ended printed, and for what one prints while it is killed
CUT_SECONDS = 10.0  # for the end of what was cut off
ENDED_SECONDS = 0.5  # from the end of a program's output to the engine's word that it has ended
STDIN_CHUNK = 64 * 1024
End = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ExecOrder:
    """A process to run. `seconds` is its limit; `keep` how many bytes of each stream are kept."""

    argv: tuple[str, ...]
    seconds: float
    keep: int
    stdin: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None


class Output:
    """What a process printed, both streams, counted into its host's total."""

    def __init__(self, host: Host, keep: int) -> None:
        self._host = host
        self.stdout = Capture(keep)
        self.stderr = Capture(keep)

    def take(self, stream: str, data: bytes) -> None:
        """Takes a piece, and counts it into what all processes of the host printed."""
        (self.stdout if stream == "stdout" else self.stderr).add(data)
        self._host.printed += len(data)

    def words(self) -> str:
        """Both streams as text, when it is the engine that speaks there."""
        return (self.stdout.content() + self.stderr.content()).decode("utf-8", "replace")


async def started_exec(host: Host, order: ExecOrder) -> str | None:
    """An exec made ready in `host`, or None when the host does not run any more."""
    home = {"HOME": EXEC_HOME} if host.blueprint.evaluator else {}
    # Where gold lies, no file beside a program may stand for a module of it. Elsewhere there is nothing to
    # protect, and programs of several files import their own.
    safe = {"PYTHONSAFEPATH": "1"} if host.blueprint.gold or host.blueprint.evaluator else {}
    try:
        with host.asking():
            return await host.engine.exec_create(
                host.container,
                order.argv,
                user=host.users.execs,
                env={**safe, **home, **order.env},
                workdir=order.workdir or host.blueprint.workdir or ROOT,
                stdin=order.stdin is not None,
            )
    except (Conflict, NotFound):
        return None


@asynccontextmanager
async def opened_exec(host: Host, exec_id: str, on_cut: End) -> AsyncIterator[Stream]:
    """Starts an exec and gives its stream. Raises what the engine's `exec_start` does.

    When the block is cancelled, `on_cut` ends what runs there: the engine cannot, and a program of which
    nobody hears any more must not go on.
    """
    try:
        async with AsyncExitStack() as stack:
            with host.asking():
                stream = await stack.enter_async_context(host.engine.exec_start(exec_id))
            yield stream
    except anyio.get_cancelled_exc_class():
        await _cut_off(host, on_cut)
        raise


async def _cut_off(host: Host, on_cut: End) -> None:
    host.hurried = True
    with anyio.move_on_after(CUT_SECONDS, shield=True) as bound:
        try:
            await on_cut()
        except EngineError as error:
            _log.warning("a program that was cut off was not ended", host=host.name, reason=error.message)
    if bound.cancelled_caught:
        _log.warning("a program that was cut off was not ended in time", host=host.name)


async def run_exec(host: Host, order: ExecOrder, on_deadline: End, on_cut: End | None = None) -> ExecResult:
    """Runs one process as the host's exec user. `on_deadline` ends it: the engine cannot. So does `on_cut`
    (else `on_deadline`) when this is cancelled.

    Whether it ran too long is asked of the engine: this process may look late, and then what lies ready
    counts (docs/adr/0016).

    Raises NotStarted, EngineUnreachable, and AttemptFailed as the table of blame says (host_lost,
    engine_lost, start_failed, and submission_fault beside the evaluator); all else is told.
    """
    begun = time.monotonic()
    crowd = crowded_out(host.container)
    kills = Kills(host)
    output = Output(host, order.keep)
    before = ran = host.ran
    exec_id = ""
    try:
        exec_id = await started_exec(host, order) or ""
        if not exec_id:
            return await _lost(host)
        host.execs += 1
        async with opened_exec(host, exec_id, on_cut or on_deadline) as stream, task_group() as group:
            ran = host.ran
            if order.stdin is not None:
                group.start_soon(_feed, stream, order.stdin)
            code = await _ended(host, exec_id, stream, output, order.seconds)
            crowded = crowded_out(host.container) > crowd
            kills.look()
            if code == STILL_RUNNING:
                await _killed(host, stream, output, on_deadline)
            group.cancel_scope.cancel()
        if host.flooded:
            await host.end("output_limit")
        timed_out = code == STILL_RUNNING
        lost = code is None or await taken_along(host, code, kills)
        if await never_ran(host, exec_id, code):
            return await _not_run(host, order, output, begun, ran=before, lost=lost, crowded=crowded)
    except (Conflict, NotFound):
        return await _lost(host)
    except (EngineRefused, EngineTimeout) as error:
        if not await says_of_program(host, exec_id, error):
            return await told_of_trouble(host, error, ran=ran)
        code = code_unless_blamed(host, error.message, ran=before)
        said = explained(order.argv[0], code, error.message)
        return ExecResult(exit_code=code, stderr=said, duration_seconds=time.monotonic() - begun)
    crowded = crowded or crowded_out(host.container) > crowd
    if code != 0:
        await refuse_lost_by_others(host, Trouble.TIME if timed_out else Trouble.ENDED, gone=lost)
    oom = await kills.are_its_own() or (lost and host.ended == "oom")
    lost = lost and not timed_out
    stderr = output.stderr.content()
    stderr += explained_late(code, stderr) + (_crowded_words(host) if crowded else b"")
    return ExecResult(
        exit_code=TIMED_OUT if timed_out else code,
        stdout=output.stdout.content(),
        stderr=stderr,
        stdout_truncated=output.stdout.truncated,
        stderr_truncated=output.stderr.truncated,
        timed_out=timed_out,
        oom_killed=oom,
        host_lost=lost,
        reason=reason_of(host, lost=lost, timed_out=timed_out, oom=oom),
        duration_seconds=time.monotonic() - begun,
    )


async def _lost(host: Host) -> ExecResult:
    await note_loss(host)
    return await lost_with(host)


async def _ended(host: Host, exec_id: str, stream: Stream, output: Output, seconds: float) -> int | None:
    """The exit code of a process that ended in its time; STILL_RUNNING when it did not, None without a host.

    One that ended by itself, but too late by the engine's own times, counts as not ended.
    """
    until = anyio.current_time() + seconds
    with anyio.move_on_after(seconds) as deadline:
        await _drain(host, stream, output)
    if host.flooded:
        return None  # it is ended with its host
    ended_at = anyio.current_time()
    held_up = 0.0
    if deadline.cancelled_caught:
        code = await code_at_deadline(host, exec_id, late=ended_at - until > BRIEF_SECONDS)
        held_up = anyio.current_time() - ended_at
        if code != STILL_RUNNING:
            with anyio.move_on_after(DRAIN_SECONDS):  # its last words may be on their way
                await _drain(host, stream, output)
    else:
        code = await exit_code(host, exec_id, until=max(until, ended_at + ENDED_SECONDS))
    refuse_broken_off(host, ended_at)
    late = code not in (None, STILL_RUNNING) and ended_at > until
    if late and await ran_over(host, exec_id, seconds + held_up):
        return STILL_RUNNING
    return code


async def _killed(host: Host, stream: Stream, output: Output, on_deadline: End) -> None:
    with anyio.move_on_after(DRAIN_SECONDS) as drained:
        async with task_group() as ending:
            # Side by side: the engine is slow to end what is not read.
            ending.start_soon(_drain, host, stream, output)
            with anyio.CancelScope(shield=True):
                await on_deadline()
            drained.deadline = anyio.current_time() + DRAIN_SECONDS


async def _not_run(
    host: Host, order: ExecOrder, output: Output, begun: float, *, ran: Ran, lost: bool, crowded: bool
) -> ExecResult:
    """What is told of a program that the engine could not start: its words are no output of a program.

    `ran` is what was there before. Raises NotStarted when that says nothing about the program.
    """
    if lost:
        return await lost_with(host)
    words = output.words() + (_crowded_words(host).decode() if crowded else "")
    code = code_unless_blamed(host, words, ran=ran)
    return ExecResult(
        exit_code=code,
        stderr=explained(order.argv[0], code, words),
        duration_seconds=time.monotonic() - begun,
    )


def _crowded_words(host: Host) -> bytes:
    limit = host.blueprint.limits.pids
    return f"\n[scorehost: this host's limit of {limit} processes was reached]\n".encode()


async def _drain(host: Host, stream: Stream, output: Output) -> None:
    """Reads to the end, or until the host printed too much: its stream is then closed before it is ended."""
    while not host.flooded and (chunk := await stream.receive()) is not None:
        output.take(chunk.stream, chunk.data)


async def _feed(stream: Stream, data: bytes) -> None:
    try:
        for start in range(0, len(data), STDIN_CHUNK):
            await stream.send(data[start : start + STDIN_CHUNK])
        await stream.close_stdin()
    except EngineUnreachable:
        pass  # the process closed its stdin or ended: its exit tells the rest

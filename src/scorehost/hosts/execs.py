"""One process beside a host's main process: run to its end, to its deadline, or to the end of its host."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace

import anyio

from scorehost.aio.groups import task_group
from scorehost.engine.door import ContainerState, Stream
from scorehost.errors import AttemptFailed, Conflict, EngineRefused, EngineUnreachable, NotFound
from scorehost.files.capture import Capture
from scorehost.hosts.blueprint import EXEC_HOME, ROOT
from scorehost.hosts.host import Host
from scorehost.hosts.judgement import UNUSABLE_CODES
from scorehost.hosts.usage import crowded_out
from scorehost.model.failure import Phase, failure

TIMED_OUT = 124
KILLED = 137
NOT_STARTED = 126  # what the engine says of a program that it could not start, also since its host was ending
STILL_RUNNING = -1
FAULTY = 500  # statuses from here on are about the engine, or about what it tried and could not do
DRAIN_SECONDS = 2.0
BRIEF_SECONDS = 0.2
LONG_PAUSE = 0.1
STDIN_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class ExecOrder:
    """A process to run. `seconds` is its limit; `keep` how many bytes of each stream are kept."""

    argv: tuple[str, ...]
    seconds: float
    keep: int
    stdin: bytes | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None


@dataclass(frozen=True, slots=True)
class ExecOutcome:
    """How it ended. `host_lost`: its container did not live to its end, or would not take it."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    truncated: bool = False
    timed_out: bool = False
    oom_killed: bool = False
    host_lost: bool = False
    duration_seconds: float = 0.0


LOST = ExecOutcome(exit_code=KILLED, stdout=b"", stderr=b"", host_lost=True)


def lost_with(host: Host) -> ExecOutcome:
    """What is told of a process that its host did not take any more, with the reason when that was memory."""
    return replace(LOST, oom_killed=host.ended == "oom")


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

    @property
    def truncated(self) -> bool:
        """Whether either stream lost anything."""
        return self.stdout.truncated or self.stderr.truncated


async def started_exec(host: Host, order: ExecOrder) -> str | None:
    """An exec made ready in `host`, or None when the host does not run any more."""
    home = {"HOME": EXEC_HOME} if host.blueprint.evaluator else {}
    try:
        with host.asking():
            return await host.engine.exec_create(
                host.container,
                order.argv,
                user=host.users.execs,
                env={"PYTHONSAFEPATH": "1", **home, **order.env},
                workdir=order.workdir or host.blueprint.workdir or ROOT,
                stdin=order.stdin is not None,
            )
    except (Conflict, NotFound):
        return None


@asynccontextmanager
async def opened_exec(host: Host, exec_id: str) -> AsyncIterator[Stream]:
    """Starts an exec and gives its stream. Raises what the engine's `exec_start` does."""
    async with AsyncExitStack() as stack:
        with host.asking():
            stream = await stack.enter_async_context(host.engine.exec_start(exec_id))
        yield stream


def refuse_broken_off(host: Host, ended_at: float) -> None:
    """Raises EngineUnreachable when a stream ended in the moment in which the way to the engine broke.

    A connection that somebody on the way closes looks like the end of the output, and is none.
    """
    if host.memory.broke_near(ended_at):
        raise EngineUnreachable("The connection to the Docker engine was lost while a process ran.")


async def run_exec(host: Host, order: ExecOrder, on_deadline: Callable[[], Awaitable[None]]) -> ExecOutcome:
    """Runs one process as the host's exec user. `on_deadline` ends it: the engine cannot.

    Raises EngineUnreachable, EngineTimeout, EngineRefused (it fails by itself), AttemptFailed (engine_lost);
    everything that a process can cause is told.
    """
    begun = time.monotonic()
    crowd = crowded_out(host.container)
    crowded = False
    kills = host.memory.kills(host.container)
    exec_id = await started_exec(host, order)
    if exec_id is None:
        await note_loss(host)
        return lost_with(host)
    host.execs += 1
    output = Output(host, order.keep)
    code: int | None = None
    timed_out = False
    try:
        async with opened_exec(host, exec_id) as stream, task_group() as group:
            if order.stdin is not None:
                group.start_soon(_feed, stream, order.stdin)
            until = anyio.current_time() + order.seconds
            with anyio.move_on_after(order.seconds) as deadline:
                await _drain(host, stream, output)
            if not deadline.cancelled_caught and not host.flooded:
                ended_at = anyio.current_time()
                code = await exit_code(host, exec_id, until=until)
                refuse_broken_off(host, ended_at)
            timed_out = deadline.cancelled_caught or code == STILL_RUNNING
            if host.flooded:
                code = KILLED
            if timed_out:
                code = TIMED_OUT
                crowded = crowded_out(host.container) > crowd
                with anyio.move_on_after(DRAIN_SECONDS) as drained:
                    async with task_group() as ending:
                        # Side by side: the engine is slow to end what is not read.
                        ending.start_soon(_drain, host, stream, output)
                        with anyio.CancelScope(shield=True):
                            await on_deadline()
                        drained.deadline = anyio.current_time() + DRAIN_SECONDS
            group.cancel_scope.cancel()
        if host.flooded:
            await host.end("output_limit")
    except (Conflict, NotFound):
        await note_loss(host)
        return lost_with(host)
    except EngineRefused as error:
        await engine_at_fault(host, exec_id, error)
        # The engine could not run it (a working directory that is not there, say): its words are the output.
        return ExecOutcome(
            exit_code=NOT_STARTED,
            stdout=b"",
            stderr=error.message.encode(),
            duration_seconds=time.monotonic() - begun,
        )
    crowded = crowded or crowded_out(host.container) > crowd
    lost = code is None or await taken_along(host, code, kills)
    oom = host.memory.kills(host.container) > kills or (lost and host.ended == "oom")
    return ExecOutcome(
        exit_code=KILLED if code is None else code,
        stdout=output.stdout.content(),
        stderr=output.stderr.content() + (_crowded_words(host) if crowded else b""),
        truncated=output.truncated,
        timed_out=timed_out,
        oom_killed=oom,
        host_lost=lost and not timed_out,
        duration_seconds=time.monotonic() - begun,
    )


async def engine_at_fault(host: Host, exec_id: str, error: EngineRefused) -> None:
    """Raises AttemptFailed (engine_lost) when a refusal to start a process says nothing about the process.

    It does where the engine tried and could not: it then noted 126 or 127. Else the engine never tried, or
    did start it and lost its output; neither may be told as if it were the process's doing.
    """
    if error.status >= FAULTY and await host.engine.exec_exit_code(exec_id) not in UNUSABLE_CODES:
        raise AttemptFailed(failure(Phase.EVALUATE, "engine_lost", error.message)) from error


async def exit_code(host: Host, exec_id: str, *, until: float = math.inf) -> int | None:
    """The exit code of a process whose output has ended; None when its container took it along.

    A process may close its output and go on: this waits as long as it and its container live, and gives
    STILL_RUNNING when the engine says so after `until`. An engine that is slow to answer is waited for: that
    is not the process's time.
    """
    pause = 0.002
    while True:
        try:
            with host.asking():
                code = await host.engine.exec_exit_code(exec_id)
        except NotFound:
            code = None
            pause = LONG_PAUSE
        if code is not None:
            return code
        if pause >= LONG_PAUSE and await gone(host):
            return None
        if anyio.current_time() >= until:
            return STILL_RUNNING
        await anyio.sleep(pause)
        pause = min(pause * 2, LONG_PAUSE)


async def gone(host: Host) -> bool:
    """Whether the host's container does not run any more; then `host.ended` says why."""
    if host.ended:
        return True
    try:
        return _noted(host, await host.engine.inspect(host.container))
    except NotFound:
        return _noted(host, None)


async def taken_along(host: Host, code: int, kills: int) -> bool:
    """Whether a process that ended by SIGKILL, or was never started, did so since its container ended.

    The process is seen to end before its container is, so this waits a moment; not where the kernel has
    just killed for memory (`kills` were counted when the process began): that alone is reason enough. A
    program that is not there is common, and so waited for less.
    """
    if code not in (KILLED, NOT_STARTED):
        return False
    if host.ended:
        return True
    if host.memory.kills(host.container) > kills:
        return await gone(host)
    return _noted(host, await (host.state() if code == KILLED else host.state(BRIEF_SECONDS)))


async def note_loss(host: Host) -> None:
    """Says in `host.ended` why a host is not there any more, by what the engine knows of it."""
    if not host.ended:
        _noted(host, await host.state())


def _noted(host: Host, state: ContainerState | None) -> bool:
    if state is not None and state.running:
        return False
    oom = state is not None and (state.oom_killed or host.memory.kills(host.container) > 0)
    host.ended = host.ended or ("oom" if oom else "lost")
    if oom:
        host.note_oom()
    return True


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

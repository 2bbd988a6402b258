"""What became of a process beside a host's main process, asked of the engine: code, time, host."""

from __future__ import annotations

import math

import anyio

from scorehost.engine.door import ContainerState
from scorehost.errors import (
    AttemptFailed,
    EngineError,
    EngineRefused,
    EngineTimeout,
    EngineUnreachable,
    NotFound,
    ScorehostError,
)
from scorehost.hosts.host import Host
from scorehost.hosts.judgement import UNUSABLE_CODES, lost_words
from scorehost.hosts.usage import killed_for_memory
from scorehost.hosts.working import works
from scorehost.model.blame import TOLD, Ran, Trouble, blame
from scorehost.model.exec_result import ExecResult, Reason
from scorehost.model.failure import Phase, failure

KILLED = 137
NOT_FOUND = 127  # the shell's: there is no such program
NOT_STARTED = 126  # what the engine says of a program that it could not start, also since its host was ending
STILL_RUNNING = -1
FAULTY = 500  # statuses from here on are about the engine, or about what it tried and could not do
BRIEF_SECONDS = 0.2
LONG_PAUSE = 0.1
# An engine that takes longer to answer is busy or was stopped, and may not have heard of an end yet.
PROMPT_SECONDS = 0.5
LATE_ASKS = 5
# How much longer than its limit a program that ended by itself may have run by the engine's own times: those
# begin before the program does, by as long as a busy machine takes to start it.
TOLERANCE_SECONDS = 1.0
# Words of the runtime, which count only where the engine says that no program ran: nothing in a container
# can write them there.
_NO_PROGRAM = ("executable file not found", "no such file or directory", "not found in $path")
_ASKED_WRONGLY = (
    "chdir to cwd",
    "unable to find user",
    "unable to find group",
    "argument list too long",
    "no matching entries in passwd",
)
_NO_RIGHT = ("permission denied", "is a directory", "exec format error", "not a directory")


class NotStarted(ScorehostError):
    """A program was not run, for a reason that is not its own; the message has the engine's words.

    `asked_wrongly`: its place or user is not there. `by_whom_ran`: what ran in the host before left no room.
    """

    def __init__(self, message: str, *, asked_wrongly: bool = False) -> None:
        super().__init__(message)
        self.asked_wrongly = asked_wrongly
        self.by_whom_ran = False


async def lost_with(host: Host) -> ExecResult:
    """What is told of a program that its host did not take any more, with the reason when that was memory.

    Raises AttemptFailed (host_lost) where that was the machine's doing, or somebody's who gave the engine an
    order.
    """
    await refuse_lost_by_others(host)
    return ExecResult(
        exit_code=None, host_lost=True, oom_killed=host.ended == "oom", reason=reason_of(host, lost=True)
    )


async def refuse_lost_by_others(host: Host, trouble: Trouble = Trouble.ENDED, *, gone: bool = True) -> None:
    """Raises AttemptFailed (host_lost) when a host's trouble is nobody's doing who is scored.

    `gone`: its container has ended, and the events of that are waited for.
    """
    if gone and not host.heard_out:
        host.heard_out = True
        await host.memory.struck_down(host.container)
    if host.removed:
        trouble = Trouble.REMOVED
    elif host.ended == "oom":
        trouble = Trouble.MEMORY
    facts = host.facts(trouble)
    verdict = blame(facts)
    if verdict.kind == "host_lost":
        limit, peak = host.blueprint.limits.memory_mb, host.usage.peak_memory_bytes
        text = lost_words(facts, f"the host {host.blueprint.name}", limit, peak)
        raise AttemptFailed(failure(Phase.EVALUATE, "host_lost", text, retryable=verdict.retried))


class Kills:
    """Kills for memory in a host while one of its programs runs."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.told = host.memory.kills(host.container)
        self._seen = killed_for_memory(host.container)
        self._more = False

    def look(self) -> None:
        """Asks this machine's kernel, as long as the host's control group is there."""
        self._more = self._more or killed_for_memory(self._host.container) > self._seen

    async def are_its_own(self) -> bool:
        """Whether there were any, of the host's own limit. Raises AttemptFailed for those of the machine."""
        host = self._host
        if not self._more and host.memory.kills(host.container) <= self.told:
            return False
        host.note_oom()
        await refuse_lost_by_others(host, Trouble.MEMORY, gone=False)
        return True


def reason_of(host: Host, *, lost: bool, timed_out: bool = False, oom: bool = False) -> Reason:
    """Why a program did not end by itself."""
    if timed_out:
        return "timed_out"
    if lost and host.ended == "output_limit":
        return "output_limit"
    if oom or (lost and host.ended == "oom"):
        return "oom"
    return "lost" if lost else ""


def refuse_broken_off(host: Host, ended_at: float) -> None:
    """Raises EngineUnreachable when a stream ended in the moment in which the way to the engine broke.

    A connection that somebody on the way closes looks like the end of the output, and is none.
    """
    if host.memory.broke_near(ended_at):
        raise EngineUnreachable("The connection to the Docker engine was lost while a process ran.")


async def told_of_trouble(host: Host, error: EngineError, *, ran: Ran) -> ExecResult:
    """What is told when the engine cannot say how a process began or ended; the host ends with that.

    Raises AttemptFailed when nobody is to be told: the engine's trouble, or that of the evaluator's host.
    `ran` is what had run there, this process left out when it may not have begun.
    """
    facts = host.facts(Trouble.STUCK, ran=ran, engine_answers=await works(host.engine, after=error))
    verdict = blame(facts)
    if verdict.kind == TOLD:
        host.stuck = True
        await host.end("lost")
        return ExecResult(exit_code=None, host_lost=True, reason="lost")
    text = error.message
    if verdict.kind == "submission_fault":
        text = f"what ran beside the evaluator clogged its host: {text}"
    raise AttemptFailed(failure(Phase.EVALUATE, verdict.kind, text, retryable=verdict.retried)) from error


async def says_of_program(host: Host, exec_id: str, error: EngineError) -> bool:
    """Whether a refusal to start a process says something about the process.

    It does where the engine tried and could not: it then noted 126 or 127. Else the engine never tried, or
    did start it and lost its output; neither may be told as if it were the process's doing.
    """
    if not isinstance(error, EngineRefused):
        return False
    if error.status < FAULTY:
        return True
    try:
        return await host.engine.exec_exit_code(exec_id) in UNUSABLE_CODES
    except (EngineRefused, EngineTimeout):
        return False


def code_of_refusal(words: str) -> int:
    """The exit code that a shell would give for a program that the runtime could not start.

    Raises NotStarted for what is no matter of the program: its working directory, its user, its host.
    """
    said = words.lower()
    asked_wrongly = any(part in said for part in _ASKED_WRONGLY)
    if not asked_wrongly:
        if any(part in said for part in _NO_PROGRAM):
            return NOT_FOUND
        if any(part in said for part in _NO_RIGHT):
            return NOT_STARTED
    text = f"exec could not be started: {' '.join(words.split())[:300] or 'the engine says no more'}"
    raise NotStarted(text, asked_wrongly=asked_wrongly)


def code_unless_blamed(host: Host, words: str, *, ran: Ran) -> int:
    """The same; a NotStarted knows whether what ran in the host before, `ran`, is to blame.

    Raises AttemptFailed (start_failed) for trouble of a host in which nothing had run.
    """
    try:
        return code_of_refusal(words)
    except NotStarted as error:
        if error.asked_wrongly:
            raise
        verdict = blame(host.facts(Trouble.NOT_STARTED, ran=ran))
        if verdict.kind in (TOLD, "submission_fault"):
            error.by_whom_ran = bool(verdict.kind)
            raise
        text = f"{error.message} (host {host.blueprint.name}, {host.image_words})"
        raise AttemptFailed(failure(Phase.START, verdict.kind, text, retryable=verdict.retried)) from error


async def never_ran(host: Host, exec_id: str, code: int | None) -> bool:
    """Whether an exit code is the engine's note that it could not start the program."""
    return code in UNUSABLE_CODES and not await host.engine.exec_ran(exec_id)


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


async def code_at_deadline(host: Host, exec_id: str, *, late: bool) -> int | None:
    """Whether a program has ended when its time is over: its code, STILL_RUNNING, or None without a host.

    An engine that takes long to answer was held up, and perhaps has not yet heard of an end: it is asked
    again, a few times, though it is quick by then. So is any engine when this process itself looks `late`.
    """
    held_up, pause = False, LONG_PAUSE
    for asked in range(LATE_ASKS):
        begun = anyio.current_time()
        try:
            with host.asking():
                code = await host.engine.exec_exit_code(exec_id)
        except NotFound:
            return None if await gone(host) else STILL_RUNNING
        if code is not None:
            return code
        held_up = held_up or anyio.current_time() - begun > PROMPT_SECONDS
        if not held_up and not (late and asked == 0):
            break
        await anyio.sleep(pause)
        pause *= 2
    return STILL_RUNNING


async def ran_over(host: Host, exec_id: str, seconds: float) -> bool:
    """Whether a program that has ended ran longer than it may, by the engine's own times. Unknown: no.

    Those are of no more worth than the engine was quick: `seconds` holds what it was late by.
    """
    ran = await host.memory.exec_seconds(host.container, exec_id)
    return ran is not None and ran > seconds + TOLERANCE_SECONDS


async def gone(host: Host) -> bool:
    """Whether the host's container does not run any more; then `host.ended` says why."""
    if host.ended:
        return True
    try:
        return _noted(host, await host.engine.inspect(host.container))
    except NotFound:
        return _noted(host, None)


async def taken_along(host: Host, code: int, kills: Kills) -> bool:
    """Whether a process that ended by SIGKILL, or was never started, did so since its container ended.

    The process is seen to end before its container is, so this waits a moment; not where the kernel has
    just killed for memory (`kills` were counted when the process began): that alone is reason enough. A
    program that is not there is common, and so waited for less.
    """
    if code not in (KILLED, *UNUSABLE_CODES):
        return False
    if host.ended:
        return True
    if host.memory.kills(host.container) > kills.told:
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
    host.removed = host.removed or (state is None and not host.ended)
    host.ended = host.ended or ("oom" if oom else "lost")
    if oom:
        host.note_oom()
    return True

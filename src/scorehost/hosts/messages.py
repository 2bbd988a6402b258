"""What the runner may say on the channel: one frozen model per kind of frame."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, TypeAdapter

from scorehost.model.frozen import Frozen

MAX_FRAME = 16 * 1024 * 1024
MAX_EXECS = (
    2_000  # execs, opened processes and resets of an attempt together: each costs the engine something
)
MAX_OPEN = 16
MAX_ARGV_ENV = 64 * 1024
MAX_STDIN = 64 * 1024 * 1024
MAX_LOG_LINES = 10_000
MAX_PART = 4 * 1024 * 1024


def _from_base64(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        raise ValueError("not base64") from None


def _without_nul(value: str) -> str:
    if "\0" in value:
        raise ValueError("holds NUL")
    return value


def _words(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Data = Annotated[bytes, BeforeValidator(_from_base64)]
Part = Annotated[Data, Field(max_length=MAX_PART)]
Word = Annotated[str, BeforeValidator(lambda value: _without_nul(value) if isinstance(value, str) else value)]
Id = Annotated[int, Field(ge=1, le=2**53)]
ProcessId = Annotated[int, Field(ge=0, le=2**53)]
Seconds = Annotated[float, Field(ge=0, le=1_000_000, allow_inf_nan=False)]
HostName = Annotated[str, Field(max_length=256)]
Argv = Annotated[tuple[Word, ...], BeforeValidator(_words), Field(min_length=1)]
Path = Annotated[Word, Field(min_length=1, max_length=4096)]
Text = Annotated[str, Field(max_length=MAX_PART)]
AssertionWords = Annotated[dict[str, Annotated[str, Field(max_length=64 * 1024)]], Field(max_length=8)]
Trees = dict[str, str]
Promise = Literal["network", "read_only_root", "seccomp", "no_new_privileges", "capabilities", "user"]


class Limits(Frozen):
    """What the runner may put into one result."""

    metrics_bytes: int = 1024 * 1024
    metrics_depth: int = 16
    checks_bytes: int = 8 * 1024 * 1024
    checks_rows: int = 10_000
    frame_bytes: int = MAX_FRAME


class Start(Frozen):
    """The controller's first frame, without its key. `trees` are folders to digest before the evaluation.

    `gold` are those of `environments` that hold the gold set: untrusted code is not called there.
    `roles` are those of the task, which make `inputs["agent"]`; `phase` run: the entrypoint gets a context.
    `fed`: files follow this frame, and lie where the runner's own user could change them. `alone`: all
    processes of the runner's user are its own, and may be killed. `shared`: places in memory that
    belong to the runner, and that execs beside it must be able to write. `excused`: of what the keeper looks
    for in its container, what need not hold. `any_name`: without a map, every name of a host means the single
    one (the ageval layout).
    """

    entrypoint: str
    inputs: dict[str, Any]
    environments: tuple[str, ...]
    single: bool
    trees: tuple[str, ...]
    limits: Limits = Limits()
    gold: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()
    phase: Literal["evaluate", "run"] = "evaluate"
    fed: bool = False
    alone: bool = False
    shared: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    any_name: bool = False


class Hello(Frozen):
    """The keeper runs; digests of the trees as it sees them. With `unenforced` it took no file and ended."""

    kind: Literal["hello"]
    python: str = Field(max_length=64)
    trees: Trees
    dumpable: bool = False
    unenforced: Annotated[tuple[Promise, ...], BeforeValidator(_words), Field(max_length=6)] = ()


class Exec(Frozen):
    """Run a program in a host and wait for its end; `stdin` is whole, however many parts it came in."""

    kind: Literal["exec"]
    id: Id
    name: HostName | None
    argv: Argv
    env: dict[Word, Word] | None = None
    workdir: Path | None = None
    timeout: Seconds | None = None
    stdin: Annotated[Data, Field(max_length=MAX_STDIN)] | None = None


class Open(Frozen):
    """Start a program in a host and talk to it."""

    kind: Literal["open"]
    id: Id
    name: HostName | None
    argv: Argv
    env: dict[Word, Word] | None = None
    workdir: Path | None = None


class Send(Frozen):
    """Bytes for an open process."""

    kind: Literal["send"]
    id: Id
    process: ProcessId
    data: Part


class Receive(Frozen):
    """What an open process printed."""

    kind: Literal["receive"]
    id: Id
    process: ProcessId
    timeout: Seconds | None = None


class CloseStdin(Frozen):
    """The open process sees the end of its input."""

    kind: Literal["close_stdin"]
    id: Id
    process: ProcessId


class Wait(Frozen):
    """Wait for the end of an open process."""

    kind: Literal["wait"]
    id: Id
    process: ProcessId
    timeout: Seconds | None = None


class Close(Frozen):
    """End an open process."""

    kind: Literal["close"]
    id: Id
    process: ProcessId


class Reset(Frozen):
    """Replace a host by a clean one."""

    kind: Literal["reset"]
    id: Id
    name: HostName | None


class Cpu(Frozen):
    """How much CPU time has a host used?"""

    kind: Literal["cpu"]
    id: Id
    name: HostName | None


class WriteFile(Frozen):
    """A part of a file for a host; the last has `more` false. All but the first of a file name its transfer,
    and say where in the file they begin.
    """

    kind: Literal["write_file"]
    id: Id
    name: HostName | None
    path: Path
    data: Part
    more: bool
    transfer: Id | None = None
    offset: int = Field(0, ge=0, le=2**53)


class ReadFile(Frozen):
    """A part of a file of a host. All but the first of a file name its transfer."""

    kind: Literal["read_file"]
    id: Id
    name: HostName | None
    path: Path
    offset: int = Field(ge=0, le=2**53)
    transfer: Id | None = None


class Cancel(Frozen):
    """Nobody waits for the answer to `request` any more: what it runs ends."""

    kind: Literal["cancel"]
    id: Id
    request: Id


class Log(Frozen):
    """A line for the journal; it gets no reply."""

    kind: Literal["log"]
    id: Id
    text: str = Field(max_length=64 * 1024)


class Check(Frozen):
    """A row of checks that counts at once; it gets no reply, and is judged as those of a result are."""

    kind: Literal["check"]
    id: Id
    row: dict[str, Any]


class Session(Frozen):
    """Begin to talk to an agent; with `environment` it may work in that host."""

    kind: Literal["session"]
    id: Id
    role: HostName
    environment: HostName | None = None


class Invoke(Frozen):
    """One turn of a session."""

    kind: Literal["invoke"]
    id: Id
    session: ProcessId
    prompt: Text


class Judge(Frozen):
    """One assertion about one output; `assertion` as adapters get it, judged there."""

    kind: Literal["judge"]
    id: Id
    session: ProcessId
    case_id: str = Field(min_length=1, max_length=1000)
    prompt: Text
    output: Text
    assertion: AssertionWords


class CloseSession(Frozen):
    """End a session."""

    kind: Literal["close_session"]
    id: Id
    session: ProcessId


class Publish(Frozen):
    """A part of what the run phase hands over: `begin`, then folders and parts of files, then `end`.

    `path` is relative to the artifact's own, in bytes; empty for an artifact that is one file.
    """

    kind: Literal["publish"]
    id: Id
    artifact: str = Field(max_length=256)
    step: Literal["begin", "folder", "file", "end"]
    path: Annotated[Data, Field(max_length=4096)] = b""
    executable: bool = False
    data: Part = b""
    more: bool = False


class Usage(Frozen):
    """What the keeper reads from its own cgroup; None where there is nothing to read."""

    peak_memory_bytes: Annotated[int, Field(ge=0)] | None = None
    cpu_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None


class ResultFrame(Frozen):
    """What `evaluate` returned, not yet judged. `misread`: a reply of an agent was not the object that it was
    read as, and the evaluator caught that.
    """

    kind: Literal["result"]
    value: dict[str, Any]
    misread: bool = False


class FailedError(Frozen):
    """Why there is no result, in the runner's own words."""

    kind: Literal[
        "evaluator_exception",
        "invalid_result",
        "result_too_large",
        "scratch_full",
        "evaluator_oom",
        "submission_fault",
        "unknown_environment",
        "evaluator_exit",
        "image_unusable",
        "adapter_timeout",
        "adapter_exit",
        "adapter_malformed",
        "adapter_provenance",
        "adapter_duplicate_id",
        "adapter_cache_hit",
        "adapter_overflow",
        "adapter_missing",
        "adapter_truncated",
        "adapter_refused",
        "budget_spent",
        "share_spent",
    ]
    type: str = Field(max_length=200)
    place: str = Field(max_length=1000)
    message: str = Field(max_length=2000)


class FailedFrame(Frozen):
    """The evaluation ended without a result."""

    kind: Literal["failed"]
    error: FailedError


class Ended(Frozen):
    """The keeper's last word: nothing of the evaluation lives any more, and this is how it ended.

    `status` is the evaluator's exit status, or 128 and the number of the signal that ended it. `stopped`: the
    controller said that the time is over. `broken`: it said what the SDK does not say. `oom_kills` are
    processes that the kernel killed for memory meanwhile. `trees` are the digests as they are now.
    """

    kind: Literal["ended"]
    status: int = Field(ge=0, le=255)
    stopped: bool
    broken: bool
    oom_kills: int = Field(ge=0)
    usage: Usage
    trees: Trees


class StdinPart(Frozen):
    """The first parts of a long stdin, ahead of the exec of the same id."""

    kind: Literal["stdin"]
    id: Id
    data: Part


AgentRequest = Session | Invoke | Judge | CloseSession
Request = (
    Exec
    | Open
    | Send
    | Receive
    | CloseStdin
    | Wait
    | Close
    | Reset
    | Cpu
    | WriteFile
    | ReadFile
    | Cancel
    | Log
    | Check
    | AgentRequest
    | Publish
)  # each with an `id`
RunnerFrame = Hello | Request | ResultFrame | FailedFrame | Ended

FRAMES: TypeAdapter[RunnerFrame | StdinPart] = TypeAdapter(
    Annotated[RunnerFrame | StdinPart, Field(discriminator="kind")]
)

"""A small controller for tests: runs the real runner over pipes and answers its requests from a script."""

from __future__ import annotations

import selectors
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import scorehost_sdk
from scorehost.hosts.frames import (
    ChannelViolation,
    FailedFrame,
    FrameReader,
    FrameWriter,
    Hello,
    Limits,
    Log,
    ResultFrame,
    Start,
    new_key,
)

SDK = Path(scorehost_sdk.__file__).parent


@dataclass
class Outcome:
    """What came of one run."""

    hello: Hello | None = None
    last: ResultFrame | FailedFrame | None = None
    requests: list = field(default_factory=list)
    violation: str | None = None
    log: bytes = b""
    exit_code: int | None = None
    seconds_after_last: float = 0.0

    @property
    def value(self):
        assert isinstance(self.last, ResultFrame), (self.last, self.log.decode(errors="replace"))
        return self.last.value

    @property
    def error(self):
        assert isinstance(self.last, FailedFrame), (self.last, self.log.decode(errors="replace"))
        return self.last.error


def lay_out(root: Path, evaluator: str | bytes, **files: str) -> Path:
    """A folder like /attempt with the real runner and SDK in it."""
    attempt = root / "attempt"
    (attempt / "task").mkdir(parents=True)
    (attempt / ".scorehost").mkdir()
    shutil.copy(SDK / "runner.py", attempt / ".scorehost" / "runner.py")
    shutil.copy(SDK / "harness.py", attempt / ".scorehost" / "harness.py")
    for package in ("scorehost_sdk", "ageval_sdk"):
        shutil.copytree(
            SDK.parent / package,
            attempt / ".scorehost" / package,
            ignore=shutil.ignore_patterns("__pycache__"),
        )
    data = evaluator if isinstance(evaluator, bytes) else evaluator.encode()
    (attempt / "task" / "evaluator.py").write_bytes(data)
    for name, text in files.items():
        path = attempt / "task" / name.replace("__", "/")
        path = path.with_name(path.name + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return attempt


def evaluate(
    root: Path,
    evaluator: str | bytes,
    *,
    answer=None,
    entrypoint="evaluator:evaluate",
    environments=("box",),
    trees=(),
    seconds=30.0,
    python=sys.executable,
    answered_late=False,
    inputs=None,
    raw=None,
    **files: str,
) -> Outcome:
    """Runs `evaluator` to its end; `answer(request)` gives a reply's value, or (type, message) to refuse."""
    attempt = lay_out(root, evaluator, **files)
    process = subprocess.Popen(
        [python, "-s", str(attempt / ".scorehost" / "runner.py")],
        cwd=attempt,
        env={"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    key = new_key()
    writer, reader, outcome = FrameWriter(key), FrameReader(key), Outcome()
    start = Start(
        entrypoint=entrypoint,
        inputs=inputs or {"parameters": {"n": 1}},
        environments=environments,
        single=not environments,
        trees=tuple(str(tree) for tree in trees),
        limits=Limits(),
    )
    process.stdin.write(writer.start(start))
    process.stdin.flush()
    selector = selectors.DefaultSelector()
    selector.register(process.stdout, selectors.EVENT_READ, "channel")
    selector.register(process.stderr, selectors.EVENT_READ, "log")
    deadline, last_at, late = time.monotonic() + seconds, None, []
    while selector.get_map() and time.monotonic() < deadline:
        for ready, _ in selector.select(timeout=0.2):
            data = ready.fileobj.read1(65536)
            if not data:
                selector.unregister(ready.fileobj)
            elif ready.data == "log":
                outcome.log = (outcome.log + data)[-1_000_000:]
            else:
                try:
                    frames = reader.feed(data)
                except ChannelViolation as violation:
                    outcome.violation = violation.message
                    selector.unregister(ready.fileobj)
                    continue
                for frame in frames:
                    if isinstance(frame, Hello):
                        outcome.hello = frame
                    elif isinstance(frame, (ResultFrame, FailedFrame)):
                        outcome.last, last_at = frame, time.monotonic()
                    elif isinstance(frame, Log):
                        outcome.requests.append(frame)
                    else:
                        outcome.requests.append(frame)
                        late.append(frame)
                if not answered_late or len(late) >= answered_late:
                    for frame in reversed(late):
                        process.stdin.write(raw(frame) if raw else _reply(writer, frame, answer))
                        process.stdin.flush()
                    late = []
    if selector.get_map():
        process.kill()
    outcome.exit_code = process.wait(10)
    outcome.seconds_after_last = time.monotonic() - last_at if last_at else 0.0
    for pipe in (process.stdin, process.stdout, process.stderr):
        try:
            pipe.close()
        except BrokenPipeError:
            pass
    return outcome


def _reply(writer: FrameWriter, frame, answer) -> bytes:
    value = answer(frame) if answer else None
    if isinstance(value, tuple):
        return writer.refuse(frame.id, *value)
    return writer.reply(frame.id, value)


def ended(exit_code=0, stdout=b"", stderr=b"", **more):
    """The value of an exec's or a wait's reply."""
    value = {
        "exit_code": exit_code,
        "stdout": stdout,
        "stderr": stderr,
        "truncated": False,
        "timed_out": False,
        "oom_killed": False,
        "host_lost": False,
        "duration_seconds": 0.01,
    }
    return {**value, **more}

"""A small controller for tests: runs the real runner over pipes and answers its requests from a script."""

from __future__ import annotations

import contextlib
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
    Check,
    Ended,
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
from scorehost_sdk.testing import HARNESS

UNANSWERED = object()  # as an answer: none is given
SDK = Path(scorehost_sdk.__file__).parent
RETURNS = 'return {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}'
PASSED = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}


def plain(body: str) -> str:
    """A plain evaluator with this body; its first line is line 4."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"import os, sys, time\ndef evaluate(inputs):\n    scoring = inputs['scoring']\n{lines}\n"


@dataclass
class Outcome:
    """What came of one run."""

    hello: Hello | None = None
    last: ResultFrame | FailedFrame | None = None
    ended: Ended | None = None  # the keeper's last word
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
    for name in HARNESS:
        shutil.copy(SDK / name, attempt / ".scorehost" / name)
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
    raw=None,
    answered_late=0,
    entrypoint="evaluator:evaluate",
    environments=("box",),
    gold=(),
    roles=(),
    phase="evaluate",
    inputs=None,
    trees=(),
    any_name=False,
    seconds=30.0,
    python=sys.executable,
    hang_up=False,
    prepare=None,
    user=None,
    over_after=None,
    **files: str,
) -> Outcome:
    """Runs `evaluator` to its end, `seconds` at most.

    `answer(request)` gives a reply's value, or (type, message) to refuse; `raw(request)` the reply's bytes.
    With `answered_late` so many requests are collected, then answered from the last to the first. With
    `hang_up` the controller goes away when the time is over, else the runner is killed then. `files` are
    further modules of the task, `__` for `/`. `prepare(attempt)` may change the folder before the start.
    `user` is who runs it, when the test runs as root. After `over_after` seconds it hears that time is over.
    """
    attempt = lay_out(root, evaluator, **files)
    if prepare is not None:
        prepare(attempt)
    start = Start(
        entrypoint=entrypoint,
        inputs=inputs or {"parameters": {"n": 1}},
        environments=environments,
        single=not environments,
        trees=tuple(str(tree) for tree in trees),
        limits=Limits(),
        gold=gold,
        roles=roles,
        phase=phase,
        any_name=any_name,
    )
    process = subprocess.Popen(
        [python, "-s", str(attempt / ".scorehost" / "runner.py")],
        cwd=attempt,
        user=user,
        env={"PATH": "/usr/bin:/bin", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    controller = _Controller(process, raw or answer, raw is not None, answered_late)
    controller.write(controller.writer.start(start))
    if over_after is not None and controller.listen(time.monotonic() + over_after):
        controller.write(controller.writer.time_is_over())
    if controller.listen(time.monotonic() + seconds):
        process.stdin.close() if hang_up else process.kill()
    outcome = controller.outcome
    outcome.exit_code = process.wait(20)
    # The keeper's mark says that the log ends there. What a stray child wrote may come after it.
    outcome.log = outcome.log.replace(controller.reader.end_of_log(), b"")[-1_000_000:]
    if outcome.last is not None:
        outcome.seconds_after_last = time.monotonic() - controller.last_at
    for pipe in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(BrokenPipeError):
            pipe.close()
    return outcome


class _Controller:
    def __init__(self, process, answer, raw, answered_late):
        key = new_key()
        self.writer, self.reader, self.outcome = FrameWriter(key), FrameReader(key), Outcome()
        self.last_at = 0.0
        self._process, self._answer, self._raw, self._late = process, answer, raw, answered_late
        self._waiting = []

    def write(self, data):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(data)
            self._process.stdin.flush()

    def listen(self, deadline):
        """Hears both streams to their end; whether one was still open at `deadline`."""
        selector = selectors.DefaultSelector()
        selector.register(self._process.stdout, selectors.EVENT_READ, self._hear)
        selector.register(self._process.stderr, selectors.EVENT_READ, self._log)
        while selector.get_map() and time.monotonic() < deadline:
            for ready, _ in selector.select(timeout=0.2):
                data = ready.fileobj.read1(65536)
                if not data or not ready.data(data):
                    selector.unregister(ready.fileobj)
        return bool(selector.get_map())

    def _log(self, data):
        self.outcome.log = (self.outcome.log + data)[-1_001_000:]
        return True

    def _hear(self, data):
        try:
            frames = self.reader.feed(data)
        except ChannelViolation as violation:
            self.outcome.violation = violation.message
            return False
        for frame in frames:
            if isinstance(frame, Hello):
                self.outcome.hello = frame
            elif isinstance(frame, Ended):
                self.outcome.ended = frame
            elif isinstance(frame, (ResultFrame, FailedFrame)):
                self.outcome.last, self.last_at = frame, time.monotonic()
            else:
                self.outcome.requests.append(frame)
                if not isinstance(frame, (Log, Check)):
                    self._waiting.append(frame)
        if len(self._waiting) >= self._late:
            for frame in reversed(self._waiting):
                self.write(self._reply(frame))
            self._waiting = []
        return True

    def _reply(self, frame):
        value = self._answer(frame) if self._answer else None
        if self._raw:
            return value
        if value is UNANSWERED:
            return b""
        if isinstance(value, tuple):
            return self.writer.refuse(frame.id, *value)
        return self.writer.reply(frame.id, value)


def ended(exit_code=0, stdout=b"", stderr=b"", **more):
    """The value of an exec's or a wait's reply."""
    value = {
        "exit_code": exit_code,
        "stdout": stdout,
        "stderr": stderr,
        "stdout_truncated": False,
        "stderr_truncated": False,
        "timed_out": False,
        "oom_killed": False,
        "host_lost": False,
        "reason": "",
        "duration_seconds": 0.01,
    }
    return {**value, **more}

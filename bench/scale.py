"""10,000 attempts on the in-memory engine: planned, run, broken off, taken up again, summed up."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path
from typing import Any

from bench import datasets, memory
from bench.many import Sitting, job
from bench.timing import Row
from scorehost.model.ids import AttemptKey
from scorehost.runs.folder import JobFolder
from scorehost.runs.journal import FILE, open_journal, read_history

TASKS, REPEATS = 100, 100
ALL = TASKS * REPEATS
WINDOW = 1_000
_OWN = ("at", "kind", "prev")  # what the journal itself puts into an event


class _Meter:
    """CPU and memory over all sittings of one job."""

    def __init__(self) -> None:
        self.finished = 0
        self.start_memory = self.end_memory = 0.0
        self.windows: list[float] = []  # CPU seconds of every WINDOW attempts
        self._since = 0.0

    def met(self, _sitting: Sitting, kind: str) -> None:
        if kind == "job_started":
            self._since = time.process_time()
            self.start_memory = self.start_memory or memory.settled()
        if kind == "attempt_finished":
            self.finished += 1
            if self.finished % WINDOW == 0:
                self.windows.append(time.process_time() - self._since)
                self._since = time.process_time()
                if self.finished == ALL:
                    self.end_memory = memory.settled()


async def ten_thousand(place: Path) -> tuple[Row, ...]:
    """One job of 100 tasks and 100 repeats, broken off after one half and resumed."""
    dataset = datasets.write(place / "many", tasks=TASKS)
    await job(dataset, place / "warm-up")
    meter = _Meter()
    first, _ = await job(dataset, place / "runs", repeat=REPEATS, stop_after=ALL // 2, met=meter.met)
    second, outcome = await job(dataset, place / "runs", resume="latest", met=meter.met)
    if outcome.status != "complete":
        raise RuntimeError(f"{outcome.job_id} is {outcome.status}: {outcome.message}")
    third, _ = await job(dataset, place / "runs", resume="latest")
    run = first.last - first.started + second.last - second.started
    growth = meter.end_memory - meter.start_memory
    cpu = [spent / WINDOW * 1e3 for spent in meter.windows]
    note = f"{meter.start_memory:.0f} MiB at its start, {meter.end_memory:.0f} at its end"
    return (
        Row("10,000 attempts: read and planned", "-", first.started - first.begun, 0, "s"),
        Row("run, two at a time", "-", run, 0, "s", note=f"{ALL / run:.0f} attempts a second"),
        Row("broken off after 5,000", "-", first.ended - first.last, 0, "s"),
        Row("taken up with 5,000 left", "2 s", second.started - second.begun, 0, "s"),
        Row("summed up", "-", second.ended - second.last, 0, "s"),
        Row("taken up with none left", "2 s", third.started - third.begun, 0, "s"),
        Row("CPU an attempt, the first 1,000", "-", cpu[0], 0, "ms"),
        Row("CPU an attempt, the last 1,000", "as the first", cpu[-1], 0, "ms", cpu[-1] / cpu[0]),
        Row("memory over 10,000 attempts", "flat", growth, 0, "MiB", note=note),
        Row("memory an attempt", "1 KiB or less", growth * 1024 / ALL, 0, "KiB"),
    )


async def resume(place: Path) -> Row:
    """A resume of a job that has 10,000 finished attempts, all but 100 of which were made by copying."""
    dataset = datasets.write(place / "many", tasks=TASKS)
    _, outcome = await job(dataset, place / "runs", repeat=REPEATS, stop_after=TASKS)
    _fill(JobFolder(outcome.folder))
    taken_up, outcome = await job(dataset, place / "runs", resume="latest")
    if outcome.status != "complete" or taken_up.finished:
        raise RuntimeError(f"{outcome.job_id} is {outcome.status}, and {taken_up.finished} ran again")
    return Row(
        "resume of a job of 10,000 finished attempts: ready",
        "2 s or less",
        taken_up.started - taken_up.begun,
        0,
        "s",
        note=f"{taken_up.ended - taken_up.started:.1f} s more until it has ended",
    )


def _fill(folder: JobFolder) -> None:
    """Writes every attempt that is missing as a copy of its task's first one, and journals all its events."""
    told: dict[str, list[dict[str, Any]]] = {}
    for line in (folder.path / FILE).read_bytes().splitlines():
        event = json.loads(line)
        told.setdefault(event.pop("key", ""), []).append(event)
    with open_journal(folder.path, read_history(folder.path / FILE)) as journal:
        for task in range(TASKS):
            first = AttemptKey(task_id=f"t{task}", submission="solution")
            place = folder.attempt(first)
            paths = [path for path in place.rglob("*") if path.is_file()]
            files = {path.relative_to(place): path.read_bytes() for path in paths}
            result: dict[str, Any] = json.loads(files.pop(Path("result.json")))
            for repeat in range(2, REPEATS + 1):
                key = AttemptKey(task_id=first.task_id, submission=first.submission, repeat=repeat)
                data = json.dumps({**result, "repeat": repeat}).encode()
                for path, content in {**files, Path("result.json"): data}.items():
                    target = folder.attempt(key) / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(content)
                for event in told[str(first)]:
                    fields = {name: value for name, value in event.items() if name not in _OWN}
                    if "result" in fields:
                        fields["result"] = hashlib.sha256(data).hexdigest()
                    journal.write(event["kind"], key, fields)

"""Evaluators that read the clock, scored once more with the clock moved: the outcome must stay the same."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from scorehost.audit.static import suspicions
from scorehost.files.atomic import make_folder, write_atomic
from scorehost.scoring.choosing import choose

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scorehost.scoring.choosing import Chosen
    from scorehost.spec.dataset import Dataset, Task

MODULE = "scorehost_moved_clock"
NAME = "audit-clock"
PLACE = "clock"  # in the audit's own job: what one audit leaves behind is one folder
# Another part of the day, another day of the week, most often another month.
SHIFT_SECONDS = 17 * 86_400 + 11 * 3_600 + 17 * 60
SHIFT_WORDS = "17 days and 11 hours"

_MOVED = '''\
"""The clock of this process moved ahead by {seconds} s, before the evaluator is imported."""

import datetime
import time

AHEAD = {seconds}
_now, _now_ns = time.time, time.time_ns
_moment, _day = datetime.datetime, datetime.date
time.time = lambda: _now() + AHEAD
time.time_ns = lambda: _now_ns() + AHEAD * 10**9


def _moved(function):
    return lambda seconds=None: function(_now() + AHEAD if seconds is None else seconds)


_spell, _local = time.strftime, time.localtime
time.localtime, time.gmtime, time.ctime = _moved(time.localtime), _moved(time.gmtime), _moved(time.ctime)
time.strftime = lambda form, at=None: _spell(form, _local(_now() + AHEAD) if at is None else at)


class _Kin(type):
    def __instancecheck__(cls, value):
        return isinstance(value, cls.__mro__[1])


class datetime_(_moment, metaclass=_Kin):
    @classmethod
    def now(cls, tz=None):
        return _moment.fromtimestamp(_now() + AHEAD, tz)

    @classmethod
    def utcnow(cls):
        return _moment.fromtimestamp(_now() + AHEAD, datetime.timezone.utc).replace(tzinfo=None)

    @classmethod
    def today(cls):
        return cls.now()


class date_(_day, metaclass=_Kin):
    @classmethod
    def today(cls):
        return datetime_.now().date()


datetime.datetime, datetime.date = datetime_, date_

from {module} import {function} as evaluate  # noqa: E402
'''


def clock_readers(tasks: Iterable[Task]) -> list[str]:
    """Ids of tasks with a solution whose code reads the clock."""
    return [
        task.task_id
        for task in tasks
        if task.solution is not None and any(one.kind == "reads-the-clock" for one in suspicions(task))
    ]


def with_moved_clock(dataset: Dataset, chosen: list[str], place: Path) -> Dataset:
    """The dataset whose `chosen` tasks are evaluated with the clock ahead; what does that lies in `place`."""
    make_folder(place)
    tasks = dict(dataset.tasks)
    for task_id in chosen:
        task = tasks[task_id]
        module, _, function = task.spec.evaluation.entrypoint.partition(":")
        path = place / f"{task_id}.py"
        write_atomic(path, _MOVED.format(seconds=SHIFT_SECONDS, module=module, function=function).encode())
        evaluation = task.spec.evaluation.model_copy(update={"entrypoint": f"{MODULE}:evaluate"})
        spec = task.spec.model_copy(update={"evaluation": evaluation})
        code = {**task.code, f"{MODULE}.py": path}
        tasks[task_id] = task.model_copy(update={"spec": spec, "code": code})
    return dataset.model_copy(update={"tasks": tasks})


def solutions_ahead(chosen: Chosen, readers: list[str], place: Path) -> Chosen:
    """The solutions of those tasks, once each, with the clock ahead; what does that lies in `place`."""
    dataset = with_moved_clock(chosen.dataset, readers, place)
    asked = dataclasses.replace(
        chosen.asked,
        tasks=tuple(readers),
        tags=(),
        limit=None,
        submissions=("solution",),
        staged=None,
        repeat=1,
        name=NAME,
    )
    return choose(asked, dataset)

"""Attempts of two jobs matched by task, submission, sample and repeat."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.model.spelling import near, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scorehost.model.ids import AttemptKey
    from scorehost.runs.reading import Attempt, ReadJob
    from scorehost.runs.scored import Scored


@dataclass(frozen=True, slots=True)
class Pair:
    """The same attempt in both jobs; `key` is that of A."""

    key: AttemptKey
    a: Attempt
    b: Attempt
    scored_a: Scored
    scored_b: Scored

    @property
    def counts(self) -> bool:
        """Whether neither is an ERROR that is left out of means."""
        return not (self.scored_a.left_out or self.scored_b.left_out)


@dataclass(frozen=True, slots=True)
class Matched:
    """All pairs, and what has no partner, under the names of A."""

    pairs: tuple[Pair, ...]
    only_a: tuple[AttemptKey, ...]
    only_b: tuple[AttemptKey, ...]


def match(
    a: ReadJob, b: ReadJob, *, renamed: Mapping[str, str] | None = None, tasks: Sequence[str] = ()
) -> Matched:
    """Pairs the attempts of A and B.

    `renamed` maps submissions of A to those of B that they are compared with; when it is given, only these
    are. `tasks` are globs over task ids. UsageError when a name is unknown or nothing matches.
    """
    names = renamed or {}
    _check_names(a, b, names)
    back = {theirs: ours for ours, theirs in names.items()}

    def wanted(key: AttemptKey) -> bool:
        return not tasks or any(fnmatchcase(key.task_id, glob) for glob in tasks)

    ours = {
        one.key: one for one in a.attempts if wanted(one.key) and (not names or one.key.submission in names)
    }
    theirs: dict[AttemptKey, Attempt] = {}
    for one in b.attempts:
        if wanted(one.key) and (not names or one.key.submission in back):
            name = back.get(one.key.submission, one.key.submission)
            theirs[one.key.model_copy(update={"submission": name})] = one
    pairs = tuple(
        Pair(key, one, theirs[key], a.scored(one), b.scored(theirs[key]))
        for key, one in ours.items()
        if key in theirs
    )
    if not pairs:
        raise _nothing(a, b)
    return Matched(
        pairs,
        only_a=tuple(key for key in ours if key not in theirs),
        only_b=tuple(key for key in theirs if key not in ours),
    )


def _check_names(a: ReadJob, b: ReadJob, names: Mapping[str, str]) -> None:
    for side, job, given in (("A", a, names.keys()), ("B", b, names.values())):
        known = {one.key.submission for one in job.attempts}
        for name in given:
            if name not in known:
                raise UsageError(
                    f"{side} ({job.folder.job_id}) has no submission {name}.", hint=near(name, known)
                )
    if len(set(names.values())) < len(names):
        raise UsageError("--pair names one submission of B twice.")


def _nothing(a: ReadJob, b: ReadJob) -> UsageError:
    ours = sorted({one.key.submission for one in a.attempts})
    theirs = sorted({one.key.submission for one in b.attempts})
    hint = "They share no task, or no sample of one."
    for side, job in (("A", a), ("B", b)):
        if not job.attempts:
            hint = f"{side} ({job.folder.job_id}) is {job.status} and has no finished attempt."
            if job.damaged:
                hint = (
                    f"{side} ({job.folder.job_id}) has no attempt that is sound; damaged:"
                    f" {some(job.damaged, between='; ')}."
                )
    if ours and theirs and not set(ours) & set(theirs):
        hint = (
            f"A has the submissions {some(ours)}; B has {some(theirs)}. "
            f"Say which belong together: --pair {ours[0]}={theirs[0]}."
        )
    return UsageError("No attempt of the one job has a partner in the other.", hint=hint)

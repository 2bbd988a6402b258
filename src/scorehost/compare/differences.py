"""What differs between two jobs over the attempts that they share, before any number is told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import TYPE_CHECKING

from scorehost.model.comparison import Difference
from scorehost.model.spelling import some

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scorehost.compare.pairs import Pair
    from scorehost.model.result import Result
    from scorehost.runs.reading import Attempt, ReadJob


def _profile(result: Result) -> str | None:
    scoring = result.digests.scoring
    # Digests of the first format are taken in another way, so that they would differ whatever it says.
    return None if scoring is not None and scoring.first else result.digests.operational.get("profile")


_SETTINGS: dict[str, tuple[str, Callable[[Result], str | None]]] = {
    "profile": ("profiles.yaml", _profile),
    "scorehost": ("version of scorehost", lambda result: result.versions.scorehost),
    "engine": ("version of the engine", lambda result: result.versions.engine),
    "kernel": ("kernel of the engine's machine", lambda result: result.versions.kernel),
    "runtime": ("OCI runtime", lambda result: result.versions.runtime),
    "architecture": ("architecture", lambda result: result.versions.architecture),
}

MustAgree = Callable[["ReadJob", "ReadJob", "Sequence[tuple[Attempt, Attempt]]"], "tuple[Difference, ...]"]
"""What a kind of job says of two of its jobs, over the attempts that they share"""


def differences(
    a: ReadJob, b: ReadJob, pairs: Sequence[Pair], must_agree: MustAgree
) -> tuple[Difference, ...]:
    """Everything that differs; what bears on verdicts first."""
    found = [
        Difference(
            what="job",
            kind="scoring",
            text=f"{side} is invalidated: attempts of one of its tasks were scored by different inputs",
        )
        for side, job in (("A", a), ("B", b))
        if job.status == "invalidated"
    ]
    found += must_agree(a, b, [(pair.a, pair.b) for pair in pairs])
    found += _datasets(a, b)
    found += _settings(pairs)
    found += _subjects(pairs)
    return tuple(found)


def unknown_inputs(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Tasks of which, in A or in B, no attempt came far enough to say what it would be scored by."""
    known: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        for side, attempt in (("a", pair.a), ("b", pair.b)):
            if attempt.result.digests.scoring is not None:
                known[pair.key.task_id].add(side)
    both = 2
    return tuple(sorted({p.key.task_id for p in pairs if len(known[p.key.task_id]) < both}))


def _datasets(a: ReadJob, b: ReadJob) -> list[Difference]:
    # What of it bears on a verdict has digests of its own; another name or version is told all the same.
    ours, theirs = (f"{job.record.dataset.dataset_id} {job.record.dataset.version}" for job in (a, b))
    if ours == theirs:
        return []
    return [Difference(what="dataset", kind="setting", text=f"the datasets are {ours} and {theirs}")]


def _settings(pairs: Iterable[Pair]) -> list[Difference]:
    found = []
    listed = list(pairs)
    for what, (words, value) in _SETTINGS.items():
        ours = {value(pair.a.result) for pair in listed} - {None}
        theirs = {value(pair.b.result) for pair in listed} - {None}
        if ours and theirs and ours != theirs:
            values = f"{words}: {_some(ours)} and {_some(theirs)} differ"
            text = f"{words} differs" if what == "profile" else values
            found.append(Difference(what=what, kind="setting", text=text))
    return found


def _some(values: set[str | None]) -> str:
    return some(sorted(str(value) for value in values))


def _subjects(pairs: Iterable[Pair]) -> list[Difference]:
    differing = [
        pair.key.task_id
        for pair in pairs
        if None not in (digests := {one.result.digests.submission for one in (pair.a, pair.b)})
        and len(digests) > 1
    ]
    if not differing:
        return []
    text = f"what was handed in differs in {len(differing)} pairs"
    return [Difference(what="submission", kind="subject", text=text, tasks=tuple(sorted(set(differing))))]

"""What differs between two jobs over the attempts that they share, before any number is told."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from scorehost.model.comparison import Difference
from scorehost.model.standing import Part, Standing, standing
from scorehost.spec.gold_key import OTHER_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from scorehost.compare.pairs import Pair
    from scorehost.model.result import Result, ScoringDigests
    from scorehost.runs.reading import Attempt, ReadJob

_PARTS: dict[Part, str] = {
    "gold": "the gold set differs",
    "evaluator": "evaluator.py, lib/ or shared/ differ",
    "task": "task.yaml or --set differs",
    "limits": "limits differ",
    "sdk": "what scorehost puts into hosts (runner, SDK) differs",
}


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
_SHOWN = 3

Recipes = dict[str, set[str | None]]
"""image id -> digests of the recipes that it was said to be built from"""


def differences(a: ReadJob, b: ReadJob, pairs: Sequence[Pair]) -> tuple[Difference, ...]:
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
    by_task: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_task[pair.key.task_id].append(pair)
    for part, words in _PARTS.items():
        if tasks := _standing(by_task, part, Standing.DIFFERS):
            found.append(Difference(what=part, kind="scoring", text=words, tasks=tasks))
    if tasks := _standing(by_task, "gold", Standing.OTHER_KEY):
        found.append(Difference(what="gold", kind="unknown", text=OTHER_KEY, tasks=tasks))
    found += _images(by_task)
    found += _roles(by_task)
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


def of_other_formats(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Tasks whose gold is bound by a plain digest in one job and under gold.key in the other."""
    by_task: dict[str, list[Pair]] = defaultdict(list)
    for pair in pairs:
        by_task[pair.key.task_id].append(pair)
    unknown = _standing(by_task, "gold", Standing.UNKNOWN)
    return tuple(task_id for task_id in unknown if all(_scoring(by_task[task_id])))


def _standing(by_task: Mapping[str, list[Pair]], part: Part, wanted: Standing) -> tuple[str, ...]:
    """The tasks of which `part` stands so between the two jobs."""
    return tuple(
        task_id for task_id, own in sorted(by_task.items()) if standing(*_scoring(own), part) is wanted
    )


def _scoring(pairs: Iterable[Pair]) -> tuple[list[ScoringDigests], list[ScoringDigests]]:
    """What is known of A and of B."""
    listed = list(pairs)
    a, b = (
        [one.result.digests.scoring for one in side if one.result.digests.scoring is not None]
        for side in ([pair.a for pair in listed], [pair.b for pair in listed])
    )
    return a, b


def _roles(by_task: Mapping[str, list[Pair]]) -> list[Difference]:
    # A role that one job never asked is unknown there, which is no difference.
    found: dict[str, list[str]] = defaultdict(list)
    for task_id, pairs in sorted(by_task.items()):
        ours, theirs = (_answering(side) for side in _scoring(pairs))
        for role in ours.keys() & theirs.keys():
            if ours[role] != theirs[role]:
                found[role].append(task_id)
    return [
        Difference(
            what="roles",
            kind="scoring",
            text=f"the model, parameters or adapter of role {role} differ",
            tasks=tuple(tasks),
        )
        for role, tasks in sorted(found.items())
    ]


def _answering(scoring: Iterable[ScoringDigests]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for one in scoring:
        for role, digest in one.roles.items():
            found[role].add(digest)
    return found


def _images(by_task: dict[str, list[Pair]]) -> list[Difference]:
    # A host that one job never started is unknown there, which is no difference.
    levels: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for task_id, pairs in by_task.items():
        ours, theirs = _hosts(pair.a for pair in pairs), _hosts(pair.b for pair in pairs)
        for host in ours.keys() & theirs.keys():
            if ours[host].keys() != theirs[host].keys():
                levels[host, _rebuilt(ours[host], theirs[host])].add(task_id)
    found = []
    for (host, rebuilt), tasks in sorted(levels.items()):
        text = (
            f"the image of host {host} was built anew from the same recipe"
            if rebuilt
            else f"the image of host {host} is another one"
        )
        kind = "rebuilt" if rebuilt else "scoring"
        found.append(
            Difference.model_validate(
                {"what": "images", "kind": kind, "text": text, "tasks": tuple(sorted(tasks))}
            )
        )
    return found


def _hosts(attempts: Iterable[Attempt]) -> dict[str, Recipes]:
    found: dict[str, Recipes] = {}
    for attempt in attempts:
        scoring = attempt.result.digests.scoring
        for host, image in ({} if scoring is None else scoring.images).items():
            found.setdefault(host, {}).setdefault(image, set())
        for usage in attempt.result.hosts:
            if usage.image_id in found.get(usage.name, {}):
                found[usage.name][usage.image_id].add(usage.recipe)
    return found


def _rebuilt(ours: Recipes, theirs: Recipes) -> bool:
    """Whether every image on both sides is known to come from one recipe."""
    recipes = {recipe for side in (ours, theirs) for known in side.values() for recipe in known or {None}}
    return len(recipes) == 1 and None not in recipes


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
    return ", ".join(sorted(str(value) for value in values)[:_SHOWN])


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

"""What verdicts of hosts rest on, in two jobs: evaluator, gold, task, limits, runner, images, roles."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from scorehost.model.comparison import Difference
from scorehost.model.standing import Part, Standing, standing
from scorehost.spec.gold_key import OTHER_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scorehost.compare.pairs import Pair
    from scorehost.model.result import ScoringDigests
    from scorehost.runs.reading import Attempt, ReadJob

    AttemptPair = tuple[Attempt, Attempt]

_PARTS: dict[Part, str] = {
    "gold": "the gold set differs",
    "evaluator": "evaluator.py, lib/ or shared/ differ",
    "task": "task.yaml or --set differs",
    "limits": "limits differ",
    "sdk": "what scorehost puts into hosts (runner, SDK) differs",
}

Recipes = dict[str, set[str | None]]
"""image id -> digests of the recipes that it was said to be built from"""


def scoring_differences(a: ReadJob, b: ReadJob, pairs: Sequence[AttemptPair]) -> tuple[Difference, ...]:
    """What differs over the attempts that both jobs have."""
    found: list[Difference] = []
    by_task: dict[str, list[AttemptPair]] = defaultdict(list)
    for pair in pairs:
        by_task[pair[0].key.task_id].append(pair)
    for part, words in _PARTS.items():
        tasks = _standing(by_task, part, Standing.DIFFERS)
        if part == "task":
            known = [one for one in tasks if one in a.record.tasks and one in b.record.tasks]
            defaults = tuple(one for one in known if a.record.by_dataset_file(b.record, one))
            tasks = tuple(one for one in tasks if one not in defaults)
            found += _difference(part, "dataset.yaml differs", defaults)
        found += _difference(part, words, tasks)
    if tasks := _standing(by_task, "gold", Standing.OTHER_KEY):
        found.append(Difference(what="gold", kind="unknown", text=OTHER_KEY, tasks=tasks))
    return (*found, *_images(by_task), *_roles(by_task))


def _difference(part: str, words: str, tasks: Sequence[str]) -> list[Difference]:
    return [Difference(what=part, kind="scoring", text=words, tasks=tuple(tasks))] if tasks else []


def of_other_formats(pairs: Iterable[Pair]) -> tuple[str, ...]:
    """Tasks whose gold is bound by a plain digest in one job and under gold.key in the other."""
    by_task: dict[str, list[AttemptPair]] = defaultdict(list)
    for pair in pairs:
        by_task[pair.key.task_id].append((pair.a, pair.b))
    unknown = _standing(by_task, "gold", Standing.UNKNOWN)
    return tuple(task_id for task_id in unknown if all(_scoring(by_task[task_id])))


def _standing(by_task: Mapping[str, list[AttemptPair]], part: Part, wanted: Standing) -> tuple[str, ...]:
    """The tasks of which `part` stands so between the two jobs."""
    return tuple(
        task_id for task_id, own in sorted(by_task.items()) if standing(*_scoring(own), part) is wanted
    )


def _scoring(pairs: Iterable[AttemptPair]) -> tuple[list[ScoringDigests], list[ScoringDigests]]:
    """What is known of A and of B."""
    known: tuple[list[ScoringDigests], list[ScoringDigests]] = ([], [])
    for pair in pairs:
        for attempt, side in zip(pair, known, strict=True):
            if attempt.result.digests.scoring is not None:
                side.append(attempt.result.digests.scoring)
    return known


def _roles(by_task: Mapping[str, list[AttemptPair]]) -> list[Difference]:
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


def _images(by_task: dict[str, list[AttemptPair]]) -> list[Difference]:
    # A host that one job never started is unknown there, which is no difference.
    levels: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for task_id, pairs in by_task.items():
        ours, theirs = _hosts(one for one, _ in pairs), _hosts(one for _, one in pairs)
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

"""What an engine says to a dataset, before anything runs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.api.diagnosis import limits_of
from scorehost.api.finding import Finding
from scorehost.attempt.blueprints import evaluator_blueprint, named_blueprints, run_blueprint
from scorehost.engine.opening import open_engine
from scorehost.errors import EngineError, EngineRefused, InputError, NotFound
from scorehost.hosts.admission import SHARE
from scorehost.hosts.images import OWN_PREFIX
from scorehost.model.limits import MIB
from scorehost.spec.loading import load_dataset

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scorehost.api.opener import OpenEngine
    from scorehost.engine.door import Engine, EngineInfo
    from scorehost.hosts.blueprint import Blueprint
    from scorehost.hosts.recipe import Recipe
    from scorehost.spec.dataset import Dataset, Task


async def probe(
    dataset: Path, profiles: Path | None = None, *, engine: OpenEngine = open_engine
) -> list[Finding]:
    """Asks the engine about every image, limit and memory need of a dataset; nothing is pulled or built.

    SpecError when the dataset has problems; an engine that does not answer is a finding.
    """
    found = load_dataset(dataset, profiles=profiles)
    try:
        async with engine(found.profiles.engine.host) as opened:
            info = await opened.info()
            findings = [Finding("ok", f"engine {info.version} at {info.endpoint}")]
            findings += limits_of(info)
            findings += never_fit(found.tasks.values(), found, info)
            findings += _runtime(found, info)
            findings += await _images(opened, found)
            return findings
    except (EngineError, InputError) as error:
        return [Finding("problem", error.message, error.hint)]


def hosts_of(task: Task, dataset: Dataset) -> list[Blueprint]:
    """Every host that an attempt at `task` may start, the evaluator's first."""
    named = named_blueprints(task, dataset.profiles)
    return [evaluator_blueprint(task, dataset.profiles), *named.values()]


def never_fit(tasks: Iterable[Task], dataset: Dataset, info: EngineInfo) -> list[Finding]:
    """A problem for every task whose hosts together need more memory than an engine gives to hosts (80 %)."""
    room = int(info.memory_bytes * SHARE) // MIB
    findings = []
    for task in tasks:
        hosts = hosts_of(task, dataset)
        needed = sum(host.limits.memory_mb for host in hosts)
        if needed > room:
            parts = ", ".join(f"{host.name} {host.limits.memory_mb}" for host in hosts)
            findings.append(
                Finding(
                    "problem",
                    f"task {task.task_id} needs {needed} MiB for its hosts ({parts}), the engine has {room}",
                    "Lower limits.memory_mb of the task or of its environments.",
                )
            )
    return findings


def room_for(tasks: Iterable[Task], dataset: Dataset, info: EngineInfo) -> int:
    """How many attempts an engine takes at a time: one for each of its cores, no more than its memory holds
    when all of them are at the task that needs most; at least 1.
    """
    room = int(info.memory_bytes * SHARE) // MIB
    most = max((sum(host.limits.memory_mb for host in hosts_of(task, dataset)) for task in tasks), default=1)
    return max(1, min(info.cpus, room // most))


def _runtime(dataset: Dataset, info: EngineInfo) -> list[Finding]:
    runtime = dataset.profiles.evaluate_host.runtime
    if runtime is None or runtime in info.runtimes:
        return []
    known = ", ".join(info.runtimes)
    return [
        Finding(
            "problem",
            f"the engine does not know the runtime {runtime}",
            f"It knows {known}: name one of them.",
        )
    ]


async def _images(engine: Engine, dataset: Dataset) -> list[Finding]:
    users: dict[str | Recipe, list[str]] = {}
    for task in dataset.tasks.values():
        runs = [run_blueprint(task, dataset.profiles)] if task.run_script is not None else []
        for host in (*hosts_of(task, dataset), *runs):
            users.setdefault(host.image, []).append(f"{task.task_id}/{host.name}")
    findings = []
    for choice, places in users.items():
        wanted = f"{places[0]}" + (f" and {len(places) - 1} more" if len(places) > 1 else "")
        if isinstance(choice, str):
            findings.append(await _image(engine, choice, wanted))
            continue
        findings += [await _image(engine, base, f"the recipe of {wanted}") for base in choice.bases()]
        findings.append(Finding("ok", f"recipe {choice.dockerfile} (for {wanted}): built at its first use"))
    return list(dict.fromkeys(findings))


async def _image(engine: Engine, reference: str, wanted: str) -> Finding:
    try:
        image = await engine.image(reference)
    except NotFound:
        if reference.startswith(OWN_PREFIX):
            return Finding(
                "problem", f"image {reference} (for {wanted}) is not on the engine", "Run `make images`."
            )
        return Finding(
            "warning", f"image {reference} (for {wanted}) is not on the engine: a job will pull it"
        )
    except EngineRefused as error:
        return Finding("problem", f"image {reference} (for {wanted}): {error.message}", "Correct its name.")
    return Finding("ok", f"image {reference} (for {wanted}) is {image.id[:19]}, {image.architecture}")

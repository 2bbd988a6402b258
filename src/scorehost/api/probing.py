"""What an engine says to a dataset, before anything runs on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.attempt.blueprints import run_blueprint
from scorehost.attempt.fitting import hosts_of, limits_of, never_fit
from scorehost.engine.opening import open_engine
from scorehost.errors import EngineError, EngineRefused, InputError, NotFound
from scorehost.hosts.emulation import runs
from scorehost.hosts.images import OWN_PREFIX
from scorehost.hosts.platforms import HINT, foreign
from scorehost.model.finding import Finding
from scorehost.spec.loading import load_dataset

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.engine.door import Engine, EngineInfo
    from scorehost.engine.opener import OpenEngine
    from scorehost.hosts.recipe import Recipe
    from scorehost.spec.dataset import Dataset


async def probe(
    dataset: Path, profiles: Path | None = None, *, engine: OpenEngine = open_engine
) -> list[Finding]:
    """Asks the engine about every image, limit and memory need of a dataset; nothing is pulled or
    built. An image for another platform is tried by `true`.

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
            findings += await _images(opened, found, info)
            return findings
    except (EngineError, InputError) as error:
        return [Finding("problem", error.message, error.hint)]


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


async def _images(engine: Engine, dataset: Dataset, info: EngineInfo) -> list[Finding]:
    users: dict[str | Recipe, list[str]] = {}
    for task in dataset.tasks.values():
        runs = [run_blueprint(task, dataset.profiles)] if task.run_script is not None else []
        for host in (*hosts_of(task, dataset), *runs):
            users.setdefault(host.image, []).append(f"{task.task_id}/{host.name}")
    findings = []
    for choice, places in users.items():
        wanted = f"{places[0]}" + (f" and {len(places) - 1} more" if len(places) > 1 else "")
        if isinstance(choice, str):
            findings.append(await _image(engine, info, choice, wanted))
            continue
        findings += [await _image(engine, info, base, f"the recipe of {wanted}") for base in choice.bases()]
        findings.append(Finding("ok", f"recipe {choice.dockerfile} (for {wanted}): built at its first use"))
    return list(dict.fromkeys(findings))


async def _image(engine: Engine, info: EngineInfo, reference: str, wanted: str) -> Finding:
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
    named = f"image {reference} (for {wanted})"
    other = foreign(image, info)
    if not other:
        return Finding("ok", f"{named} is {image.id[:19]}, {image.architecture}")
    if await runs(engine, image):
        return Finding("warning", f"{named} runs emulated, slowly: it is for {other}")
    return Finding("problem", f"{named} is for {other}, which cannot run it", HINT)

"""`scorehost check`: every problem of a dataset, and with --probe what the engine says to it."""

from __future__ import annotations

import functools
from pathlib import Path

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.findings import say_findings, status_of
from scorehost.cli.stdout import say
from scorehost.cli.text import count, typed, visible

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command(cls=Command, short_help="Find every problem of a dataset.")
@click.argument("dataset", type=click.Path(path_type=Path), default=Path())
@click.option("--profiles", type=_FILE, help="In place of the dataset's profiles.yaml.")
@click.option("--gold", type=_FOLDER, help="Private gold, laid over the dataset's.")
@click.option("--probe", is_flag=True, help="Ask the engine too: images, memory, limits.")
@click.option("--lock", is_flag=True, help="Write scorehost.lock: images and tasks as they are now.")
@verbosity
def check(dataset: Path, profiles: Path | None, gold: Path | None, probe: bool, lock: bool) -> int:
    """Check the files of DATASET (the current folder when it is not given); all problems at once, exit 2."""
    report = api.check(dataset, profiles=profiles, gold=gold)
    warnings = [*report.warnings]
    for name in api.moving_tags(dataset, profiles=profiles):
        text = f"image {name} has no digest: its tag may mean another image tomorrow; pin it with --lock"
        warnings.append(text)
    for warning in warnings:
        click.echo(visible(f"warning: {warning}"), err=True)
    for task in report.tasks:
        hosts = f", hosts {', '.join(task.environments)}" if task.environments else ""
        holds = f"{count(task.artifacts, 'artifact')}, {count(task.gold_files, 'gold file')}"
        say(f"  {task.task_id}: {holds}{hosts}")
    told = f", {count(len(warnings), 'warning')}" if warnings else ""
    say(f"{report.dataset_id} {report.version}: {count(len(report.tasks), 'task')}, no problem{told}.")
    if lock:
        say(f"locked: {typed(anyio.run(functools.partial(api.lock, dataset, profiles=profiles, gold=gold)))}")
    if not probe:
        return 0
    findings = anyio.run(api.probe, dataset, profiles)
    say_findings(findings)
    return status_of(findings)

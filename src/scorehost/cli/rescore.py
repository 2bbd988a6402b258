"""`scorehost rescore`: what a job archived, scored against the dataset as it is now."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbose_of, verbosity
from scorehost.cli.display import display
from scorehost.cli.job_options import job_options

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_POSITIVE = click.IntRange(min=1)


@click.command(cls=Command, short_help="Score again what a job archived, as a new job.")
@click.argument("job")
@click.option("--changed", is_flag=True, help="Only what changed since, and what was ERROR; the rest stands.")
@click.option("--dataset", type=_FOLDER, help="In place of the one that the job was scored by.")
@click.option("--task", "tasks", multiple=True, metavar="GLOB", help="Tasks whose id matches; repeatable.")
@click.option("--gold", type=_FOLDER, help="Private gold, laid over the dataset's.")
@click.option("--profiles", type=_FILE, help="In place of the dataset's profiles.yaml.")
@click.option(
    "--concurrency", type=_POSITIVE, metavar="N", help="Attempts at a time; else by cores and memory."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    help="Where JOB is looked up, and the new job goes (runs).",
)
@click.option("--name", metavar="NAME", help="A label for the new job.")
@job_options
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout and nothing else.")
@verbosity
@click.pass_context
def rescore(ctx: click.Context, /, *, job: str, dataset: Path | None, as_json: bool, **given: Any) -> int:
    """Score what JOB archived against its dataset as it is now; JOB itself stays as it is.

    JOB is an id, a unique beginning of one, a folder, or latest. The end shows the verdicts that moved.
    Exit status as of `run`, over all attempts of the new job.
    """
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.moved import show_rescored  # noqa: PLC0415

    call = functools.partial(api.rescore, dataset=dataset)
    with display(verbose=verbose_of(ctx) > 0) as watch:
        rescored = anyio.run(call, job, api.RunOptions(**given), watch)
    show_rescored(rescored, as_json=as_json)
    return rescored.outcome.exit_status

"""`scorehost rescore`: what a job archived, scored against the dataset as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbose_of, verbosity
from scorehost.cli.display import display
from scorehost.cli.options import fields_of, value_of

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_ASKED = "tasks gold profiles name"
_RUNNING = "concurrency out retry_errors fail_fast exit_on fail_under allow_unenforced private"


@click.command(cls=Command, short_help="Score again what a job archived, as a new job.")
@click.argument("job")
@click.option("--changed", is_flag=True, help="Only what changed since, and what was ERROR; the rest stands.")
@click.option("--dataset", type=_FOLDER, help="Use this dataset instead of the one JOB was scored with.")
@fields_of(api.ScoreAsked, only=_ASKED, words={"name": "A label for the new job."})
@fields_of(api.Running, only=_RUNNING, words={"out": "Where JOB is looked up, and the new job goes (runs)."})
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout and nothing else.")
@verbosity
@click.pass_context
def rescore(
    ctx: click.Context,
    /,
    *,
    job: str,
    changed: bool,
    dataset: Path | None,
    as_json: bool,
    **given: Any,
) -> int:
    """Score what JOB archived against its dataset as it is now; JOB itself stays as it is.

    JOB is an id, a unique beginning of one, a folder, or latest. The end shows the verdicts that moved.
    Exit status as of `run`, over all attempts of the new job.
    """
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.moved import show_rescored  # noqa: PLC0415

    asked = value_of(api.ScoreAsked, given, changed=changed, dataset=dataset or Path())
    with display(verbose=verbose_of(ctx) > 0) as watch:
        rescored = anyio.run(api.rescore, job, asked, value_of(api.Running, given), watch)
    show_rescored(rescored, as_json=as_json)
    return rescored.outcome.exit_status

"""`scorehost audit`: whether a benchmark is sound."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbose_of, verbosity
from scorehost.cli.display import display

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_POSITIVE = click.IntRange(min=1)


@click.command(cls=Command, short_help="Find out whether a benchmark is sound.")
@click.argument("dataset", type=click.Path(path_type=Path), default=Path())
@click.option("--attacks", is_flag=True, help="Also hand in a kit of dishonest submissions.")
@click.option("--task", "tasks", multiple=True, metavar="GLOB", help="Tasks whose id matches; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="Tasks that carry a tag; repeatable.")
@click.option("--limit", type=_POSITIVE, metavar="N", help="The first N tasks.")
@click.option(
    "--repeat", type=_POSITIVE, metavar="N", help="Score solution, empty and wrong ones so often (2)."
)
@click.option(
    "--concurrency", type=_POSITIVE, metavar="N", help="Attempts at a time; else by cores and memory."
)
@click.option("--profiles", type=_FILE, help="In place of the dataset's profiles.yaml.")
@click.option("--gold", type=_FOLDER, help="Private gold, laid over the dataset's.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    help="Where jobs go (runs).",
)
@click.option("--resume", metavar="JOB", help="Go on with an audit that was stopped.")
@click.option("--allow-unenforced", is_flag=True, help="Run though the engine cannot enforce a limit.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout and nothing else.")
@verbosity
@click.pass_context
def audit(
    ctx: click.Context,
    /,
    *,
    attacks: bool,
    repeat: int | None,
    as_json: bool,
    resume: str | None,
    **given: Any,
) -> int:
    """Score what must pass and what must not, for every task of DATASET, and say what is wrong with them.

    The solution must be PASS; nothing at all, empty files, shipped wrong solutions and (with --attacks)
    dishonest submissions must not; repeats must agree. Mutated solutions that pass are shown as warnings.

    Exit status: 0 sound, 1 defects, 2 bad input or nothing could run, 3 errors, 130 interrupted.
    """
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.audit_lines import show_audit  # noqa: PLC0415

    # A job that is taken up again has its own number of repeats.
    options = api.RunOptions(repeat=repeat or (1 if resume else 2), resume=resume, **given)
    with display(verbose=verbose_of(ctx) > 0) as watch:
        report = anyio.run(functools.partial(api.audit, attacks=attacks), options, watch)
    show_audit(report, as_json=as_json)
    return report.exit_status

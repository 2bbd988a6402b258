"""`scorehost run`: many attempts, progress on stderr, the table or the JSON document on stdout."""

from __future__ import annotations

from typing import Any

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbose_of, verbosity
from scorehost.cli.display import display
from scorehost.cli.later import later
from scorehost.cli.options import fields_of, typed_of, value_of


@click.command(cls=Command, short_help="Score submissions over the tasks of a dataset.")
@fields_of(api.ScoreAsked, api.Running)
@click.option("--dry-run", is_flag=True, help="Plan and check everything; start nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout and nothing else.")
@click.option("--watch", "watching", is_flag=True, help="Score again whenever a file changes; Ctrl-C stops.")
@later("--lock", flag=True)
@verbosity
@click.pass_context
def run(ctx: click.Context, /, *, dry_run: bool, as_json: bool, watching: bool, **given: Any) -> int:
    """Score submissions over the tasks of DATASET (the current folder when it is not given).

    Exit status: 0 all PASS, 1 a FAIL, 2 bad input or nothing could run, 3 an ERROR, 130 interrupted.
    """
    typed = ctx.get_parameter_source("dataset") is click.core.ParameterSource.COMMANDLINE
    if given["resume"] is not None and typed:
        given["dataset"] = given["dataset"].absolute()  # so that `.` is not taken for none
    asked, running = value_of(api.ScoreAsked, given), value_of(api.Running, given)
    refuse_beside_resume(ctx, running)
    if dry_run:
        from scorehost.cli.dry_run import show_plan  # noqa: PLC0415 - as below

        return show_plan(api.plan(asked, running), as_json=as_json)
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.outcome import show  # noqa: PLC0415

    def once(chosen: api.ScoreAsked) -> int:
        with display(verbose=verbose_of(ctx) > 0) as watch:
            outcome = anyio.run(api.run, chosen, running, watch)
        show(outcome, as_json=as_json)
        return outcome.exit_status

    if not watching:
        return once(asked)
    if running.resume is not None or as_json:
        raise click.UsageError("--watch makes a new job each time: not with --resume or --json.")
    from scorehost.cli.watching import watch as watch_files  # noqa: PLC0415 - as above

    return watch_files(asked, running.out, once)


def refuse_beside_resume(ctx: click.Context, running: api.Running) -> None:
    """Refuses what says which attempts a job has, where job.json says so; also a default that was typed."""
    typed = typed_of(ctx, api.ScoreAsked) if running.resume is not None else []
    if typed:
        raise click.UsageError(
            f"{', '.join(typed)} cannot go with --resume: a job keeps what it was asked.", ctx
        )

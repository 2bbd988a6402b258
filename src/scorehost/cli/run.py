"""`scorehost run`: many attempts, progress on stderr, the table or the JSON document on stdout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbose_of, verbosity
from scorehost.cli.display import display
from scorehost.cli.job_options import job_options
from scorehost.cli.later import later
from scorehost.cli.values import parameters

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_POSITIVE = click.IntRange(min=1)
_NATURAL = click.IntRange(min=0)
_TYPED = click.core.ParameterSource.COMMANDLINE


def _one_rerun(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    if value is not None and value.partition(":")[0] != "error":
        raise click.BadParameter(f"{value!r} is not `error` or `error:KIND`.")
    return value


def _beside_resume(ctx: click.Context, dataset: Path) -> Path:
    """The dataset, spelled so that one that was typed is not taken for none. Refuses a typed --repeat."""
    typed = [name for name in ("dataset", "repeat") if ctx.get_parameter_source(name) is _TYPED]
    if "repeat" in typed:
        raise click.UsageError("--repeat cannot go with --resume: a job keeps what it was asked.", ctx)
    return dataset.absolute() if "dataset" in typed else dataset


@click.command(cls=Command, short_help="Score submissions over the tasks of a dataset.")
@click.argument("dataset", type=click.Path(path_type=Path), default=Path())
@click.option("--task", "tasks", multiple=True, metavar="GLOB", help="Tasks whose id matches; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="T", help="Tasks with this tag; repeatable.")
@click.option("--limit", type=_POSITIVE, metavar="N", help="The first N of the selected tasks.")
@click.option(
    "--submission",
    "submissions",
    multiple=True,
    metavar="…",
    help="solution, empty, run, wrong:NAME, a folder, or NAME=PATH; repeatable.",
)
@click.option("--submissions", "submissions_dir", type=_FOLDER, help="Each child folder or archive is one.")
@click.option("--predictions", type=_FILE, help="JSON lines with task_id and a text per artifact.")
@click.option("--repeat", type=_POSITIVE, default=1, metavar="N", help="Score each sample N times.")
@click.option("--samples", type=_POSITIVE, metavar="N", help="Ask the run phase for N samples.")
@click.option(
    "--concurrency", type=_POSITIVE, metavar="N", help="Attempts at a time; else by cores and memory."
)
@click.option("--profiles", type=_FILE, help="In place of the dataset's profiles.yaml.")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Set parameters.KEY; repeatable.")
@click.option("--gold", type=_FOLDER, help="Private gold, laid over the dataset's.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    help="Where jobs go (runs).",
)
@click.option("--name", metavar="NAME", help="A label for the job.")
@click.option("--resume", metavar="JOB", help="Go on with a job; only what is unfinished runs.")
@click.option("--rerun", metavar="error[:KIND]", callback=_one_rerun, help="With --resume: these again.")
@job_options
@click.option("--dry-run", is_flag=True, help="Plan and check everything; start nothing.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout and nothing else.")
@click.option("--max-calls", type=_NATURAL, metavar="N", help="Calls of agents that the job may make.")
@click.option("--max-tokens", type=_NATURAL, metavar="N", help="Tokens after which no call is begun.")
@click.option(
    "--keep",
    type=click.Choice(["error", "always"]),
    help="Leave containers to look into; `clean --kept` removes them.",
)
@click.option("--locked", is_flag=True, help="Only with files and images as scorehost.lock says.")
@click.option("--watch", "watching", is_flag=True, help="Again whenever a file changes; Ctrl-C ends it.")
@click.option("--allow-shared-host", is_flag=True, help="Score in the run phase's container if profiles ask.")
@later("--lock", flag=True)
@verbosity
@click.pass_context
def run(ctx: click.Context, /, *, pairs: tuple[str, ...], as_json: bool, watching: bool, **given: Any) -> int:
    """Score submissions over the tasks of DATASET (the current folder when it is not given).

    Exit status: 0 all PASS, 1 a FAIL, 2 bad input or nothing could run, 3 an ERROR, 130 interrupted.
    """
    if given["resume"] is not None:
        given["dataset"] = _beside_resume(ctx, given["dataset"])
    options = api.RunOptions(parameters=parameters(pairs), **given)
    if options.dry_run:
        from scorehost.cli.dry_run import show_plan  # noqa: PLC0415 - as below

        return show_plan(api.plan(options), as_json=as_json)
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.outcome import show  # noqa: PLC0415

    def once(asked: api.RunOptions) -> int:
        with display(verbose=verbose_of(ctx) > 0) as watch:
            outcome = anyio.run(api.run, asked, watch)
        show(outcome, as_json=as_json)
        return outcome.exit_status

    if not watching:
        return once(options)
    if options.resume is not None or as_json:
        raise click.UsageError("--watch makes a new job each time: not with --resume or --json.")
    from scorehost.cli.watching import watch as watch_files  # noqa: PLC0415 - as above

    return watch_files(options, once)

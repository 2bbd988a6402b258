"""`scorehost score`: one task, one submission, and why it got what it got."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Literal

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbose_of, verbosity
from scorehost.cli.display import display
from scorehost.cli.values import parameters


@click.command(cls=Command, short_help="Score one submission of one task; the reason at once.")
@click.argument("task_dir", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("path")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="Set parameters.KEY; repeatable.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    help="Where jobs go (runs).",
)
@click.option("--allow-unenforced", is_flag=True, help="Run even if the engine does not hold hosts as asked.")
@click.option(
    "--keep",
    type=click.Choice(["error", "always"]),
    help="Leave containers to look into; `clean --kept` removes them.",
)
@click.option("--private", is_flag=True, help="Show free text of private checks too.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout and nothing else.")
@verbosity
@click.pass_context
def score(
    ctx: click.Context,
    /,
    *,
    task_dir: Path,
    path: str,
    pairs: tuple[str, ...],
    out: Path,
    allow_unenforced: bool,
    keep: Literal["error", "always"] | None,
    private: bool,
    as_json: bool,
) -> int:
    """Score the submission at PATH for the task in TASK_DIR.

    PATH is a folder that holds the declared artifacts at their paths, an archive of one, the file itself for
    a task that asks for one file, or solution, empty, wrong:NAME.
    Exit status as of `run`.
    """
    call = functools.partial(
        api.score,
        task_dir,
        path,
        parameters=parameters(pairs),
        out=out,
        allow_unenforced=allow_unenforced,
        private=private,
        keep=keep,
    )
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.outcome import show, show_one  # noqa: PLC0415

    with display(verbose=verbose_of(ctx) > 0) as watch:
        outcome = anyio.run(call, watch)
    if as_json:
        show(outcome, as_json=True)
    else:
        show_one(outcome)
    return outcome.exit_status

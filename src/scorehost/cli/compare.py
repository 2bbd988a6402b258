"""`scorehost compare`: two jobs, what differs between them, what moved, and what that says."""

from __future__ import annotations

from pathlib import Path

import click

from scorehost import api
from scorehost.cli.command import Command, verbosity

REGRESSED, REFUSED = 1, 2


def _pairs(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value in values:
        ours, sign, theirs = value.partition("=")
        if not sign or not ours or not theirs:
            raise click.BadParameter(f"{value!r} is not NAME=NAME.")
        if ours in found:
            raise click.BadParameter(f"{ours!r} is given twice.")
        found[ours] = theirs
    return found


@click.command(cls=Command, short_help="Compare two jobs, attempt by attempt.")
@click.argument("a")
@click.argument("b")
@click.option(
    "--allow-mismatch", is_flag=True, help="Compare scores even if the scoring inputs differ, and say so."
)
@click.option("--fail-on-regression", is_flag=True, help="Exit 1 when a PASS was lost or the mean fell.")
@click.option("--task", "tasks", multiple=True, metavar="GLOB", help="Tasks whose id matches; repeatable.")
@click.option(
    "--pair",
    "renamed",
    multiple=True,
    callback=_pairs,
    metavar="NAME=NAME",
    help="A's submission with B's; repeatable. Without it, those of one name.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    help="Folder that holds the jobs (runs).",
)
@click.option("--private", is_flag=True, help="Show free text of private checks too.")
@click.option("--format", "kind", type=click.Choice(["text", "md", "json"]), default="text")
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@verbosity
def compare(
    *,
    a: str,
    b: str,
    allow_mismatch: bool,
    fail_on_regression: bool,
    tasks: tuple[str, ...],
    renamed: dict[str, str],
    out: Path,
    private: bool,
    kind: str,
    as_json: bool,
) -> int:
    """Compare job B with job A. Each is an id, a unique beginning of one, a folder, or latest.

    Exit status: 0; 1 with --fail-on-regression and a regression; 2 when nothing matches, or no ranking can
    be told because what the verdicts rest on differs.
    """
    comparison = api.compare(
        a, b, out=out, renamed=renamed, tasks=tasks, allow_mismatch=allow_mismatch, private=private
    )
    # Imported here: it loads the models, which --help can do without.
    from scorehost.cli.comparison import show_comparison  # noqa: PLC0415

    show_comparison(comparison, kind="json" if as_json else kind)
    if comparison.figures is None:
        return REFUSED
    return REGRESSED if fail_on_regression and comparison.regressions.any else 0

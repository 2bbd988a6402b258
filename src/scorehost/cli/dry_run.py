"""What --dry-run prints: every attempt that would be made, and that nothing was."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from scorehost.cli.stdout import say, write
from scorehost.cli.tables import columns
from scorehost.cli.text import count, visible
from scorehost.model.json import dump

if TYPE_CHECKING:
    from scorehost.api import DryRun, Planned

FORMAT = "scorehost.plan/1"
REFUSED = 3
_SHOWN = 200
_HEAD = ("task", "submission", "sample", "bytes", "handed in")


def show_plan(made: DryRun, *, as_json: bool) -> int:
    """Prints the plan; 3 when an attempt of it would be ERROR before it starts, else 0."""
    refused = [one for one in made.planned if one.problem is not None]
    for warning in made.warnings:
        click.echo(visible(f"warning: {warning}"), err=True)
    if as_json:
        write(
            dump(
                {"format": FORMAT, "warnings": made.warnings, "attempts": [_row(one) for one in made.planned]}
            )
        )
    else:
        shown = made.planned[:_SHOWN]
        write("\n".join([*columns([_cells(one) for one in shown], _HEAD), ""]))
        if len(shown) < len(made.planned):
            say(f"… and {count(len(made.planned) - len(shown), 'attempt')} more")
        bad = f", {len(refused)} of them would be refused" if refused else ""
        say(f"{count(len(made.planned), 'attempt')} planned{bad}; nothing was started")
    return REFUSED if refused else 0


def _cells(one: Planned) -> tuple[str, ...]:
    if one.problem is not None:
        what = f"{one.problem.kind}: {one.problem.message}"
    else:
        missing = f"; missing: {', '.join(one.missing)}" if one.missing else ""
        what = (", ".join(one.artifacts) or "nothing") + missing
    return (one.key.task_id, one.key.submission, f"{one.key.sample}.{one.key.repeat}", str(one.size), what)


def _row(one: Planned) -> dict[str, Any]:
    return {
        **one.key.model_dump(),
        "artifacts": list(one.artifacts),
        "missing": list(one.missing),
        "bytes": one.size,
        "problem": None if one.problem is None else one.problem.model_dump(mode="json"),
    }

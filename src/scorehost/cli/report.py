"""`scorehost report`: a finished job as a file for others."""

from __future__ import annotations

from pathlib import Path

import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import write


@click.command(cls=Command, short_help="Write a job as JUnit, JSON, Markdown, CSV or HTML.")
@click.argument("job")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["junit", "json", "md", "csv", "html"]),
    required=True,
    help="junit for CI servers, html for a browser.",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write to FILE instead of stdout."
)
@click.option("--private", is_flag=True, help="With free text of private checks: it may hold gold.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    help="Folder that holds the jobs (runs).",
)
@verbosity
def report(*, job: str, kind: api.ReportFormat, output: Path | None, private: bool, out: Path) -> int:
    """Write JOB (an id, a unique beginning of one, a folder, or latest) for others to read.

    Exit status: 0 when the report was written, whatever the verdicts in it; 2 when there is no such job.
    """
    content = api.report(job, kind, out=out, private=private)
    if output is None:
        write(content)
        return 0
    try:
        output.write_bytes(content)
    except OSError as error:
        raise click.BadParameter(f"{output}: {error.strerror}.", param_hint="--output") from None
    return 0

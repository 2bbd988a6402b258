"""`scorehost logs`: what the evaluator and the execs of one attempt printed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import say, write
from scorehost.cli.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

_POSITIVE = click.IntRange(min=1)
_PART = 65_536


@click.command(cls=Command, short_help="Print the logs of one attempt.")
@click.argument("job")
@click.argument("task")
@click.option("--submission", metavar="NAME", help="Needed where the task has several.")
@click.option("--sample", type=_POSITIVE, metavar="N")
@click.option("--repeat", type=_POSITIVE, metavar="N")
@click.option("--host", metavar="NAME", help="Of this host only; evaluator is one.")
@click.option("--raw", is_flag=True, help="Every byte as it was printed; not for a terminal.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    help="Folder that holds the jobs (runs).",
)
@verbosity
def logs(
    *,
    job: str,
    task: str,
    submission: str | None,
    sample: int | None,
    repeat: int | None,
    host: str | None,
    raw: bool,
    out: Path,
) -> int:
    """Print what the evaluator and the execs of one attempt of TASK in JOB printed.

    Control characters come out escaped. Logs are private to the job: they may hold gold.
    """
    wanted = api.Wanted(task=task, submission=submission, sample=sample, repeat=repeat, host=host)
    found = api.logs(job, wanted, out=out)
    if not any(log.size for log in found):
        click.echo("nothing was printed in this attempt", err=True)
        return 0
    for log in found:
        if len(found) > 1:
            say(f"==> {log.path} <==")
        part = b"\n"
        for part in _parts(log):
            write(part if raw else visible(part.decode("utf-8", "backslashreplace"), keep="\n\t"))
        if not raw and not part.endswith(b"\n"):
            write("\n")
    return 0


def _parts(log: api.AttemptLog) -> Iterator[bytes]:
    """The file in whole lines where they are short, so that no character is cut in two."""
    with log.open() as stream:
        while line := stream.readline(_PART):
            while not line.endswith(b"\n") and _cut(line) and (more := stream.read(1)):
                line += more
            yield line


def _cut(line: bytes) -> bool:
    """Whether the last bytes are the beginning of a UTF-8 character that is not whole."""
    for back in range(1, 4):
        byte = line[-back] if len(line) >= back else 0
        if byte >= 0xC0:  # noqa: PLR2004 - a first byte, which says how many follow
            return back < (2 if byte < 0xE0 else 3 if byte < 0xF0 else 4)  # noqa: PLR2004
        if byte < 0x80:  # noqa: PLR2004 - ASCII
            return False
    return False

"""`scorehost clean`: what dead jobs left on the engine goes."""

from __future__ import annotations

import functools
from collections import defaultdict

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.stdout import say
from scorehost.cli.text import count
from scorehost.cli.values import Duration

_SHOWN = 50
_NAMED = 2  # objects that are left for one reason: a job that runs has dozens


@click.command(cls=Command, short_help="Remove what dead jobs left on the engine.")
@click.option("--job", metavar="ID", help="Clean up this job only.")
@click.option(
    "--older-than", type=Duration(), default=0.0, metavar="1h", help="Only what is older than this."
)
@click.option("--force", is_flag=True, help="With --job: also of another machine, or of a living process.")
@click.option("--kept", is_flag=True, help="Only containers that --keep left.")
@click.option("--images", is_flag=True, help="Only images that were built from recipes.")
@verbosity
def clean(job: str | None, older_than: float, force: bool, kept: bool, images: bool) -> int:
    """Remove containers and volumes of jobs that have ended; never those of a job that may be alive.

    What `run --keep` kept stays, unless --kept or its --job is given. Images stay unless --images is given.
    """
    if images and (job is not None or kept):
        raise click.UsageError("--images goes with --older-than only: images belong to no job.")
    if force and job is None:
        raise click.UsageError("--force goes together with --job ID only.")
    call = functools.partial(
        api.clean,
        api.engine_host(),
        job=job,
        older_than=older_than,
        force=force,
        kept=kept,
        images=images,
    )
    report = anyio.run(call)
    for item in report.removed[:_SHOWN]:
        say(f"removed {item.kind} {item.name}")
    why = defaultdict(list)
    for item, reason in report.left:
        why[reason].append(f"{item.kind} {item.name}")
    for reason, names in list(why.items())[:_SHOWN]:
        more = f" and {count(len(names) - _NAMED, 'other object')}" if len(names) > _NAMED else ""
        say(f"left {', '.join(names[:_NAMED])}{more}: {reason}")
    if report.calls:
        say(f"removed what {count(report.calls, 'call')} of agents had left on this machine")
    left = f", {len(report.left)} left" if report.left else ""
    say(f"{count(len(report.removed), 'object')} removed{left}")
    return 0

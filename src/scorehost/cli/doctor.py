"""`scorehost doctor`: the engine, and what stands in the way of scoring."""

from __future__ import annotations

import anyio
import click

from scorehost import api
from scorehost.cli.command import Command, verbosity
from scorehost.cli.findings import say_findings, status_of


@click.command(cls=Command, short_help="Check the engine and what it can do.")
@verbosity
def doctor() -> int:
    """Check the engine, its images, memory, disk and limits; exit 2 when something prevents a run.

    The engine is that of the current folder's profiles.yaml, else DOCKER_HOST, the docker context or the
    default socket.
    """
    findings = anyio.run(api.doctor, api.engine_host())
    say_findings(findings)
    return status_of(findings)

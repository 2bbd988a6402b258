"""Results on stdout: escaped, and quiet when the reader has gone."""

from __future__ import annotations

import os
import sys

import click

from scorehost.cli.text import visible


def say(text: str) -> None:
    """One line; control characters come out escaped, so it stays one."""
    write(visible(text) + "\n")


def write(content: str | bytes) -> None:
    """Writes and flushes. `scorehost run | head` has what it wanted: a closed pipe is no error."""
    try:
        click.echo(content, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        discard_rest()


def discard_rest() -> None:
    """Sends the rest of stdout nowhere: what is still buffered must not complain at the exit of Python."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

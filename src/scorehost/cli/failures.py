"""Exceptions as a person reads them on stderr, and the exit status of each."""

from __future__ import annotations

import os
import sys
import tempfile
import traceback
from dataclasses import asdict
from pathlib import Path

import click

from scorehost.api import own_masker
from scorehost.cli.stdout import write
from scorehost.cli.text import visible
from scorehost.errors import Problem, ScorehostError, SpecError
from scorehost.model.json import dump

FORMAT = "scorehost.failed/1"
USAGE = 2
DEFECT = 3
INTERRUPTED = 130


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions inside a group, however deep; the error itself when it is none."""
    if isinstance(error, BaseExceptionGroup):
        return [leaf for part in error.exceptions for leaf in leaves(part)]
    return [error]


def tell(error: BaseException, *, verbose: bool) -> int:
    """Says on stderr what happened and what to do next, and gives the exit status."""
    found = leaves(error)
    if any(isinstance(leaf, (KeyboardInterrupt, click.Abort)) for leaf in found):
        return INTERRUPTED
    for leaf in found:
        if isinstance(leaf, click.ClickException):
            leaf.show()
            return leaf.exit_code
    ours = [leaf for leaf in found if isinstance(leaf, ScorehostError)]
    if len(ours) < len(found):
        return _tell_defect(error, verbose=verbose)
    for leaf in dict.fromkeys(ours):
        _tell_ours(leaf)
    return max(leaf.exit_status for leaf in ours)


def failed_document(error: BaseException, status: int) -> None:
    """Writes the one JSON document of a command that came to no outcome: its exit status and all problems."""
    problems = [problem for leaf in leaves(error) for problem in _problems(leaf)]
    hidden = own_masker().text
    rows = [{**asdict(one), "text": hidden(one.text), "hint": hidden(one.hint)} for one in problems]
    write(dump({"format": FORMAT, "exit_status": status, "problems": rows}))


def _problems(error: BaseException) -> list[Problem]:
    """What is wrong in one form: a problem without a place in a file has an empty path."""
    if isinstance(error, SpecError):
        return error.problems
    if isinstance(error, ScorehostError):
        return [Problem("", 0, 0, "", error.message, error.hint)]
    if isinstance(error, click.ClickException):
        return [Problem("", 0, 0, "", error.format_message())]
    if isinstance(error, (KeyboardInterrupt, click.Abort)):
        return [Problem("", 0, 0, "", "Stopped by a signal.")]
    return [Problem("", 0, 0, "", f"unforeseen {type(error).__name__}: a defect of scorehost")]


def _tell_ours(error: ScorehostError) -> None:
    if isinstance(error, SpecError):
        # Each line starts with path:line:column, which editors and terminals make a link of.
        number = len(error.problems)
        lines = [
            error.message,
            f"scorehost: {number} {'problem' if number == 1 else 'problems'}; nothing ran.",
        ]
    else:
        lines = [f"scorehost: {error.message}"]
    if error.hint:
        lines.append("\n".join(f"  {line}" for line in error.hint.splitlines()))
    click.echo(visible(own_masker().text("\n".join(lines)), keep="\n"), err=True)


def _tell_defect(error: BaseException, *, verbose: bool) -> int:
    text = own_masker().text("".join(traceback.format_exception(error)))
    head = f"scorehost: unforeseen {type(error).__name__}. This is a defect of scorehost, not of your files."
    if verbose:
        click.echo(visible(text, keep="\n"), err=True)
        click.echo(head, err=True)
    else:
        place = _keep(text)
        where = (
            f"The traceback is in {place}" if place else "Run it again with --verbose to see the traceback"
        )
        click.echo(f"{head}\n  {where}; please report it.", err=True)
    return DEFECT


def _keep(text: str) -> Path | None:
    """Writes a private file (0600) with the traceback below the user's state folder; None when it cannot."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    try:
        folder = Path(state) / "scorehost"
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(prefix="defect-", suffix=".log", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(" ".join(["scorehost", *sys.argv[1:2]]) + "\n" + text)
    except OSError:
        return None
    return Path(name)

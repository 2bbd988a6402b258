"""The group `scorehost`: sub-commands load when called, and every error ends in words and a status."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import click

from scorehost import __version__
from scorehost.cli.command import verbose_of, verbosity
from scorehost.cli.later import NotYet

if TYPE_CHECKING:
    from collections.abc import Sequence

# name -> where the command is, and its line in --help (so that --help imports none of them)
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("scorehost.cli.run:run", "Score submissions over the tasks of a dataset."),
    "score": ("scorehost.cli.score:score", "Score one submission of one task; the reason at once."),
    "rescore": ("scorehost.cli.rescore:rescore", "Score again what a job archived, as a new job."),
    "compare": ("scorehost.cli.compare:compare", "Compare two jobs, attempt by attempt."),
    "report": ("scorehost.cli.report:report", "Write a job as JUnit, JSON, Markdown, CSV or HTML."),
    "logs": ("scorehost.cli.logs:logs", "Print the logs of one attempt."),
    "audit": ("scorehost.cli.audit:audit", "Find out whether a benchmark is sound."),
    "check": ("scorehost.cli.check:check", "Find every problem of a dataset."),
    "shell": ("scorehost.cli.shell:shell", "Look into a scoring host of a task."),
    "doctor": ("scorehost.cli.doctor:doctor", "Check the engine and what it can do."),
    "clean": ("scorehost.cli.clean:clean", "Remove what dead jobs left on the engine."),
    "init": ("scorehost.cli.init:init", "Write a small new dataset to start from."),
    "adapter": ("scorehost.cli.adapter:adapter", "Try an adapter out."),
    "import": ("scorehost.cli.importing:importing", "Turn another project's tasks into a dataset."),
}
LATER = frozenset({"verify", "view"} | {"pack", "unpack", "keygen"})


class Root(click.Group):
    """Loads commands late, and owns the way out of the program."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Names in the order of the help page."""
        return list(COMMANDS)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        cmd_name: str,
    ) -> click.Command | None:
        """Imports and gives one command; `NotYet` for those of later versions."""
        if cmd_name in LATER:
            raise NotYet(f"scorehost {cmd_name}")
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), name)
        assert isinstance(command, click.Command)  # noqa: S101 - tells mypy; a wrong table fails every call
        return command

    def format_commands(
        self,
        ctx: click.Context,  # noqa: ARG002 - click's signature
        formatter: click.HelpFormatter,
    ) -> None:
        """The list of commands from the table above."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Runs the command and exits: with the int that it returned, or with the status of its error."""
        kwargs["standalone_mode"] = False
        kwargs["obj"] = _Asked(as_json=_wants_json(kwargs.get("args") or (args[0] if args else sys.argv[1:])))
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="backslashreplace")  # a name never ends a run for its alphabet
        try:
            status = super().main(*args, **kwargs)
        except (click.ClickException, click.Abort, KeyboardInterrupt) as error:
            status = _tell(error, verbose=False, as_json=kwargs["obj"].as_json)
        leave(status if isinstance(status, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Runs the sub-command; what it raises becomes words on stderr and a status."""
        try:
            return super().invoke(ctx)
        except (click.exceptions.Exit, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001 - the one place where every error becomes words
            asked = ctx.obj
            as_json = isinstance(asked, _Asked) and asked.as_json
            return _tell(error, verbose=verbose_of(ctx) > 0, as_json=as_json)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What the words of the command line say before click has read them: it may find them wrong."""

    as_json: bool


def _wants_json(words: Sequence[str]) -> bool:
    return "--json" in itertools.takewhile(lambda word: word != "--", words)


def _tell(error: BaseException, *, verbose: bool, as_json: bool) -> int:
    # Imported here: what tells of errors need not load where there is none.
    from scorehost.cli.failures import failed_document, tell  # noqa: PLC0415

    status = tell(error, verbose=verbose)
    if as_json:
        failed_document(error, status)
    return status


_IDLE_SECONDS = 0.3  # for threads without work to end


def leave(status: int) -> NoReturn:
    """Ends the process; at once when threads still wait for an engine that does not answer."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            # The reader has gone. Python would complain at its own exit: give it a place to flush to.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    others = [
        thread
        for thread in threading.enumerate()
        if thread is not threading.current_thread() and not thread.daemon and thread.name.startswith("AnyIO")
    ]
    until = time.monotonic() + _IDLE_SECONDS
    for thread in others:
        thread.join(max(0.0, until - time.monotonic()))  # those that were idle are just ending
    if any(thread.is_alive() for thread in others):
        # A cancelled call to the engine leaves its thread behind; joining it could take minutes.
        os._exit(status)
    sys.exit(status)


@click.group(cls=Root, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="scorehost %(version)s")
@verbosity
def root() -> None:
    """Score submitted work inside isolated Docker containers."""

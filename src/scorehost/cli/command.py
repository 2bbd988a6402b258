"""What every sub-command shares: --verbose, and a log that is set up before it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable

_VERBOSE = "scorehost.verbose"


def verbose_of(ctx: click.Context) -> int:
    """How often --verbose was given, before or after the sub-command's name (the larger one counts)."""
    return int(ctx.meta.get(_VERBOSE, 0))


def _set_verbose(ctx: click.Context, _param: click.Parameter, value: int) -> None:
    ctx.meta[_VERBOSE] = max(verbose_of(ctx), value)


def verbosity(function: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --verbose; read it with `verbose_of`."""
    option = click.option(
        "-v",
        "--verbose",
        count=True,
        expose_value=False,
        callback=_set_verbose,
        help="Say more on stderr; twice: everything.",
    )
    return option(function)


class Command(click.Command):
    """A sub-command whose log is set up just before it runs."""

    def invoke(self, ctx: click.Context) -> Any:
        """Sets the log up, then runs."""
        # Imported here: structlog takes longer to load than all of --help.
        from scorehost.api import own_masker, require_utf8  # noqa: PLC0415
        from scorehost.log import configure  # noqa: PLC0415

        require_utf8()
        configure(verbose_of(ctx), mask=own_masker().text)
        return super().invoke(ctx)

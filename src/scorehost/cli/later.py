"""What later versions bring: refused in words today, never ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable


class NotYet(click.UsageError):
    """Something that a later version brings."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: not yet in this version of scorehost.")


def _refuse(_ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value not in (None, False, ()):
        raise NotYet(param.opts[0])


def later(*names: str, flag: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares options of a later version, so that giving one is an error and never goes unseen."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        for name in reversed(names):
            option = click.option(
                name, is_flag=flag, hidden=True, expose_value=False, callback=_refuse, default=None
            )
            function = option(function)
        return function

    return add

"""Options of a command made from the fields of the models that they fill: one declaration each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from scorehost.cli.values import parameters
from scorehost.model.options import Option, options_of

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")
Command = Callable[..., Any]
_TYPES: dict[str, Any] = {
    "text": str,
    "pairs": str,
    "count": click.IntRange(min=1),
    "natural": click.IntRange(min=0),
    "number": float,
    "folder": click.Path(path_type=Path, exists=True, file_okay=False),
    "file": click.Path(path_type=Path, exists=True, dir_okay=False),
    "place": click.Path(path_type=Path, file_okay=False),
}
_TYPED = click.core.ParameterSource.COMMANDLINE


def fields_of(
    *models: type[Any], only: str = "", but: str = "", words: Mapping[str, str] | None = None
) -> Callable[[Command], Command]:
    """Adds an option for every field of the models, in order; `value_of` makes the models from them.

    `only` and `but` choose fields by name (in one text). `words` replaces lines of --help.
    """
    wanted, left_out = only.split(), but.split()

    def add(command: Command) -> Command:
        found = [
            (name, one, default)
            for model in models
            for name, one, default in options_of(model)
            if (not wanted or name in wanted) and name not in left_out
        ]
        for name, one, default in reversed(found):
            command = _declared(name, one, default, (words or {}).get(name, one.words))(command)
        return command

    return add


def value_of(model: type[T], given: dict[str, Any], **more: Any) -> T:
    """The model with those of its fields that stand in `given`, which are taken out of it."""
    names = [name for name, _, _ in options_of(model) if name in given]
    return model(**{name: given.pop(name) for name in names}, **more)


def typed_of(ctx: click.Context, model: type[Any]) -> list[str]:
    """The flags of fields of `model` that stand on the command line, also with the value of the default."""
    return [
        one.flag
        for name, one, _ in options_of(model)
        if one.flag and ctx.get_parameter_source(name) is _TYPED
    ]


def _declared(name: str, one: Option, default: Any, words: str) -> Callable[[Command], Command]:
    if not one.flag:
        return click.argument(name, type=click.Path(path_type=Path), default=default)
    if one.sort == "switch":
        return click.option(one.flag, name, is_flag=True, help=words)
    given: dict[str, Any] = {"help": words, "metavar": one.metavar, "show_default": one.show_default}
    kind = click.Choice(one.choices) if one.sort == "choice" else _TYPES[one.sort]
    if one.sort == "pairs":
        return click.option(one.flag, name, type=kind, multiple=True, callback=_pairs, **given)
    if one.many:
        return click.option(one.flag, name, type=kind, multiple=True, **given)
    if one.check is not None:
        given["callback"] = _checked(one.check)
    return click.option(one.flag, name, type=kind, default=default, **given)


def _pairs(_ctx: click.Context, _param: click.Parameter, value: tuple[str, ...]) -> dict[str, Any]:
    return parameters(value)


def _checked(check: Callable[[str], str]) -> Callable[..., Any]:
    def callback(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
        if value is not None and (fault := check(value)):
            raise click.BadParameter(fault)
        return value

    return callback

"""Fields of a frozen dataclass that are options too: how each is typed stands where it is declared.

Stdlib only: the command line reads these for --help, which must not wait for the models.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Sort = Literal["text", "count", "natural", "number", "switch", "choice", "folder", "file", "place", "pairs"]
"""count: from 1; natural: from 0; place: a folder that need not exist yet; pairs: KEY=VALUE"""

_KEY = "option"


@dataclass(frozen=True, slots=True)
class Option:
    """How one field is typed. `flag` is "" for the positional argument; `many`: it may be repeated."""

    flag: str
    words: str
    sort: Sort = "text"
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    many: bool = False
    show_default: bool = False
    check: Callable[[str], str] | None = None  # "" when the text is sound, else what is wrong with it


def option(
    default: Any,
    flag: str,
    words: str,
    sort: Sort = "text",
    *,
    metavar: str | None = None,
    choices: tuple[str, ...] = (),
    many: bool = False,
    show_default: bool = False,
    check: Callable[[str], str] | None = None,
) -> Any:
    """A dataclass field that is an option; `words` is its line in --help."""
    one = Option(flag, words, sort, metavar, choices, many, show_default, check)
    if sort == "pairs":
        return dataclasses.field(default_factory=dict, metadata={_KEY: one})
    return dataclasses.field(default=default, metadata={_KEY: one})


def options_of(model: type[Any] | object) -> Iterator[tuple[str, Option, Any]]:
    """Name, option and default of every field of a dataclass that is an option, in order."""
    for field in dataclasses.fields(model):  # type: ignore[arg-type]
        if _KEY in field.metadata:
            made = field.default_factory is not dataclasses.MISSING
            yield field.name, field.metadata[_KEY], {} if made else field.default


def typed(model: object) -> list[str]:
    """The flags of those fields of a value that differ from their defaults, positional ones left out."""
    return [
        one.flag for name, one, default in options_of(model) if one.flag and getattr(model, name) != default
    ]

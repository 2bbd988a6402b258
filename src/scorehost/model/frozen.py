"""The base of every value: frozen, closed to keys that it does not know; and what digests take of one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that cannot be changed and refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Later:
    """Marks a key that a format got after its first release: `tolerate: Annotated[bool, Later()] = False`.

    Where it says nothing else than its default, digests do not know it: files that were written before it was
    there keep the digests that jobs bound them by.
    """


def as_bound(value: BaseModel) -> dict[str, Any]:
    """A value as digests take it: all of it, without later keys at their defaults."""
    said = value.model_dump(mode="json")
    _prune(value, said)
    return said


def _prune(value: Any, said: Any) -> None:
    if isinstance(value, BaseModel):
        for name, info in type(value).model_fields.items():
            part = getattr(value, name)
            if any(isinstance(mark, Later) for mark in info.metadata) and part == info.get_default():
                del said[name]
            else:
                _prune(part, said[name])
    elif isinstance(value, dict):
        _prune_each((part, said[name]) for name, part in value.items())
    elif isinstance(value, (tuple, list)):
        _prune_each(zip(value, said, strict=True))


def _prune_each(pairs: Iterable[tuple[Any, Any]]) -> None:
    for part, said in pairs:
        _prune(part, said)

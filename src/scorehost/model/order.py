"""One attempt that is to be made, whatever kind of job it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from scorehost.model.ids import AttemptKey

W_co = TypeVar("W_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Order(Generic[W_co]):
    """One attempt to be made.

    `work` is what its kind of job makes it from; nobody else looks into it. `fingerprint`: a digest of
    everything that bears on its verdict. With its task and its submission, `tags` are the groups that it
    counts in. `number` counts the tries of this key from 1.
    """

    key: AttemptKey
    work: W_co
    fingerprint: str = ""
    tags: tuple[str, ...] = ()
    number: int = 1

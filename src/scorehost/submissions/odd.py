"""What an archive holds that cannot be laid out as a file or folder: where it stands, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ASIDE = "lies where nothing is declared, and was not unpacked"
ONLY = "only regular files and folders are taken"


@dataclass(slots=True)
class Odd:
    """One place in an archive: `why` it cannot be taken ("" when only what is below it cannot), and below."""

    why: str = ""
    below: dict[str, Odd] = field(default_factory=dict)

    def put(self, parts: Sequence[str], why: str) -> int:
        """Notes it; how many places that added. The first word on a place stands."""
        node, added = self, 0
        for part in parts:
            if part not in node.below:
                node.below[part] = Odd()
                added += 1
            node = node.below[part]
        node.why = node.why or why
        return added

    def at(self, *parts: str) -> Odd:
        """The place at `parts`; one where nothing is odd when there is none."""
        node = self
        for part in parts:
            found = node.below.get(part)
            if found is None:
                return Odd()
            node = found
        return node

    @property
    def refusal(self) -> str:
        """Why what is here cannot be taken; "" for what was only left out, and where nothing is odd."""
        return "" if self.why == ASIDE else self.why

    def first(self) -> str:
        """Why something at or below this place cannot be taken."""
        node = self
        while not node.why and node.below:
            node = node.below[min(node.below)]
        return node.why

    def names(self, most: int) -> Iterator[tuple[str, ...]]:
        """Paths of what is odd, at most so many."""
        waiting: list[tuple[tuple[str, ...], Odd]] = [((), self)]
        while waiting and most > 0:
            path, node = waiting.pop()
            if node.why:
                most -= 1
                yield path
            waiting += [((*path, name), node.below[name]) for name in sorted(node.below, reverse=True)]

"""The list of problems that reading gathers, so that all of them are told at once."""

from __future__ import annotations

from dataclasses import dataclass

from scorehost.errors import Problem, SpecError

MAX_PER_FILE = 25


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a file; line and column count from 1, and are 0 for the file as a whole."""

    file: str
    line: int = 0
    column: int = 0


class Problems:
    """Gathers problems; one per place and text, at most `MAX_PER_FILE` of a file."""

    def __init__(self) -> None:
        self._found: dict[tuple[Place, str], Problem] = {}
        self._per_file: dict[str, int] = {}

    def add(self, place: Place, key: str, text: str, hint: str = "") -> None:
        """Notes one problem. A second one with the same place and text is the same problem."""
        mark = (place, text)
        if mark in self._found:
            return
        count = self._per_file.get(place.file, 0)
        self._per_file[place.file] = count + 1
        if count == MAX_PER_FILE:
            text, hint, key = f"more than {MAX_PER_FILE} problems", "Mend the ones above first", ""
        if count <= MAX_PER_FILE:
            self._found[mark] = Problem(place.file, place.line, place.column, key, text, hint)

    def __len__(self) -> int:
        return len(self._found)

    def raise_any(self) -> None:
        """Raises `SpecError` with everything that was noted; does nothing when that is nothing."""
        if self._found:
            raise SpecError(list(self._found.values()))

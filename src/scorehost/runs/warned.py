"""The warnings of a job, folded while it runs: each text once, with how many attempts say it."""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scorehost.model.summary import Warned, WarningsTold

if TYPE_CHECKING:
    from scorehost.model.result import Result

WARNING = "warning"  # the kind of the event of one
TEXT = 500  # characters of a text; an attempt's own is whole in its result.json
HELD = 1_000  # different texts that a job keeps in memory; more are counted
LISTED = 200  # different texts in summary.json and reports
NAMED = 3  # attempts that each names


@dataclass(slots=True)
class _Said:
    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, key: str) -> None:
        self.count += 1
        if len(self.first) < NAMED or key < self.first[-1]:
            bisect.insort(self.first, key)
            del self.first[NAMED:]


@dataclass(slots=True)
class WarningTally:
    """Every warning of a job and of those of its attempts that stand."""

    own: dict[str, None] = field(default_factory=dict)  # the job's, in the order in which they were said
    said: dict[str, _Said] = field(default_factory=dict)  # of attempts
    beyond: int = 0  # warnings of texts that are not held

    def note(self, kind: str, key: str | None, fields: Mapping[str, Any]) -> None:
        """Takes an event of the journal; those that are no warning are left alone."""
        if kind == WARNING and key is None:
            self.of_job(str(fields.get("text")))
        elif kind == WARNING and key is not None:
            self.of_attempt(key, (str(fields.get("text")),))

    def of_job(self, text: str) -> None:
        """Takes a warning that is no attempt's. One that each sitting says again is one."""
        if len(self.own) < HELD or text in self.own:
            self.own.setdefault(cut(text))
        else:
            self.beyond += 1

    def of_attempt(self, key: str, texts: Iterable[str]) -> None:
        """Takes what one attempt says; the same text twice is said once."""
        for text in dict.fromkeys(map(cut, texts)):
            said = self.said.get(text)
            if said is None and len(self.said) < HELD:
                said = self.said[text] = _Said()
            if said is None:
                self.beyond += 1
            else:
                said.add(key)

    def take_back(self, key: str, texts: Iterable[str]) -> None:
        """The attempt does not stand: it is made again."""
        for text in dict.fromkeys(map(cut, texts)):
            said = self.said.get(text)
            if said is None:
                self.beyond = max(self.beyond - 1, 0)
                continue
            said.count -= 1
            if key in said.first:
                said.first.remove(key)
            if not said.count:
                del self.said[text]

    def told(self) -> WarningsTold:
        """The job's own first, then those of most attempts."""
        ordered = sorted(self.said.items(), key=lambda item: (-item[1].count, item[0]))
        rows = [Warned(text=text, count=1) for text in self.own]
        rows += [Warned(text=text, count=one.count, attempts=tuple(one.first)) for text, one in ordered]
        left_out = self.beyond + sum(row.count for row in rows[LISTED:])
        return WarningsTold(warnings=tuple(rows[:LISTED]), warnings_left_out=left_out)


def said_in(result: Result) -> tuple[str, ...]:
    """What an attempt has to say: its warnings, and that it was made again."""
    return (*result.warnings, *made_again(result))


def made_again(result: Result) -> tuple[str, ...]:
    """That it is not the first try."""
    if result.try_number == 1:
        return ()
    return (f"made again: this is try {result.try_number}, earlier ones are in tries/",)


def cut(text: str) -> str:
    """A warning as lists have it: what is cut off is counted."""
    return text if len(text) <= TEXT else f"{text[:TEXT]}… ({len(text) - TEXT} more characters)"

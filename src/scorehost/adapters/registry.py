"""Request ids that were seen: one id twice in a job means that a reply was played again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol


class RequestIds(Protocol):
    """Where ids are claimed, whoever made them."""

    def claim(self, request_id: str) -> bool:
        """True the first time in the job that the id comes, False each time after."""


class SeenIds:
    """Ids of one job in memory; `known` are those of attempts that were finished before it went on."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._seen = set(known)

    def claim(self, request_id: str) -> bool:
        """As `RequestIds.claim`."""
        if request_id in self._seen:
            return False
        self._seen.add(request_id)
        return True

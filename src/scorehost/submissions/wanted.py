"""Which entries of an archive anybody will look at: all others are not unpacked, and count into no limit.

A folder may hold a thousand times what is declared (`node_modules`, `.venv`) and only what is declared is
looked at; an archive of that folder is read by the same rule. More may be wanted than is taken, never less.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from scorehost.submissions.spellings import excluded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scorehost.spec.task import Artifact

CARD = "submission.yaml"
SAMPLES = "samples"
_CARD_BYTES = 1024 * 1024  # a card's own limit is below this, and tells more
_WRAPPINGS = 4  # that may stand before a declared path: the archive's own folder, <task_id>, samples, <n>
_FOREIGN = "\x80"  # any name that is not ASCII: how it is spelled is decided later


class Wanted:
    """The entries at the declared paths of some tasks, where these paths may begin or be cut short, and what
    stands on the way to them (a link there is a refusal). `largest`: more bytes than these nobody takes.
    """

    def __init__(self, artifacts: Iterable[Artifact], task_ids: Iterable[str] = ()) -> None:
        self.names: set[str] = set()
        self.largest = _CARD_BYTES
        self._folders = frozenset(task_ids) | {SAMPLES}
        self._ways: set[tuple[str, ...]] = set()
        self._by_first: dict[str, dict[tuple[str, ...], list[Artifact]]] = defaultdict(dict)
        for artifact in artifacts:
            self.largest = max(self.largest, artifact.max_bytes)
            for path in (artifact.path, artifact.place):
                steps = path.split("/")
                self.names |= set(steps)
                keys = tuple(map(_key, steps))
                for start in range(len(keys)):
                    rest = keys[start:]
                    self._by_first[rest[0]].setdefault(rest, []).append(artifact)
                    self._ways.update(rest[:end] for end in range(1, len(rest)))

    def __call__(self, parts: Sequence[str]) -> bool:
        """Whether the entry at `parts` must be unpacked."""
        if parts[-1] == CARD and len(parts) <= 2:  # noqa: PLR2004 - at the top, or in the only folder there
            return True
        if len(parts) <= _WRAPPINGS and (parts[-1] in self._folders or SAMPLES in parts[-2:-1]):
            return True
        keys = tuple(map(_key, parts))
        for start in range(min(len(keys), _WRAPPINGS + 1)):
            if keys[start:] in self._ways:
                return True
            for suffix, artifacts in self._by_first.get(keys[start], {}).items():
                end = start + len(suffix)
                if keys[start:end] == suffix and not all(_left_out(one, parts[end:]) for one in artifacts):
                    return True
        return False


def _left_out(artifact: Artifact, steps: Sequence[str]) -> bool:
    path = ""
    for name in steps if artifact.exclude else ():
        path = f"{path}/{name}" if path else name
        if excluded(path, name, artifact.exclude):
            return True
    return False


def _key(name: str) -> str:
    return name if name.isascii() else _FOREIGN

"""Whether a verdict still rests on what the dataset, its profiles and the engine have now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scorehost.attempt.digests import TaskTrees, Tools
from scorehost.errors import AttemptFailed
from scorehost.model.standing import PARTS, Standing, standing
from scorehost.spec.commands import resolve_command
from scorehost.spec.digests import role_digest

if TYPE_CHECKING:
    from scorehost.runs.reading import Attempt
    from scorehost.spec.dataset import Dataset, Task
    from scorehost.spec.gold_key import GoldKey

TaskImages = Mapping[str, str]
"""host name -> id of the image that it would get now, as `attempt.images_now` gives it"""


class Now:
    """The scoring inputs of one task as they are now; reads and hashes its files once."""

    def __init__(
        self, task: Task, tools: Tools, key: GoldKey, images: TaskImages, roles: Mapping[str, str | None]
    ) -> None:
        self._task, self._images, self._roles = task, images, roles
        self._trees: TaskTrees | None
        try:
            self._trees = TaskTrees.read(task, key, tools)
        except AttemptFailed:  # a file that cannot be read: the new attempt will say so
            self._trees = None

    def changed(self, attempt: Attempt) -> tuple[str, ...]:
        """What is not as it was when the attempt was scored, or cannot be told; empty when all is."""
        was, trees = attempt.result.digests.scoring, self._trees
        if was is None or trees is None:
            return ("unknown",)
        now = trees.as_first(self._task) if was.first else trees.bound
        stands = {part: standing([was], [now], part) for part in PARTS}
        parts: list[str] = [part for part, found in stands.items() if found is Standing.DIFFERS]
        if Standing.OTHER_KEY in stands.values():
            parts.append("key")
        if any(self._images.get(host, image) != image for host, image in was.images.items()):
            parts.append("images")
        if any(self._roles.get(role) != digest for role, digest in was.roles.items()):
            parts.append("roles")
        return tuple(parts)


def roles_now(dataset: Dataset) -> dict[str, str | None]:
    """What answers for each bound role now, by digest; None where an adapter's program cannot be read."""
    found: dict[str, str | None] = {}
    for name, role in dataset.profiles.agent_profiles.items():
        try:
            command = (
                resolve_command(role.command, dataset.profiles_path.parent)
                if role.executor == "command"
                else None
            )
        except (ValueError, OSError):
            found[name] = None
        else:
            found[name] = role_digest(role, command)
    return found

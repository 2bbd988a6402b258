"""Whether a verdict still rests on what the dataset and the engine have now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from scorehost.attempt.digests import TaskTrees, Tools, scoring_digests
from scorehost.errors import AttemptFailed

if TYPE_CHECKING:
    from scorehost.model.result import ScoringDigests
    from scorehost.runs.reading import Attempt
    from scorehost.spec.dataset import Task

PARTS = ("task", "evaluator", "gold", "limits", "sdk")

TaskImages = Mapping[str, str]
"""host name -> id of the image that it would get now, as `attempt.images_now` gives it"""


class Now:
    """The scoring inputs of one task as they are now; reads and hashes its files once."""

    def __init__(self, task: Task, tools: Tools, images: TaskImages) -> None:
        self._images = images
        self._digests: ScoringDigests | None
        try:
            self._digests = scoring_digests(TaskTrees.read(task), tools, {})
        except AttemptFailed:  # a file that cannot be read: the new attempt will say so
            self._digests = None

    def changed(self, attempt: Attempt) -> tuple[str, ...]:
        """What is not as it was when the attempt was scored; empty when all is."""
        was, now = attempt.result.digests.scoring, self._digests
        if was is None or now is None:
            return ("unknown",)
        parts = [part for part in PARTS if getattr(was, part) != getattr(now, part)]
        if any(self._images.get(host, image) != image for host, image in was.images.items()):
            parts.append("images")
        return tuple(parts)

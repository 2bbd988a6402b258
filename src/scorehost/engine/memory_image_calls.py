"""The calls of the in-memory engine that are about images."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from scorehost.errors import Conflict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from scorehost.engine.door import Image, Listed
    from scorehost.engine.memory_images import MemoryImages

STOPPED = 409


class MemoryImageCalls(ABC):
    """What an engine does with `images`."""

    images: MemoryImages

    @abstractmethod
    def _call(self, method: str) -> AbstractAsyncContextManager[None]:
        """One call, counted and perhaps made to fail."""

    @abstractmethod
    def _uses(self, identity: str) -> bool:
        """Whether a container is made of an image."""

    async def image(self, reference: str) -> Image:
        """An image that is present; NotFound."""
        async with self._call("image"):
            return self.images.find(reference)

    async def pull(self, reference: str) -> None:
        """Brings an image that was added with `pullable`; EngineRefused for others."""
        async with self._call("pull"):
            self.images.pull(reference)

    async def build(
        self,
        context: Path,
        *,
        dockerfile: str,
        tag: str,
        labels: Mapping[str, str],
        log: Path,
        timeout: float,  # noqa: ARG002, ASYNC109 - the door's; a build in memory takes no time
    ) -> None:
        """Builds from the few recipe lines that `MemoryImages.build` reads."""
        async with self._call("build"):
            self.images.build(context, dockerfile, tag, labels, log)

    async def list_images(self, labels: Mapping[str, str | None]) -> list[Listed]:
        """Images that carry all labels, by the references that they were added under."""
        async with self._call("list_images"):
            return self.images.listed(labels)

    async def remove_image(self, name: str) -> None:
        """Forgets a reference; Conflict while a container is made of its image."""
        async with self._call("remove_image"):
            image = self.images.present.get(name)
            if image is not None and self._uses(image.id):
                raise Conflict(f"unable to remove {name}: a container uses it", status=STOPPED)
            self.images.present.pop(name, None)

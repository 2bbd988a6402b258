"""scorehost.lock: what a dataset was scored with, pinned."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scorehost.model.frozen import Frozen


class ImagePin(Frozen):
    """An image as the engine had it: its id, and the digests that registries know it by."""

    id: str
    digests: tuple[str, ...] = ()


class TaskPin(Frozen):
    """Digests of a task's files, and of its recipes by the host that they are for."""

    spec: str
    code: str
    gold: str
    run: str = ""
    recipes: dict[str, str] = Field(default_factory=dict)


class Lock(Frozen):
    """The content of scorehost.lock; `images` by the reference that task, profile or recipe writes."""

    format: Literal["scorehost.lock/2"] = "scorehost.lock/2"
    dataset_id: str
    version: str
    gold_key: str | None = Field(description="which gold.key binds gold; null in a lock of format /1")
    images: dict[str, ImagePin]
    tasks: dict[str, TaskPin]

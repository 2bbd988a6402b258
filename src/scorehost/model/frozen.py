"""The base of every value: frozen, and closed to keys that it does not know."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """A value that cannot be changed and refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

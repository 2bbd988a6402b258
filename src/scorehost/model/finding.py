"""One thing found about an engine or about what a dataset needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Finding:
    """`problem` stands in the way of scoring, `warning` may; `hint` says what to do and may be empty."""

    level: Literal["ok", "warning", "problem"]
    text: str
    hint: str = ""

"""The way to the controller of the process that evaluates, for modules whose functions are handed nothing."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from scorehost_sdk.scoring import Link

phase = ""  # run or evaluate
link: Optional[Link] = None

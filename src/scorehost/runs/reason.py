"""Why an attempt ended as it did, in one line that holds nothing private unless asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorehost.model.check import MAX_BYTES

if TYPE_CHECKING:
    from scorehost.runs.scored import Scored

CHECKS = Path("evaluation") / "checks.json"
LONGEST = 200
_ROOM = 2  # checks.json is printed with indentation and each row's defaults


def reason(attempt: Scored, folder: Path, *, private: bool = False) -> str:
    """One line without control characters, at most 200 of them; "" for PASS.

    For FAIL the id of its first FAIL check, with that row's text when it is public (or `private` is set); for
    ERROR its kind and message. `folder` is the attempt's.
    """
    if attempt.status == "PASS":
        return ""
    if attempt.error is not None:
        return one_line(f"{attempt.error.kind}: {attempt.error.message}")
    row = _first_fail(folder / CHECKS)
    if row is None:
        return "no check says why"
    text = ""
    if private or row.get("visibility") == "public":
        text = str(row.get("message") or row.get("title") or "")
    name = str(row.get("id", ""))
    return one_line(f"{name}: {text}" if text else name)


def one_line(text: str) -> str:
    """`text` with every run of white space as one blank, control characters escaped, at most 200 long."""
    joined = " ".join(text.split())
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in joined)
    return shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"


def _first_fail(path: Path) -> dict[str, Any] | None:
    try:
        if path.stat().st_size > MAX_BYTES * _ROOM:
            return None
        rows = json.loads(path.read_bytes()).get("checks", [])
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    fails = (row for row in rows if isinstance(row, dict) and row.get("status") == "FAIL")
    return next(fails, None)

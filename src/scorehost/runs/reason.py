"""Why an attempt ended as it did, in one line that holds nothing private unless asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.files.visible import visible
from scorehost.runs.private import shown_text
from scorehost.runs.reader import BadFile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scorehost.model.check import CheckRow
    from scorehost.runs.scored import Scored

LONGEST = 200


def reason(attempt: Scored, checks: Callable[[], Sequence[CheckRow]], *, private: bool = False) -> str:
    """One line without control characters, at most 200 of them; "" for PASS and SCORED.

    For FAIL the id of its first FAIL check, with that row's text when it is public (or `private` is set); for
    ERROR its kind and message. `checks` reads the attempt's own; where they cannot be read that is said.
    """
    if attempt.status in ("PASS", "SCORED"):
        return ""
    if attempt.error is not None:
        return one_line(f"{attempt.error.kind}: {attempt.error.message}")
    try:
        row = next((row for row in checks() if row.status == "FAIL"), None)
    except BadFile as error:
        return "no check says why" if error.missing else one_line(str(error))
    if row is None:
        return "no check says why"
    text = shown_text(row, private=private)
    return one_line(f"{row.id}: {text}" if text else row.id)


def one_line(text: str, most: int = LONGEST) -> str:
    """`text` with every run of white space as one blank, control characters escaped, at most `most` long."""
    shown = visible(" ".join(text.split()))
    return shown if len(shown) <= most else shown[: most - 1] + "…"

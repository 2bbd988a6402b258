"""Names as they stand in the path of a request."""

from __future__ import annotations

from urllib.parse import quote


def quoted(name: str, *, safe: str = "") -> str:
    """`name` percent-encoded, so that no name can change which request is made."""
    return quote(name, safe=safe)

"""Names as they stand in the path of a request."""

from __future__ import annotations

from urllib.parse import quote

from scorehost.errors import EngineRefused

BAD_REQUEST = 400


def quoted(name: str) -> str:
    """`name` percent-encoded, so that no name can change which request is made."""
    return quote(name, safe="")


def quoted_reference(reference: str) -> str:
    """An image's reference as the path has it; EngineRefused (400) for one with empty, `.` or `..` parts."""
    if any(part in {"", ".", ".."} for part in reference.split("/")):
        raise EngineRefused(
            f"{reference[:200]!r} is no reference of an image.",
            status=BAD_REQUEST,
            hint="Write it as `docker pull` takes it, such as python:3.12-slim.",
        )
    return quote(reference, safe="/:@")

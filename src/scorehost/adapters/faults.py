"""A call that has no reply, raised inside this package; callers see its fault as a value of `Call`."""

from __future__ import annotations

from scorehost.errors import CallFailed
from scorehost.model.call import Fault


def failed(kind: str, message: str) -> CallFailed:
    """The exception for a fault of that kind; `message` holds nothing of what the other side said."""
    return CallFailed(Fault.of(kind, message))

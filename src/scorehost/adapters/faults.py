"""The one exception of this package's inside: a call has no reply; callers see it as a value of `Call`."""

from __future__ import annotations

from scorehost.model.call import Fault

INVALIDATING = ("adapter_duplicate_id", "adapter_cache_hit")


class AdapterFault(Exception):
    """A try failed for an infrastructure reason. `kind` is one of `scorehost.model.failure`; `message` holds
    nothing of what the adapter said.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message

    @property
    def fault(self) -> Fault:
        """It as a value."""
        return Fault(kind=self.kind, message=self.message, invalidates=self.kind in INVALIDATING)

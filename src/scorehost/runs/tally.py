"""The calls of agents of a job, as its journal tells them: sums by role, ids, and what makes it invalid."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from scorehost.model.call import RoleUsage

if TYPE_CHECKING:
    from collections.abc import Mapping

CALL = "agent_call"  # the kind of the event of a call that ended
READY = "agents_ready"  # of the roles that are bound


@dataclass(slots=True)
class CallTally:
    """Every call that was made, also in attempts that were broken off or made again: it was paid for."""

    usage: dict[str, RoleUsage] = field(default_factory=dict)
    request_ids: set[str] = field(default_factory=set)
    calls_of: Counter[str] = field(default_factory=Counter)
    tokens_of: Counter[str] = field(default_factory=Counter)  # by submission, as folders call them
    invalid: list[str] = field(default_factory=list)
    isolation: str | None = None

    @property
    def calls(self) -> int:
        """How many were made."""
        return sum(one.calls for one in self.usage.values())

    @property
    def tokens(self) -> int:
        """Tokens in and out of all of them, as far as they were told."""
        return sum(one.input_tokens + one.output_tokens for one in self.usage.values())

    def note(self, kind: str, key: str, fields: Mapping[str, Any]) -> None:
        """Takes an event of the journal; those that are no call's are left alone."""
        if kind == READY:
            self.isolation = str(fields.get("adapter_isolation"))
        if kind != CALL:
            return
        role = str(fields.get("role"))
        try:
            used = RoleUsage.model_validate(fields.get("usage"))
        except ValidationError:  # a damaged journal is told elsewhere
            used = RoleUsage(calls=1)
        before = self.usage.get(role, RoleUsage())
        added = {name: value + getattr(before, name) for name, value in used}
        self.usage[role] = RoleUsage(**added)
        submission = key.split("/")[1] if key.count("/") == 2 else ""  # noqa: PLR2004 - task, submission, number
        self.calls_of[submission] += used.calls
        self.tokens_of[submission] += used.input_tokens + used.output_tokens
        self.request_ids.update(map(str, fields.get("request_ids") or ()))
        if fields.get("invalidates"):
            self.invalid.append(f"{key}: role {role}, {fields.get('ended')}")

"""What an adapter is asked, by mode: frozen requests and the one JSON object that each becomes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from scorehost.model.call import Mode
from scorehost.model.frozen import Frozen

ARCHIVE = "plugin.archive"  # its name in the call's folder: it tells nothing of where it came from
EXEC_TOOL = {"name": "exec"}


class SessionRequest(Frozen):
    """One turn of a session. `messages` are the turns before it, `{role: user | assistant, content}`."""

    mode: ClassVar[Mode] = "session"
    role: str
    session_id: str
    turn: int = Field(ge=1)
    prompt: str
    messages: tuple[dict[str, Any], ...] = ()

    def wire(self, *, tied: bool, archive: Path | None) -> dict[str, Any]:  # noqa: ARG002 - one shape for all
        """The object for the adapter; `tied`: it may ask for execs."""
        tools = [EXEC_TOOL] if tied else []
        return {"mode": self.mode, **self.model_dump(mode="json"), "tools": tools}


class BehaviorRequest(Frozen):
    """One prompt with a plugin (treatment; `plugin_archive` is its content) or without one (control)."""

    mode: ClassVar[Mode] = "behavior"
    condition: Literal["control", "treatment"]
    prompt: str
    plugin_archive: bytes | None = None

    @model_validator(mode="after")
    def _has_what_its_condition_needs(self) -> BehaviorRequest:
        if (self.condition == "treatment") != (self.plugin_archive is not None):
            raise ValueError("treatment needs a plugin_archive, and control must have none")
        return self

    @property
    def archive_sha256(self) -> str | None:
        """Of the archive, in hex; None in control."""
        return None if self.plugin_archive is None else hashlib.sha256(self.plugin_archive).hexdigest()

    def wire(self, *, tied: bool, archive: Path | None) -> dict[str, Any]:  # noqa: ARG002 - one shape for all
        """The object for the adapter; `archive`: where the plugin lies for this call."""
        place = None if archive is None else str(archive)
        return {
            "condition": self.condition,
            "mode": self.mode,
            "prompt": self.prompt,
            "plugin_archive": place,
        }


class TriggerRequest(BehaviorRequest):
    """Which skill of a plugin a prompt makes the agent choose."""

    mode: ClassVar[Mode] = "trigger"
    condition: Literal["treatment"] = "treatment"


class Assertion(Frozen):
    """What a judge decides about an output."""

    id: str = Field(min_length=1)
    description: str = Field(min_length=1)
    oracle: Literal["llm_judge"] = "llm_judge"
    severity: str = "error"


class JudgeRequest(Frozen):
    """One assertion about one output."""

    mode: ClassVar[Mode] = "judge"
    case_id: str = Field(min_length=1)
    prompt: str
    output: str
    assertion: Assertion

    def wire(self, *, tied: bool, archive: Path | None) -> dict[str, Any]:  # noqa: ARG002 - one shape for all
        """The object for the adapter."""
        return self.model_dump(mode="json")


AdapterRequest = SessionRequest | BehaviorRequest | TriggerRequest | JudgeRequest

"""How a run.py says that it ended; neither of the two is a verdict."""

from __future__ import annotations


class RunTerminal:
    """What `run(ctx)` returns: `status` is completed or failed, `text` what it said of that."""

    def __init__(self, status: str, text: str = "") -> None:
        self.status, self.text = status, str(text)

    @classmethod
    def completed(cls, text: str = "") -> RunTerminal:
        """It did what it had to do; what it published is scored."""
        return cls("completed", text)

    @classmethod
    def failed(cls, code: str = "") -> RunTerminal:
        """It could not; what it published is scored all the same, and the result has a warning."""
        return cls("failed", code)

    def __repr__(self) -> str:
        return f"RunTerminal.{self.status}({self.text!r})"

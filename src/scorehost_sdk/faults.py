"""What scoring and agents raise in an evaluator."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Tuple

# What an AdapterFault or a LimitReached can have as its `kind`: a kind of ERROR, when nobody catches it.
AGENT_KINDS = (
    "adapter_timeout",
    "adapter_exit",
    "adapter_malformed",
    "adapter_provenance",
    "adapter_duplicate_id",
    "adapter_cache_hit",
    "adapter_overflow",
    "adapter_missing",
    "adapter_truncated",
    "adapter_refused",
    "budget_spent",
    "share_spent",
)


class ScoringError(Exception):
    """A scoring host could not do what was asked, for a reason that is not the submission's."""


class ArgumentError(ScoringError):
    """An argument of an untrusted call is not plain data: a mistake of the evaluator's own."""


class UnknownEnvironment(ScoringError):
    """The task declares no scoring environment of that name, or a name is missing where one is needed."""


class UnknownRole(ScoringError):
    """The task does not list that role, or the job does not let it play in this phase."""


class HostLost(ScoringError):
    """The host ended: it can be given no more, or what was left in it before is gone; nothing was run."""


class LimitReached(ScoringError):
    """More was asked for than one attempt may have, or (`kind` is then "budget_spent" or "share_spent") the
    whole job, or the submission that is scored.
    """

    kind = ""


class AdapterFault(Exception):
    """A call of an agent failed for a reason that is nobody's who is scored; `kind` says which.

    Uncaught it makes an ERROR of that kind and blame adapter; caught, the result carries a warning.
    """

    def __init__(self, message: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class ReplyError(ValueError):
    """An agent's reply is not what the evaluator reads it as, such as one JSON object.

    `kind` is "adapter_malformed" when it is not one JSON object at all: uncaught, that is an ERROR of blame
    adapter, as a judge's reply of that sort does. Else it is empty.
    """

    def __init__(self, message: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class SubmissionFault(Exception):
    """Submitted code broke its call: time, size, form, or its end.

    Uncaught it makes an ERROR of blame submission.
    """


class SubmissionError(SubmissionFault):
    """Submitted code raised an exception that is not built in: no breach, and the code can be called on.

    `type_name` is its name, `lineage` the names of it and its base classes, `text` what it says; all three
    are the submission's claims. Uncaught it makes an ERROR of blame submission.
    """

    def __init__(self, type_name: str, text: str = "", lineage: Tuple[str, ...] = ()) -> None:
        super().__init__(f"it raised {type_name}" + (f": {text}" if text else ""))
        self.type_name, self.text, self.lineage = type_name, text, lineage

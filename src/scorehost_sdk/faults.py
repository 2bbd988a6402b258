"""What scoring raises in an evaluator."""


class ScoringError(Exception):
    """A scoring host could not do what was asked, for a reason that is not the submission's."""


class UnknownEnvironment(ScoringError):
    """The task declares no scoring environment of that name, or a name is missing where one is needed."""


class HostLost(ScoringError):
    """The host ended and can be given no more; nothing was run."""


class LimitReached(ScoringError):
    """More was asked for than one attempt may have."""


class SubmissionFault(Exception):
    """Submitted code broke its call: time, size, form, or its end.

    Uncaught it makes an ERROR of blame submission.
    """

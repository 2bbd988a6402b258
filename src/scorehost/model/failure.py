"""Why an attempt is ERROR: phase, kind, blame; a closed set, with what the user does about each."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from scorehost.model.frozen import Frozen


class Phase(StrEnum):
    """The part of an attempt in which something failed."""

    PREPARE = "prepare"
    START = "start"
    UPLOAD = "upload"
    EVALUATE = "evaluate"
    COLLECT = "collect"
    CLEANUP = "cleanup"


class Blame(StrEnum):
    """Whose fault a failure is."""

    DATASET = "dataset"
    SUBMISSION = "submission"
    ENVIRONMENT = "environment"
    ENGINE = "engine"
    ADAPTER = "adapter"
    SCOREHOST = "scorehost"


class KindFacts(NamedTuple):
    """What holds for every failure of one kind."""

    blame: Blame
    hint: str


KINDS: dict[str, KindFacts] = {
    "invalid_submission": KindFacts(
        Blame.SUBMISSION, "Hand in regular files and folders at the declared paths only."
    ),
    "submission_fault": KindFacts(
        Blame.SUBMISSION, "The submitted code broke its call; an evaluator may catch SubmissionFault."
    ),
    "evaluator_exception": KindFacts(
        Blame.DATASET, "Read logs/evaluator.log of the attempt; the traceback is there."
    ),
    "evaluator_exit": KindFacts(
        Blame.DATASET, "evaluate() must return a result; it ended the process instead."
    ),
    "evaluator_timeout": KindFacts(
        Blame.DATASET, "Raise limits.evaluate_seconds, or find what hangs in logs/evaluator.log."
    ),
    "evaluator_oom": KindFacts(Blame.DATASET, "Raise limits.memory_mb, or use less memory."),
    "scratch_full": KindFacts(
        Blame.DATASET, "Raise evaluation.tmpfs_mb; scratch space is memory and counts into memory_mb."
    ),
    "invalid_result": KindFacts(
        Blame.DATASET, "Return {'status': 'PASS' or 'FAIL', 'score': a number in score_range, …}."
    ),
    "result_too_large": KindFacts(
        Blame.DATASET, "Metrics hold 1 MiB and 16 levels; put long material into the log."
    ),
    "channel_violation": KindFacts(
        Blame.DATASET, "Something in the evaluator's host spoke for the runner. Nothing of it counts."
    ),
    "output_limit": KindFacts(Blame.DATASET, "Print less, or raise limits.output_total_bytes."),
    "changed_input": KindFacts(
        Blame.DATASET, "Gold or evaluator changed while the job ran. Run it again with quiet files."
    ),
    "unknown_environment": KindFacts(
        Blame.DATASET, "Name a scoring environment that evaluation.environments declares."
    ),
    "image_pull_failed": KindFacts(
        Blame.ENVIRONMENT, "Pull the image by hand to see why, or build it on this machine."
    ),
    "image_missing": KindFacts(Blame.ENVIRONMENT, "Run `make images` once."),
    "image_build_failed": KindFacts(
        Blame.ENVIRONMENT, "Read the build log; its last lines are in the message."
    ),
    "image_unusable": KindFacts(
        Blame.ENVIRONMENT, "An evaluator's image needs python3 (3.8 or later), a named one `sleep`."
    ),
    "start_failed": KindFacts(Blame.ENVIRONMENT, "Run `scorehost doctor`; the engine's own words are above."),
    "start_timeout": KindFacts(Blame.ENVIRONMENT, "Raise limits.start_seconds, or lower --concurrency."),
    "host_lost": KindFacts(
        Blame.ENVIRONMENT, "Something outside ended the container. Look at the engine's own log."
    ),
    "upload_damaged": KindFacts(
        Blame.ENGINE, "The engine's disk or the way to it damages data. Run `scorehost doctor`."
    ),
    "engine_lost": KindFacts(Blame.ENGINE, "See that the engine runs, then --resume the job."),
    "adapter_missing": KindFacts(Blame.ADAPTER, "Bind the role in profiles.yaml."),
    "internal": KindFacts(
        Blame.SCOREHOST, "This is a defect of scorehost. Report it with the attempt's logs."
    ),
}
RETRYABLE = frozenset(
    {
        "image_pull_failed",
        "start_failed",
        "start_timeout",
        "host_lost",
        "upload_damaged",
        "engine_lost",
    }
)
"""Kinds that are proven to be nobody's doing who hands in or writes tasks: these may be tried again."""


class Failure(Frozen):
    """`error` of result.json. `message` never holds an exception's text, a source line, or gold."""

    phase: Phase
    kind: str
    blame: Blame
    message: str
    hint: str
    retryable: bool


def failure(
    phase: Phase, kind: str, message: str, *, hint: str = "", retryable: bool | None = None
) -> Failure:
    """A `Failure` of a declared kind; KeyError for a kind that `KINDS` does not hold.

    `retryable` can only take the kind's own permission away (after submitted code ran, say).
    """
    facts = KINDS[kind]
    return Failure(
        phase=phase,
        kind=kind,
        blame=facts.blame,
        message=message,
        hint=hint or facts.hint,
        retryable=kind in RETRYABLE and retryable is not False,
    )

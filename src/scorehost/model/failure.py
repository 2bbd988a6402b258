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
    retryable: bool
    hint: str


KINDS: dict[str, KindFacts] = {
    "invalid_submission": KindFacts(
        Blame.SUBMISSION, False, "Hand in regular files and folders at the declared paths only."
    ),
    "submission_fault": KindFacts(
        Blame.SUBMISSION, False, "The submitted code broke its call; an evaluator may catch SubmissionFault."
    ),
    "evaluator_exception": KindFacts(
        Blame.DATASET, False, "Read logs/evaluator.log of the attempt; the traceback is there."
    ),
    "evaluator_exit": KindFacts(
        Blame.DATASET, False, "evaluate() must return a result; it ended the process instead."
    ),
    "evaluator_timeout": KindFacts(
        Blame.DATASET, False, "Raise limits.evaluate_seconds, or find what hangs in logs/evaluator.log."
    ),
    "evaluator_oom": KindFacts(Blame.DATASET, False, "Raise limits.memory_mb, or use less memory."),
    "scratch_full": KindFacts(
        Blame.DATASET, False, "Raise evaluation.tmpfs_mb; scratch space is memory and counts into memory_mb."
    ),
    "invalid_result": KindFacts(
        Blame.DATASET, False, "Return {'status': 'PASS' or 'FAIL', 'score': a number in score_range, …}."
    ),
    "result_too_large": KindFacts(
        Blame.DATASET, False, "Metrics hold 1 MiB and 16 levels; put long material into the log."
    ),
    "channel_violation": KindFacts(
        Blame.DATASET, False, "Something in the evaluator's host spoke on the runner's channel. Nothing of it counts."
    ),
    "output_limit": KindFacts(Blame.DATASET, False, "Print less, or raise limits.output_total_bytes."),
    "changed_input": KindFacts(
        Blame.DATASET, False, "Gold or evaluator changed while the job ran. Run the job again with quiet files."
    ),
    "unknown_environment": KindFacts(
        Blame.DATASET, False, "Name a scoring environment that evaluation.environments declares."
    ),
    "image_pull_failed": KindFacts(
        Blame.ENVIRONMENT, True, "Pull the image by hand to see why, or build it on this machine."
    ),
    "image_missing": KindFacts(Blame.ENVIRONMENT, False, "Run `make images` once."),
    "image_build_failed": KindFacts(Blame.ENVIRONMENT, False, "Read the build log; its last lines are in the message."),
    "image_unusable": KindFacts(
        Blame.ENVIRONMENT, False, "An evaluator's image needs python3 (3.8 or later), a named one `sleep`."
    ),
    "start_failed": KindFacts(Blame.ENVIRONMENT, True, "Run `scorehost doctor`; the engine's own words are above."),
    "start_timeout": KindFacts(Blame.ENVIRONMENT, True, "Raise limits.start_seconds, or lower --concurrency."),
    "host_lost": KindFacts(
        Blame.ENVIRONMENT, True, "Something outside ended the container. Look at the engine's own log."
    ),
    "upload_damaged": KindFacts(
        Blame.ENGINE, True, "The engine's disk or the way to it damages data. Run `scorehost doctor`."
    ),
    "engine_lost": KindFacts(Blame.ENGINE, True, "The engine stopped answering. See that it runs, then --resume the job."),
    "adapter_missing": KindFacts(Blame.ADAPTER, False, "Bind the role in profiles.yaml."),
    "internal": KindFacts(
        Blame.SCOREHOST, False, "This is a defect of scorehost. Report it with the attempt's logs."
    ),
}


class Failure(Frozen):
    """`error` of result.json. `message` never holds an exception's text, a source line, or anything of gold."""

    phase: Phase
    kind: str
    blame: Blame
    message: str
    hint: str
    retryable: bool


def failure(phase: Phase, kind: str, message: str, *, hint: str = "", retryable: bool | None = None) -> Failure:
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
        retryable=facts.retryable and retryable is not False,
    )

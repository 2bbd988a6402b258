"""Why an attempt is ERROR: a closed set of kinds, each with phases, blame, and what to do about it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, Field

from scorehost.model.frozen import Frozen


class Phase(StrEnum):
    """The part of an attempt in which something failed."""

    PREPARE = "prepare"
    RUN = "run"
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
    """What holds for every failure of one kind.

    `phases` are those that it can come from; `meaning` says what happened, `hint` what to do about it.
    `retryable` kinds are proven to be nobody's doing who hands in or writes tasks: they may be tried again.
    `provocable` kinds can be brought about by what was handed in: `scorehost.runs.provoked` decides, over a
    whole job, whether they were.
    """

    blame: Blame
    phases: tuple[Phase, ...]
    meaning: str
    hint: str
    retryable: bool = False
    provocable: bool = False


_EVERY = tuple(Phase)
_PREPARE, _START, _EVALUATE = (Phase.PREPARE,), (Phase.START,), (Phase.EVALUATE,)
_ASKED = (Phase.PREPARE, Phase.RUN, Phase.EVALUATE)  # where agents are made ready or asked

KINDS: dict[str, KindFacts] = {
    "invalid_submission": KindFacts(
        Blame.SUBMISSION,
        _PREPARE,
        "Something handed in is no regular file or folder, is too large, or leads out of the submission.",
        "Hand in regular files and folders at the declared paths only.",
    ),
    "submission_fault": KindFacts(
        Blame.SUBMISSION,
        (Phase.RUN, Phase.EVALUATE),
        "Submitted code broke its call (wrong reply, time-out, death) or clogged its host, uncaught.",
        "The submitted code broke its call or its host; an evaluator may catch SubmissionFault.",
    ),
    "evaluator_exception": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "`evaluate` raised an exception.",
        "`scorehost logs JOB TASK` prints the traceback (logs/evaluator.log of the attempt).",
    ),
    "evaluator_exit": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "The evaluator's process ended (exit, signal, crash) without a result.",
        "evaluate() must return a result; it ended the process instead.",
    ),
    "evaluator_timeout": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "The evaluator did not return within `limits.evaluate_seconds`.",
        "Raise limits.evaluate_seconds, or find what hangs in logs/evaluator.log.",
    ),
    "evaluator_oom": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "The evaluator's host ran out of memory.",
        "Raise limits.memory_mb, or use less memory.",
    ),
    "scratch_full": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "The evaluator ran out of scratch space, by bytes or by number of files, and did not catch it.",
        "Raise evaluation.tmpfs_mb; scratch space is memory and counts into memory_mb.",
    ),
    "invalid_result": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "What `evaluate` returned is no result: the message names the field and its value.",
        "Return {'status': 'PASS' or 'FAIL', 'score': a number in score_range, …}.",
    ),
    "result_too_large": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "What `evaluate` returned is larger or deeper than a result may be.",
        "Metrics hold 1 MiB and 16 levels; put long material into the log.",
    ),
    "channel_violation": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "The channel carried what the runner does not send: a second result, bytes after it, a forged frame.",
        "Something in the evaluator's host spoke for the runner. Nothing of it counts.",
    ),
    "output_limit": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "The evaluator's host printed more than `limits.output_total_bytes`.",
        "Print less, or raise limits.output_total_bytes.",
    ),
    "changed_input": KindFacts(
        Blame.DATASET,
        (Phase.PREPARE, Phase.UPLOAD, Phase.EVALUATE, Phase.COLLECT),
        "Gold, evaluator or hand-in did not stay the same: on disk, or (evaluate) in the host.",
        "Files changed while the job ran. Run it again with quiet files.",
    ),
    "unknown_environment": KindFacts(
        Blame.DATASET,
        _EVALUATE,
        "The evaluator named a scoring environment that the task does not declare.",
        "Name a scoring environment that evaluation.environments declares.",
    ),
    "image_pull_failed": KindFacts(
        Blame.ENVIRONMENT,
        _PREPARE,
        "An image is not there and its registry did not give it; the message has the registry's words.",
        "Pull the image by hand to see why, or build it on this machine.",
        retryable=True,
    ),
    "image_missing": KindFacts(
        Blame.ENVIRONMENT,
        _PREPARE,
        "An image of scorehost's own is not on the engine.",
        "Run `make images` once.",
    ),
    "image_build_failed": KindFacts(
        Blame.ENVIRONMENT,
        _PREPARE,
        "A recipe does not build, or not within `limits.build_seconds`.",
        "Read the build log; result.json has its last lines.",
    ),
    "image_unusable": KindFacts(
        Blame.ENVIRONMENT,
        (Phase.START, Phase.RUN, Phase.EVALUATE),
        "The image lacks what every scoring host needs.",
        "An evaluator's image needs python3 (3.8 or later) with ctypes, a named one `sleep`.",
    ),
    "start_failed": KindFacts(
        Blame.ENVIRONMENT,
        (Phase.START, Phase.UPLOAD),
        "The engine refused to make, fill or start a host; the message has its words.",
        "Run `scorehost doctor`; the engine's own words are above.",
        retryable=True,
    ),
    "start_timeout": KindFacts(
        Blame.ENVIRONMENT,
        (Phase.START, Phase.UPLOAD),
        "A host was not ready in time.",
        "Raise limits.start_seconds, or lower --concurrency.",
        retryable=True,
    ),
    "host_lost": KindFacts(
        Blame.ENVIRONMENT,
        (Phase.RUN, Phase.EVALUATE),
        "A host was killed, stopped, paused or removed from outside, or the machine ran short of memory.",
        "Something outside ended the container. Look at the engine's own log, and at the machine's memory.",
        retryable=True,
    ),
    "upload_damaged": KindFacts(
        Blame.ENGINE,
        (Phase.UPLOAD,),
        "The runner saw other files in its host than were sent.",
        "The engine's disk or the way to it damages data. Run `scorehost doctor`.",
        retryable=True,
    ),
    "engine_lost": KindFacts(
        Blame.ENGINE,
        _EVERY,
        "The engine went away, or did not answer in time.",
        "See that the engine runs, then --resume the job.",
        retryable=True,
    ),
    "adapter_missing": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "No adapter can play a role: not bound, gone, not of the mode or phase, or it cannot be started.",
        "Bind the role in profiles.yaml to a program that is there, for this mode and phase.",
    ),
    "adapter_timeout": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "An adapter or endpoint did not answer within the role's `timeout_seconds`.",
        "Raise timeout_seconds of the role, or see in the call's stderr.log what it waits for.",
    ),
    "adapter_exit": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "An adapter ended with another status than 0, or left a process behind that holds its output.",
        "Read stderr.log of the call, below evaluation/calls or run/calls of the attempt.",
    ),
    "adapter_malformed": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "A reply is not the one JSON object that its mode asks for.",
        "Run `scorehost adapter test` with the role's command: it says what is wrong with the reply.",
        provocable=True,
    ),
    "adapter_provenance": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "A reply does not say who made it (request_id, provider, cache_hit, token_usage), or not rightly.",
        "Have the adapter hand on what the provider told of the request.",
    ),
    "adapter_duplicate_id": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "A reply has a request_id that came before in this job: it was played again. The job is invalid.",
        "Give each request an id of its own; start a new job.",
    ),
    "adapter_cache_hit": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "A reply comes from a cache, so it is no observation; the job is invalid.",
        "Turn the cache off, and start a new job.",
    ),
    "adapter_overflow": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "An adapter printed more than a reply or its log may have.",
        "Print one JSON object on stdout, and less on stderr.",
        provocable=True,
    ),
    "adapter_truncated": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "The model stopped at its token limit, so its reply is not whole.",
        "Raise the limit in the role's parameters, or ask for less.",
        provocable=True,
    ),
    "adapter_refused": KindFacts(
        Blame.ADAPTER,
        _ASKED,
        "The provider refuses this very request: too long, a content filter, an HTTP status that blames it.",
        "Read the reply of the call; ask for less, or bind the role to a model with a larger context.",
        provocable=True,
    ),
    "budget_spent": KindFacts(
        Blame.ENVIRONMENT,
        _ASKED,
        "The job had no calls or tokens left (`--max-calls`, `--max-tokens`), and that was not caught.",
        "Go on with --resume, a higher limit, and --rerun error:budget_spent.",
    ),
    "share_spent": KindFacts(
        Blame.ENVIRONMENT,
        _ASKED,
        "The submission had used up its share of the job's calls or tokens, and that was not caught.",
        "Go on with --resume, a higher limit, and --rerun error:share_spent.",
        provocable=True,
    ),
    "internal": KindFacts(
        Blame.SCOREHOST,
        _EVERY,
        "Something that nobody foresaw, in scorehost itself; its traceback is in logs/scorehost.log.",
        "This is a defect of scorehost. Report it with the attempt's logs.",
    ),
}


def _known(kind: str) -> str:
    if kind not in KINDS:
        raise ValueError("no kind of failure that docs/errors.md lists")
    return kind


Kind = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(KINDS)})]


class Failure(Frozen):
    """`error` of result.json. `message` never holds an exception's text, a source line, or gold.

    `role`: of a call of an agent that failed, whose it was.
    """

    phase: Phase
    kind: Kind
    blame: Blame
    message: str
    hint: str
    retryable: bool
    role: str | None = None


def counts_as_lowest(blame: Blame, phase: Phase) -> bool:
    """Whether an ERROR counts as the lowest score: nobody gains by crashing an evaluator."""
    return blame is Blame.SUBMISSION or (blame is Blame.DATASET and phase is Phase.EVALUATE)


def is_agents(kind: str) -> bool:
    """Whether a failure of this kind is that of a call of an agent."""
    return KINDS[kind].phases == _ASKED


def failure(
    phase: Phase,
    kind: str,
    message: str,
    *,
    hint: str = "",
    retryable: bool | None = None,
    role: str | None = None,
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
        retryable=facts.retryable and retryable is not False,
        role=role,
    )

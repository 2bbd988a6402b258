"""The exit status of a job: the first rule that applies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.model.direction import better

if TYPE_CHECKING:
    from collections.abc import Collection

    from scorehost.jobs.kind import Gate
    from scorehost.jobs.running import Running
    from scorehost.jobs.schedule import Why
    from scorehost.model.direction import GroupDirection
    from scorehost.model.summary import JobStatus
    from scorehost.runs.scored import Scored

OK, FAILED, BAD_INPUT, ERRORS, INTERRUPTED = 0, 1, 2, 3, 130
WANTING = frozenset({"image_missing", "image_pull_failed", "image_build_failed", "engine_lost"})


def exit_status(
    running: Running,
    *,
    gate: Gate,
    why: Why,
    status: JobStatus,
    attempts: Collection[Scored],
    mean_score: float | None,
    direction: GroupDirection = "maximize",
) -> int:
    """130 interrupted; 2 nothing scored for want of an engine or image, or stopped early; 3 an ERROR or an
    invalid job; 1 a gate that was not met or a mean that is none, or worse than `fail_under`; 0. `exit_on`
    turns a gate, or gates and ERRORs, into 0.
    """
    # An attempt that ended without a result is a defect, which no status of a finished one shows. It and an
    # invalid job are no verdicts: `exit_on` does not excuse them.
    unsound = status == "invalidated" or (status == "incomplete" and why == "done")
    errors = any(one.status == "ERROR" for one in attempts)
    below = running.fail_under is not None and (
        mean_score is None or direction == "mixed" or better(running.fail_under, mean_score, direction)
    )
    fails = running.exit_on == "fail" and gate == "not met"
    told = running.exit_on != "never"
    rules = (
        (status == "interrupted", INTERRUPTED),
        (why in ("engine", "disk") or nothing_could_run(attempts), BAD_INPUT),
        (unsound or (told and errors), ERRORS),
        (told and (fails or below), FAILED),
    )
    return next((code for applies, code in rules if applies), OK)


def nothing_could_run(attempts: Collection[Scored]) -> bool:
    """Whether every attempt is ERROR for want of an engine or an image."""
    return bool(attempts) and all(one.error is not None and one.error.kind in WANTING for one in attempts)

"""From what an evaluator returned, which is hostile until checked, to a verdict and checks.

The rules are those of `scorehost_sdk.verdict`, by which tests of evaluators judge too.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from scorehost.attempt.scripts import script_fault
from scorehost.errors import AttemptFailed
from scorehost.model import json
from scorehost.model.check import CheckRow
from scorehost.model.failure import Phase, failure
from scorehost.model.result import Status
from scorehost.model.verdicts import contradiction
from scorehost.spec.task import Output
from scorehost_sdk.returned import Rejected
from scorehost_sdk.verdict import Rows, Rules, bound

_STATUSES: Mapping[str, Status] = {"PASS": "PASS", "FAIL": "FAIL", "SCORED": "SCORED"}


@dataclass(frozen=True, slots=True)
class Checks:
    """Rows that are in order, and a line for each that is not."""

    rows: tuple[CheckRow, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the evaluator decided, checked; warnings name what was left out."""

    status: Status
    score: float
    metrics: Mapping[str, Any]
    checks: tuple[CheckRow, ...]
    warnings: tuple[str, ...]


def bind(value: Any, output: Output, *, task: Path, told: Sequence[Any] = ()) -> Verdict:
    """The verdict in an evaluator's return value, already parsed from strict JSON.

    `task` is the task's folder, in which the scripts of checks are looked up; `told` are the rows that the
    evaluator told before it returned. Raises AttemptFailed (invalid_result, result_too_large) naming field
    and value; rows of checks that are not in order are left out with a warning and change no verdict.
    """
    rows = _rows(task, told)
    try:
        verdict = bound(value, Rules(output.score_range, output.direction, output.verdict), rows)
    except Rejected as problem:
        kind = "result_too_large" if problem.kind == "result_too_large" else "invalid_result"
        raise AttemptFailed(failure(Phase.EVALUATE, kind, problem.text)) from None
    checks = _modelled(rows)
    statuses = [row.status for row in checks.rows]
    contrary = contradiction(verdict.status, verdict.score, output.score_range, statuses, output.direction)
    return Verdict(
        status=_STATUSES[verdict.status],
        score=verdict.score,
        metrics=verdict.metrics,
        checks=checks.rows,
        warnings=((contrary, *checks.warnings) if contrary else checks.warnings),
    )


def bind_told(told: Sequence[Any], *, task: Path) -> Checks:
    """The checks of an evaluation that gave no result: what it had told by then."""
    return _modelled(_rows(task, told))


def _rows(task: Path, told: Sequence[Any]) -> Rows:
    rows = Rows(functools.partial(script_fault, task=task))
    rows.take_told(told)
    return rows


def _modelled(rows: Rows) -> Checks:
    kept: list[CheckRow] = []
    left_out: list[str] = []
    for row in rows.kept():
        try:
            kept.append(CheckRow.model_validate_json(json.canonical(row), strict=True))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"][:1])
            left_out.append(f"checks: a row was left out: {place}: {first['msg'][:120]}")
    return Checks(tuple(kept), (*rows.warnings(), *left_out))

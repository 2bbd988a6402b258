"""From what an evaluator returned, which is hostile until checked, to a verdict and checks."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import ValidationError

from scorehost.errors import AttemptFailed
from scorehost.model import json
from scorehost.model.check import MAX_BYTES, MAX_ROWS, CheckRow
from scorehost.model.failure import Phase, failure
from scorehost.model.result import Status
from scorehost.spec.task import Output

METRICS_BYTES = 1024 * 1024
METRICS_DEPTH = 16
_KEYS = {"status", "score", "metrics", "checks"}
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the evaluator decided, checked; warnings name what was left out."""

    status: Status
    score: float
    metrics: Mapping[str, Any]
    checks: tuple[CheckRow, ...]
    warnings: tuple[str, ...]


def bind(value: Any, output: Output) -> Verdict:
    """The verdict in an evaluator's return value, already parsed from strict JSON.

    Raises AttemptFailed (invalid_result, result_too_large) naming field and value; rows of checks that are
    not in order are left out with a warning and change no verdict.
    """
    if not isinstance(value, dict):
        _invalid(f"evaluate() returned {_shown(value)}, not an object")
    if unknown := sorted(set(value) - _KEYS):
        _invalid(
            f"evaluate() returned the unknown key {_shown(unknown[0])}; known are {', '.join(sorted(_KEYS))}"
        )
    status = value.get("status")
    if status not in ("PASS", "FAIL") or not isinstance(status, str):
        _invalid(f"status is {_shown(status) if 'status' in value else 'missing'}, not 'PASS' or 'FAIL'")
    checks, warnings = _checks(value.get("checks"))
    return Verdict(
        status="PASS" if status == "PASS" else "FAIL",
        score=_score(value.get("score"), status, output),
        metrics=_metrics(value.get("metrics")),
        checks=checks,
        warnings=warnings,
    )


def _score(score: Any, status: str, output: Output) -> float:
    low, high = output.score_range or (0.0, 1.0)
    if score is None:
        return high if status == "PASS" else low
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        _invalid(f"score is {_shown(score)}, not a number")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        _invalid(f"score is {_shown(score)}, not a finite number")
    if output.score_range is not None and not low <= number <= high:
        _invalid(f"score is {_shown(score)}, outside of score_range [{low:g}, {high:g}]")
    return number


def _metrics(metrics: Any) -> Mapping[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, dict):
        _invalid(f"metrics is {_shown(metrics)}, not an object")
    if not json.within_depth(metrics, METRICS_DEPTH):
        _too_large(f"metrics nests deeper than {METRICS_DEPTH} levels")
    try:
        size = len(json.canonical(metrics))
    except ValueError:
        _invalid("metrics holds a value that JSON cannot hold")
    if size > METRICS_BYTES:
        _too_large(f"metrics has {size} bytes, more than {METRICS_BYTES}")
    return metrics


def _checks(rows: Any) -> tuple[tuple[CheckRow, ...], tuple[str, ...]]:
    if rows is None:
        return (), ()
    if not isinstance(rows, list):
        return (), (f"checks is {_shown(rows)}, not a list; all of it was left out",)
    kept: dict[str, CheckRow] = {}
    warnings: list[str] = []
    size = 0
    for number, row in enumerate(rows, start=1):
        if number > MAX_ROWS:
            warnings.append(f"checks: rows after the first {MAX_ROWS} were left out")
            break
        try:
            check = CheckRow.model_validate_json(json.canonical(row), strict=True)
            size += len(json.canonical(row))
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"]) or "row"
            warnings.append(f"checks: row {number} was left out: {place}: {first['msg'][:120]}")
            continue
        except (ValueError, RecursionError):
            warnings.append(f"checks: row {number} was left out: JSON cannot hold it")
            continue
        if check.id in kept:
            warnings.append(f"checks: row {number} was left out: the id {_shown(check.id)} stands before")
        elif any(not character.isprintable() for character in check.id):
            warnings.append(f"checks: row {number} was left out: its id holds control characters")
        elif size > MAX_BYTES:
            warnings.append(
                f"checks: row {number} and what follows was left out: more than {MAX_BYTES} bytes"
            )
            break
        else:
            kept[check.id] = check
    return tuple(kept.values()), tuple(warnings)


def _shown(value: Any) -> str:
    # A number or a short word helps; anything longer could hold gold and is named by its type.
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**_SHOWN:
        return f"a whole number of more than {_SHOWN} digits"
    text = json.canonical(value).decode() if not isinstance(value, float) else repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _invalid(message: str) -> NoReturn:
    raise AttemptFailed(failure(Phase.COLLECT, "invalid_result", message))


def _too_large(message: str) -> NoReturn:
    raise AttemptFailed(failure(Phase.COLLECT, "result_too_large", message))

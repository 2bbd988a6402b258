"""From what an evaluator returned, which is hostile until checked, to a verdict and checks."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NoReturn

from pydantic import ValidationError

from scorehost.attempt.scripts import script_fault
from scorehost.errors import AttemptFailed
from scorehost.model import json
from scorehost.model.check import MAX_BYTES, MAX_ROWS, CheckRow
from scorehost.model.failure import Phase, failure
from scorehost.model.result import Status
from scorehost.model.verdicts import contradiction
from scorehost.spec.task import Output

METRICS_BYTES = 1024 * 1024
METRICS_DEPTH = 16
_KEYS = {"status", "score", "metrics", "checks"}
_SHOWN = 24  # characters of a text that a message may quote: a word helps, a sentence may be gold
_DIGITS = 60
_WARNINGS = 50
_LOST = "_unserializable"  # the runner's word for a row that JSON could not hold


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the evaluator decided, checked; warnings name what was left out."""

    status: Status
    score: float
    metrics: Mapping[str, Any]
    checks: tuple[CheckRow, ...]
    warnings: tuple[str, ...]


def bind(value: Any, output: Output, *, task: Path) -> Verdict:
    """The verdict in an evaluator's return value, already parsed from strict JSON.

    `task` is the task's folder, in which the scripts of checks are looked up. Raises AttemptFailed
    (invalid_result, result_too_large) naming field and value; rows of checks that are not in order are left
    out with a warning and change no verdict.
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
    checks, warnings = _checks(value.get("checks"), task)
    verdict: Literal["PASS", "FAIL"] = "PASS" if status == "PASS" else "FAIL"
    score = _score(value.get("score"), status, output)
    contrary = contradiction(verdict, score, output.score_range, [row.status for row in checks])
    return Verdict(
        status=verdict,
        score=score,
        metrics=_metrics(value.get("metrics")),
        checks=checks,
        warnings=((contrary, *warnings) if contrary else warnings),
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


def _checks(rows: Any, task: Path) -> tuple[tuple[CheckRow, ...], tuple[str, ...]]:
    if rows is None:
        return (), ()
    if not isinstance(rows, list):
        return (), (f"checks is {_shown(rows)}, not a list; all of it was left out",)
    kept: dict[str, CheckRow] = {}
    left_out: list[str] = []
    look_up = functools.cache(functools.partial(script_fault, task=task))  # rows share few scripts
    size = 0
    for number, row in enumerate(rows, start=1):
        if number > MAX_ROWS:
            left_out.append(f"checks: rows after the first {MAX_ROWS} were left out")
            break
        try:
            data = json.canonical(row)
            check = CheckRow.model_validate_json(data, strict=True)
        except (ValueError, RecursionError) as error:
            left_out.append(f"checks: row {number} was left out: {_fault(row, error)}")
            continue
        size += len(data)
        if size > MAX_BYTES:
            text = f"checks: row {number} and what follows was left out: more than {MAX_BYTES} bytes"
            left_out.append(text)
            break
        if fault := _out_of_place(check, kept, look_up):
            left_out.append(f"checks: row {number} was left out: {fault}")
        else:
            kept[check.id] = check
    if len(left_out) > _WARNINGS:
        more = len(left_out) - _WARNINGS
        left_out[_WARNINGS:] = [f"checks: {more} more of such lines were left out"]
    return tuple(kept.values()), tuple(left_out)


def _out_of_place(check: CheckRow, kept: Collection[str], look_up: Callable[[str], str]) -> str:
    """Why a row that is in order by itself does not stand among the others; empty when it does."""
    if not check.id.isprintable():
        return "its id holds control characters"
    if check.id in kept:
        return f"the id {_shown(check.id)} stands before"
    if check.script is not None and (fault := look_up(check.script)):
        return f"script {_shown(check.script)} {fault}"
    return ""


def _fault(row: Any, error: Exception) -> str:
    if isinstance(row, dict) and isinstance(reason := row.get("reason"), str) and _LOST in row:
        return "".join(character for character in reason[:120] if character.isprintable())
    if not isinstance(row, dict):
        return f"it is {_shown(row)}, not an object"
    if not isinstance(error, ValidationError):
        return "JSON cannot hold it"
    first = error.errors(include_input=False, include_url=False)[0]
    # An unknown key is the evaluator's own text, a known one is ours.
    place = ".".join(
        _shown(part) if first["type"] == "extra_forbidden" else str(part) for part in first["loc"]
    )
    return f"{place}: {first['msg'][:120]}"


def _shown(value: Any) -> str:
    # A number or a short word helps; anything longer could hold gold and is named by its type and size.
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"a text of {len(value)} characters"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_DIGITS:
        return f"a whole number of more than {_DIGITS} digits"
    if isinstance(value, float):
        return repr(value)
    text = json.canonical(value).decode()
    return text if text.isprintable() else ascii(text)


def _invalid(message: str) -> NoReturn:
    raise AttemptFailed(failure(Phase.EVALUATE, "invalid_result", message))


def _too_large(message: str) -> NoReturn:
    raise AttemptFailed(failure(Phase.EVALUATE, "result_too_large", message))

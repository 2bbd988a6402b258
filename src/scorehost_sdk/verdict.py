"""What counts as a result: one set of rules, for the controller and for tests of evaluators.

Everything here reads plain JSON values that are hostile until they are checked, and quotes little of them.
"""

from __future__ import annotations

import json
import math
from typing import NamedTuple, Optional, Tuple

from scorehost_sdk.returned import Rejected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, NoReturn, Set

METRICS_BYTES = 1024 * 1024
METRICS_DEPTH = 16
MAX_ROWS = 10_000
MAX_ROW_BYTES = 8 * 1024 * 1024  # of all rows together
# Of the width of the range: what adding up weights in floats can be off by, and no evaluator means.
TOLERANCE = 1e-9
STATUSES = ("PASS", "FAIL", "ERROR", "SKIP")
_KEYS = {"status", "score", "metrics", "checks"}
_SHOWN = 24  # characters of a text that a message may quote: a word helps, a sentence may be gold
_DIGITS = 60
_WARNINGS = 50
_LONGEST_ID = 256
_LOST = "_unserializable"  # the runner's word for a row that JSON could not hold


class Verdict:
    """What an evaluator decided, checked; `warnings` name what was left out."""

    __slots__ = ("checks", "metrics", "score", "status", "warnings")

    def __init__(self, status: str, score: float, metrics: Dict[str, Any], rows: Rows) -> None:
        self.status, self.score, self.metrics = status, score, metrics
        self.checks, self.warnings = rows.kept(), rows.warnings()


class Rules(NamedTuple):
    """What `evaluation.output` says of a result. `score_range` None: any finite number."""

    score_range: Optional[Tuple[float, float]] = (0.0, 1.0)
    direction: str = "maximize"
    verdict: str = "pass_fail"


def bound(value: Any, rules: Rules, rows: Rows) -> Verdict:
    """The verdict in an evaluator's return value, already parsed from strict JSON.

    `rows` has what the evaluator told before it returned, and how
    scripts are looked up. Raises Rejected (invalid_result, result_too_large) naming field and value; rows of
    checks that are not in order are left out with a warning and change no verdict.
    """
    if not isinstance(value, dict):
        _invalid(f"evaluate() returned {shown(value)}, not an object")
    unknown = sorted(set(value) - _KEYS)
    if unknown:
        known = ", ".join(sorted(_KEYS))
        _invalid(f"evaluate() returned the unknown key {shown(unknown[0])}; known are {known}")
    status = _status(value, rules)
    rows.take_list(value.get("checks"))
    return Verdict(status, _score(value.get("score"), status, rules), _metrics(value.get("metrics")), rows)


def _status(value: Dict[str, Any], rules: Rules) -> str:
    status = value.get("status")
    told = shown(status) if "status" in value else "missing"
    if rules.verdict == "none":
        if status not in (None, "SCORED"):
            _invalid(f"status is {told}, and the task has no verdict (evaluation.output.verdict: none)")
        return "SCORED"
    if not isinstance(status, str) or status not in ("PASS", "FAIL"):
        _invalid(f"status is {told}, not 'PASS' or 'FAIL'")
    return status


def _score(score: Any, status: str, rules: Rules) -> float:
    low, high = rules.score_range or (0.0, 1.0)
    if score is None and status != "SCORED":
        return high if (status == "PASS") == (rules.direction == "maximize") else low
    if isinstance(score, bool) or not isinstance(score, (int, float)):
        _invalid(f"score is {shown(score)}, not a number")
    try:
        number = float(score)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        _invalid(f"score is {shown(score)}, not a finite number")
    if rules.score_range is None or low <= number <= high:
        return number
    end = high if number > high else low
    if abs(number - end) > TOLERANCE * (high - low):
        _invalid(f"score is {shown(score)}, outside of score_range [{low:g}, {high:g}]")
    return end


def _metrics(metrics: Any) -> Dict[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, dict):
        _invalid(f"metrics is {shown(metrics)}, not an object")
    if not within_depth(metrics, METRICS_DEPTH):
        raise Rejected("result_too_large", f"metrics nests deeper than {METRICS_DEPTH} levels")
    try:
        size = len(_line(metrics))
    except (ValueError, TypeError):
        _invalid("metrics holds a value that JSON cannot hold")
    if size > METRICS_BYTES:
        raise Rejected("result_too_large", f"metrics has {size} bytes, more than {METRICS_BYTES}")
    return metrics


class Rows:
    """Rows of checks as they come: first those that were told at once, then those of the result.

    `look_up` says of a script why it names no file of the dataset; empty when it does.
    """

    def __init__(self, look_up: Callable[[str], str]) -> None:
        self._look_up = look_up
        self._scripts: Dict[str, str] = {}  # rows share few
        self._kept: Dict[str, Dict[str, Any]] = {}
        self._told: Set[str] = set()  # ids that the result's own rows may replace
        self._warnings: List[str] = []
        self._size = 0

    def kept(self) -> List[Dict[str, Any]]:
        """The rows that are in order."""
        return list(self._kept.values())

    def warnings(self) -> List[str]:
        """What was left out, in at most 51 lines."""
        lines = list(self._warnings)
        if len(lines) > _WARNINGS:
            more = len(lines) - _WARNINGS
            lines[_WARNINGS:] = [f"checks: {more} more of such lines were left out"]
        return lines

    def take_told(self, rows: Iterable[Any]) -> None:
        """Rows that the evaluator told by `check`, in order."""
        self._take(rows, "row %d of those that check() told")
        self._told = set(self._kept)

    def take_list(self, rows: Any) -> None:
        """What the result has as `checks`; a row replaces one of the same id that was told before."""
        if rows is None:
            return
        if not isinstance(rows, list):
            self._warnings.append(f"checks is {shown(rows)}, not a list; all of it was left out")
            return
        self._take(rows, "row %d")

    def _take(self, rows: Iterable[Any], place: str) -> None:
        for number, row in enumerate(rows, start=1):
            where = place % number
            fault = row_fault(row)
            if number > MAX_ROWS or (
                len(self._kept) >= MAX_ROWS and not fault and row["id"] not in self._kept
            ):
                self._warnings.append(f"checks: rows after the first {MAX_ROWS} were left out")
                return
            if not fault and row["id"] in self._kept and row["id"] not in self._told:
                fault = f"the id {shown(row['id'])} stands before"
            if fault:
                self._warnings.append(f"checks: {where} was left out: {fault}")
                continue
            self._size += len(_line(row))
            if self._size > MAX_ROW_BYTES:
                text = f"checks: {where} and what follows was left out: more than {MAX_ROW_BYTES} bytes"
                self._warnings.append(text)
                return
            self._told.discard(row["id"])
            self._kept[row["id"]] = self._with_script(row, where)

    def _with_script(self, row: Dict[str, Any], where: str) -> Dict[str, Any]:
        script = row.get("script")
        if script is None:
            return row
        if script not in self._scripts:
            self._scripts[script] = self._look_up(script)
        if not self._scripts[script]:
            return row
        text = f"script {shown(script)} {self._scripts[script]}; the row was kept without it"
        self._warnings.append(f"checks: {where}: {text}")
        return dict(row, script=None)


def row_fault(row: Any) -> str:
    """Why this is no row of checks.json; empty when it is one."""
    if not isinstance(row, dict):
        return f"it is {shown(row)}, not an object"
    reason = row.get("reason")
    if _LOST in row and isinstance(reason, str):
        return "".join(character for character in reason[:120] if character.isprintable())
    try:
        _line(row)
    except (ValueError, TypeError, RecursionError):
        return "JSON cannot hold it"
    return _field_fault(row)


def _field_fault(row: Dict[str, Any]) -> str:
    for key, value in row.items():
        if key not in _FIELDS:
            # An unknown key is the evaluator's own text, a known one is ours.
            return f"{shown(key)}: Extra inputs are not permitted"
        fault = _FIELDS[key](value)
        if fault:
            return f"{key}: {fault}"
    missing = [key for key in ("id", "status") if key not in row]
    if missing:
        return f"{missing[0]}: Field required"
    return "" if row["id"].isprintable() else "its id holds control characters"


def _text(value: Any) -> str:
    return "" if isinstance(value, str) else "Input should be a valid string"


def _id(value: Any) -> str:
    if not isinstance(value, str):
        return _text(value)
    if not value:
        return "String should have at least 1 character"
    return "" if len(value) <= _LONGEST_ID else f"String should have at most {_LONGEST_ID} characters"


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return "Input should be a valid number"
    try:
        return "" if math.isfinite(value) else "Input should be a finite number"
    except OverflowError:
        return "Input should be a finite number"


def _texts(value: Any) -> str:
    if not isinstance(value, list):
        return "Input should be a valid list"
    return next(filter(None, map(_text, value)), "")


def _one_of(*words: str) -> Callable[[Any], str]:
    known = ", ".join(repr(word) for word in words[:-1]) + f" or {words[-1]!r}"
    return lambda value: "" if isinstance(value, str) and value in words else f"Input should be {known}"


def _or_null(check: Callable[[Any], str]) -> Callable[[Any], str]:
    return lambda value: "" if value is None else check(value)


def _exec(value: Any) -> str:
    return "" if value is None or isinstance(value, dict) else "Input should be an object"


_FIELDS: Dict[str, Callable[[Any], str]] = {
    "id": _id,
    "title": _text,
    "status": _one_of(*STATUSES),
    "script": _or_null(_text),
    "environment": _or_null(_text),
    "exec": _exec,
    "message": _text,
    "details": lambda _: "",
    "score": _or_null(_number),
    "max_score": _or_null(_number),
    "weight": _or_null(_number),
    "severity": _or_null(_text),
    "recommendation": _or_null(_text),
    "evidence_refs": _texts,
    "visibility": _one_of("private", "public"),
    "tags": _texts,
}


def within_depth(value: Any, limit: int) -> bool:
    """Whether a JSON value nests at most `limit` containers (a plain value is depth 0)."""
    level = [value]
    for _ in range(limit):
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return not any(isinstance(item, (dict, list)) for item in level)


def shown(value: Any) -> str:
    """A value as a message may name it: a number or a short word helps, anything longer could hold gold."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if isinstance(value, str) and len(value) > _SHOWN:
        return f"a text of {len(value)} characters"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**_DIGITS:
        return f"a whole number of more than {_DIGITS} digits"
    if isinstance(value, float):
        return repr(value)
    text = _line(value).decode("utf-8")
    return text if text.isprintable() else ascii(text)


def _line(value: Any) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _invalid(message: str) -> NoReturn:
    raise Rejected("invalid_result", message)

"""What evaluate() returned, copied into plain JSON values in bounded memory and time."""

from __future__ import annotations

import json
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Union

_LONGEST_INT_BITS = 14_280  # below 4,300 digits, which is what Python's own JSON reader takes
_CHECK_DEPTH = 32
_SHOWN_CHARACTERS = 40
_LOST = "_unserializable"  # in place of a row that JSON cannot hold


class Rejected(Exception):
    """The returned value cannot be sent; `kind` and `text` say why."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(kind, text)
        self.kind, self.text = kind, text


class Plain:
    """Copies a value into what JSON holds, within a number of bytes and levels; raises Rejected."""

    def __init__(self, budget: int, depth: int) -> None:
        self._left, self._budget, self._depth = budget, budget, depth

    def _spend(self, size: int, place: str) -> None:
        self._left -= size
        if self._left < 0:
            raise Rejected("result_too_large", f"{place} holds more than {self._budget} bytes")

    def copy(self, value: Any, place: str, level: int = 0) -> Any:
        """`value` as dict, list, str, int, float, bool and None of exactly these types."""
        if value is None or value is True or value is False:
            self._spend(4, place)
            return value
        if isinstance(value, str):
            self._spend(len(value) + 2, place)
            text = str.encode(value, "utf-8", "backslashreplace").decode("utf-8")
            self._spend(len(json.dumps(text, ensure_ascii=False).encode("utf-8")) - len(value) - 2, place)
            return text
        if isinstance(value, (int, float)):
            return self._copy_number(value, place)
        if not isinstance(value, (dict, list, tuple)):
            return self._copy_held(value, place, level)
        if level >= self._depth:
            raise Rejected("invalid_result", f"{place} is nested deeper than {self._depth} levels")
        self._spend(2, place)
        if isinstance(value, dict):
            return self._copy_dict(value, place, level)
        copies = []
        for index in range(len(value)):
            self._spend(1, place)
            copies.append(self.copy(value[index], f"{place}[{index}]", level + 1))
        return copies

    def _copy_held(self, value: Any, place: str, level: int) -> Any:
        """What a scalar or an array of numpy holds, or what has its `dtype` and `tolist`."""
        held = value.tolist() if hasattr(type(value), "dtype") and hasattr(type(value), "tolist") else value
        if type(held) not in (bool, int, float, str, list):
            raise Rejected("invalid_result", f"{place} is {_article(value)}, which JSON cannot hold")
        return self.copy(held, place, level)

    def _copy_number(self, value: float, place: str) -> Union[int, float]:
        if isinstance(value, float):
            number = float.__float__(value)
            if not math.isfinite(number):
                raise Rejected("invalid_result", f"{place} is {number}, which is no number that JSON holds")
            self._spend(len(repr(number)), place)
            return number
        whole = int.__int__(value)
        if whole.bit_length() > _LONGEST_INT_BITS:
            raise Rejected("invalid_result", f"{place} is an int of {whole.bit_length()} bits")
        self._spend(whole.bit_length() // 4 + 1, place)
        return whole

    def _copy_dict(self, value: Dict[Any, Any], place: str, level: int) -> Dict[str, Any]:
        copies: Dict[str, Any] = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise Rejected("invalid_result", f"{place} has a key that is {_article(key)}, not text")
            name = self.copy(key, f"a key of {place}")
            if name in copies:
                raise Rejected("invalid_result", f"{place} has one key twice")
            self._spend(2, place)
            copies[name] = self.copy(item, f"{place}.{_shown(name)}", level + 1)
        return copies


def _shown(name: str) -> str:
    # A key may hold gold; what looks like a name may be shown.
    plain = name.replace("_", "a").replace("-", "a").replace(".", "a")
    return name if len(name) <= _SHOWN_CHARACTERS and plain.isalnum() and plain.isascii() else "…"


def _article(value: object) -> str:
    return f"of type {type_name(type(value))}"


def type_name(cls: type) -> str:
    name = type.__dict__["__qualname__"].__get__(cls)
    module = cls.__dict__.get("__module__", "")
    module = (
        module
        if isinstance(module, str) and module not in ("builtins", "evaluator", "scorehost_sdk.faults")
        else ""
    )
    return _shown(".".join(part for part in (module.partition(".")[0], name.rpartition(".")[2]) if part))


def checked(value: Any, limits: Dict[str, int]) -> Dict[str, Any]:
    """The value of the `result` frame; raises Rejected."""
    if not isinstance(value, dict):
        raise Rejected("invalid_result", f"evaluate returned a value {_article(value)}, not a dict")
    rows = value.get("checks")
    rest = {key: item for key, item in value.items() if key not in ("checks", "metrics")}
    result: Dict[str, Any] = Plain(limits["metrics_bytes"], limits["metrics_depth"]).copy(rest, "result")
    if "metrics" in value:
        plain = Plain(limits["metrics_bytes"], limits["metrics_depth"])
        result["metrics"] = plain.copy(value["metrics"], "metrics")
    if rows is not None:
        result["checks"] = _checked_rows(rows, limits)
    return result


def _checked_rows(rows: Any, limits: Dict[str, int]) -> List[Any]:
    if not isinstance(rows, (list, tuple)):
        return [{_LOST: 0, "reason": f"checks is {_article(rows)}, not a list"}]
    budget = RowBudget(limits)
    kept: List[Any] = []
    for index in range(len(rows)):
        kept += budget.plain(rows[index])
        if budget.spent:
            break
    return kept


class RowBudget:
    """Copies rows of checks one by one, within the limits of all of them."""

    def __init__(self, limits: Dict[str, int]) -> None:
        self._limits = limits
        self._left, self._rows = limits["checks_bytes"], 0
        self.spent = False

    def plain(self, row: Any) -> List[Dict[str, Any]]:
        """The row, or what says why it is lost; nothing once that has been said of all that follow."""
        if self.spent:
            return []
        index, most = self._rows, self._limits["checks_bytes"]
        self._rows += 1
        self.spent = index >= self._limits["checks_rows"]
        if self.spent:
            return [{_LOST: index, "reason": f"more than {index} rows"}]
        try:
            copy = Plain(most, _CHECK_DEPTH).copy(row, "the row")
        except Rejected as problem:
            copy = {_LOST: index, "reason": problem.text}
        size = len(json.dumps(copy, ensure_ascii=False).encode("utf-8"))
        self.spent = size > self._left
        if self.spent:
            return [{_LOST: index, "reason": f"rows from here on are more than {most} bytes in all"}]
        self._left -= size
        return [copy]

"""What an unquoted YAML value means, and which ones are refused because readers disagree about them."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from scorehost.model.canonical import LARGEST

if TYPE_CHECKING:
    from scorehost.spec.yaml_tree import ScalarKind

MAX_DIGITS = 300
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|(0|[1-9][0-9]*)(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_CONSTANTS: dict[str, tuple[ScalarKind, bool | None]] = {
    **dict.fromkeys(("true", "True", "TRUE"), ("boolean", True)),
    **dict.fromkeys(("false", "False", "FALSE"), ("boolean", False)),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), ("null", None)),
}
_AMBIGUOUS = (
    (
        re.compile(r"(?i:yes|no|on|off|y|n)"),
        "is a boolean to some readers of YAML and text to others",
        "quote it, or write true or false",
    ),
    (
        re.compile(r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?"),
        "is a number in base 60 to some readers of YAML and text to others",
        "quote it, or write the number out",
    ),
    (
        re.compile(r"[-+]?0[0-9_]+|[-+]?0[oO][0-7_]+"),
        "is octal to some readers of YAML, decimal or text to others",
        "quote it, or write the number in decimal without a leading zero",
    ),
    (
        re.compile(r"[-+]?0[xX][0-9a-fA-F_]+|[-+]?0[bB][01_]+"),
        "is a number to some readers of YAML and text to others",
        "quote it, or write the number in decimal",
    ),
    (
        re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?"),
        "is a number to some readers of YAML and text to others",
        "quote it, or write the number without `_` and leading zeros",
    ),
    (
        re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt \t].*)?"),
        "is a date to some readers of YAML and text to others",
        "quote it",
    ),
    (
        re.compile(r"[-+]?\.(inf|Inf|INF|nan|NaN|NAN)"),
        "is not a finite number",
        "write a finite number, or quote it",
    ),
)


class Resolved(NamedTuple):
    """A value, or (kind `refused`) why it is none."""

    kind: ScalarKind
    value: str | int | float | bool | None
    text: str = ""
    hint: str = ""


def resolve(raw: str) -> Resolved:
    """What the unquoted scalar `raw` stands for: numbers are decimal and finite, booleans true and false."""
    if raw in _CONSTANTS:
        return Resolved(*_CONSTANTS[raw])
    if raw[0] not in "-+.0123456789" and len(raw) > len("yes"):
        return Resolved("text", raw)
    if _NUMBER.fullmatch(raw):
        return _number(raw)
    for pattern, text, hint in _AMBIGUOUS:
        if pattern.fullmatch(raw):
            return Resolved("refused", None, text, hint)
    return Resolved("text", raw)


def _number(raw: str) -> Resolved:
    if len(raw) > MAX_DIGITS:
        return Resolved("refused", None, f"is a number of more than {MAX_DIGITS} digits", "quote it")
    if _INTEGER.fullmatch(raw):
        if abs(int(raw)) > LARGEST:
            text = "is a whole number beyond 2^53-1, which readers of JSON round differently"
            return Resolved("refused", None, text, "quote it")
        return Resolved("integer", int(raw))
    value = float(raw)
    if math.isfinite(value):
        return Resolved("number", value)
    return Resolved(
        "refused", None, "is beyond what a number can hold", "write a smaller number, or quote it"
    )

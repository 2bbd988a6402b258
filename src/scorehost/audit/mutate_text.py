"""One thing changed in a file of lines: a table, a list, prose, a program in any language."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def change(content: bytes, way: str, chance: random.Random) -> tuple[bytes, str] | None:
    """`way`: value, line, type, order. None when the text offers nothing of the kind, or is no UTF-8."""
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = text.splitlines(keepends=True)
    made = {"value": _value, "line": _dropped, "type": _type, "order": _order}[way](lines, chance)
    return None if made is None else ("".join(made[0]).encode(), made[1])


def _value(lines: list[str], chance: random.Random) -> tuple[list[str], str] | None:
    numbers = [(at, found) for at, line in enumerate(lines) for found in _NUMBER.finditer(line)]
    if numbers:
        at, found = chance.choice(numbers)
        new = (
            str(float(found[0]) + 1 + float(found[0]) // 2) if "." in found[0] else str(int(found[0]) * 2 + 1)
        )
        return _put(lines, at, found, new), f"line {at + 1}: {found[0]} changed to {new}"
    words = [(at, found) for at, line in enumerate(lines) for found in re.finditer(r"\w+", line)]
    if not words:
        return None
    at, found = chance.choice(words)
    return _put(
        lines, at, found, found[0] + "x"
    ), f"line {at + 1}: {found[0][:40]} changed to {found[0][:40]}x"


def _dropped(lines: list[str], chance: random.Random) -> tuple[list[str], str] | None:
    full = [at for at, line in enumerate(lines) if line.strip()]
    if len(full) < 2:  # noqa: PLR2004 - else nothing is left, which is another mutant
        return None
    at = chance.choice(full)
    return lines[:at] + lines[at + 1 :], f"line {at + 1} dropped"


def _type(lines: list[str], chance: random.Random) -> tuple[list[str], str] | None:
    numbers = [(at, found) for at, line in enumerate(lines) for found in _NUMBER.finditer(line)]
    if not numbers:
        return None
    at, found = chance.choice(numbers)
    return _put(lines, at, found, "many"), f"line {at + 1}: {found[0]} turned into a word"


def _order(lines: list[str], chance: random.Random) -> tuple[list[str], str] | None:
    pairs = [at for at in range(len(lines) - 1) if lines[at].strip() != lines[at + 1].strip()]
    pairs = [at for at in pairs if lines[at].strip() and lines[at + 1].strip()]
    if pairs:
        at = chance.choice(pairs)
        one, other = lines[at].rstrip("\r\n") + "\n", lines[at + 1].rstrip("\r\n") + "\n"
        return [*lines[:at], other, one, *lines[at + 2 :]], f"lines {at + 1} and {at + 2} exchanged"
    for at, line in enumerate(lines):
        words = line.split()
        if len(set(words)) > 1 and words[::-1] != words:
            return [
                *lines[:at],
                " ".join(words[::-1]) + "\n",
                *lines[at + 1 :],
            ], f"line {at + 1}: words reversed"
    return None


def _put(lines: list[str], at: int, found: re.Match[str], new: str) -> list[str]:
    line = lines[at][: found.start()] + new + lines[at][found.end() :]
    return [*lines[:at], line, *lines[at + 1 :]]

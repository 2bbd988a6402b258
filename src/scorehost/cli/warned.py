"""What a job left out, ignored, renamed, cut or took instead, at its end: each text once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.cli.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorehost.model.summary import Warned

SHOWN = 20  # different texts on a terminal; summary.json has more


def told_lines(told: Sequence[Warned], beyond: int, where: str) -> list[str]:
    """The lines about warnings, of which `where` has more, and `beyond` further ones; none without any."""
    if not told and not beyond:
        return []
    lines = [f"{count(len(told) + beyond, 'warning')}; none of them changed a verdict:"]
    lines += [visible(f"  {line(one)}") for one in told[:SHOWN]]
    if len(told) > SHOWN:
        lines.append(f"  … and {len(told) - SHOWN} more in {where}")
    if beyond:
        lines.append(f"  … and {beyond} further ones in result.json of attempts")
    return lines


def line(one: Warned) -> str:
    """A warning with how many attempts say it, and which."""
    if not one.attempts:
        return one.text
    if one.count == 1:
        return f"{one.attempts[0]}: {one.text}"
    more = one.count - len(one.attempts)
    names = ", ".join(one.attempts) + (f" and {more} more" if more else "")
    return f"{one.text} ({count(one.count, 'attempt')}: {names})"


def warned_of(told: Sequence[Warned], attempt: str) -> list[str]:
    """The texts that a job of one attempt has to say, its own and that attempt's."""
    return [one.text for one in told if not one.attempts or attempt in one.attempts]

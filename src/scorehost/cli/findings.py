"""Findings about an engine as lines, the worst marked so that an eye and a `grep` find them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.cli.stdout import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorehost.api import Finding

_PROBLEM = 2


def say_findings(findings: Sequence[Finding]) -> None:
    """Each finding on stdout as `level  text`, its hint indented below."""
    for finding in findings:
        say(f"{finding.level:<8} {finding.text}")
        for line in finding.hint.splitlines():
            say(f"{'':<8}   {line}")


def status_of(findings: Sequence[Finding]) -> int:
    """2 when one is a problem, else 0."""
    return _PROBLEM if any(finding.level == "problem" for finding in findings) else 0

"""docs/errors.md, made from the kinds of failures: `python -m scorehost.model.errors_page docs/errors.md`."""

from __future__ import annotations

import sys
from pathlib import Path

from scorehost.model.failure import KINDS, Blame, KindFacts, Phase

_HEAD = """\
# Kinds of ERROR

Made from `scorehost.model.failure` by `make schema`; do not edit it by hand.

An attempt that ends as ERROR has no score. Its `error` in result.json names the **phase** in which it ended,
the **kind**, and whose fault that is (**blame**). The set of kinds is closed: whatever ends an attempt is
one of these, and what nobody foresaw is `internal`.

What an ERROR does to a mean follows from blame and phase. Blame `submission`, and blame `dataset` in the
phase `evaluate`, count as the lowest score: nobody gains by breaking an evaluator. All others are left out;
their number stands beside the mean, and its bounds show what they could have changed.

A **retryable** kind is tried again by itself, `--retry-errors N` times, but not where submitted code had run
and could have been the cause. Every kind can be run again by hand: `scorehost run --resume JOB --rerun
error:KIND`.
"""
_COLUMNS = ("kind", "phases", "retryable", "what happened", "what to do")
_ORDER = (Blame.SUBMISSION, Blame.DATASET, Blame.ENVIRONMENT, Blame.ENGINE, Blame.ADAPTER, Blame.SCOREHOST)


def page() -> str:
    """The text of docs/errors.md."""
    return _HEAD + "".join(_section(blame) for blame in _ORDER)


def _section(blame: Blame) -> str:
    kinds = [(kind, facts) for kind, facts in KINDS.items() if facts.blame is blame]
    if not kinds:
        return ""
    rows = [_line(_COLUMNS), "|---" * len(_COLUMNS) + "|\n", *(_row(kind, facts) for kind, facts in kinds)]
    return f"\n## Blame: {blame.value}\n\n" + "".join(rows)


def _row(kind: str, facts: KindFacts) -> str:
    phases = "any" if set(facts.phases) == set(Phase) else ", ".join(phase.value for phase in facts.phases)
    return _line((f"`{kind}`", phases, "yes" if facts.retryable else "no", facts.meaning, facts.hint))


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")

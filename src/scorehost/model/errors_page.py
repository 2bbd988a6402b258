"""docs/errors.md, made from the kinds of failures: `python -m scorehost.model.errors_page docs/errors.md`."""

from __future__ import annotations

import sys
from pathlib import Path

from scorehost.model.blame import TABLE, TOLD, Row
from scorehost.model.failure import KINDS, Blame, KindFacts, Phase, counts_as_lowest

_HEAD = """\
# Kinds of ERROR

Made from `scorehost.model.failure` by `make schema`; do not edit it by hand.

An attempt that ends as ERROR has no score. Its `error` in result.json names the **phase** in which it ended,
the **kind**, and whose fault that is (**blame**). The set of kinds is closed: whatever ends an attempt is
one of these, and what nobody foresaw is `internal`.

What an ERROR does to a mean follows from blame and phase. Blame `submission`, and blame `dataset` in the
phase `evaluate`, count as the lowest score: nobody gains by breaking an evaluator. So do ERRORs that the work
can have provoked (below). All others are left out; their number stands beside the mean, and its bounds show
what they could have changed.

A **retryable** kind is tried again by itself, `--retry-errors N` times, but not where submitted code had run
and could have been the cause. Every kind can be run again by hand: `scorehost run --resume JOB --rerun
error:KIND`.
"""
_TABLE_HEAD = """
## Trouble of one container

A submission's own container can only hurt the submission, and the machine's troubles never hurt it. What
follows from the trouble of one container is read off this table, which the program itself reads
(`scorehost.model.blame`): the first row counts whose facts all hold. An empty cell means: whatever it is.

- **container**: the evaluator's, a named one, or the run phase's.
- **ran**: what had run there. Whatever an evaluator has executed counts as submitted code, and so does what
  runs in a run phase.
- **ordered by**: who had the engine kill, stop, pause, restart or remove it, by the engine's own events.
  Scorehost knows which orders it gave itself.
- **engine answers**: it says of containers and processes that are not there that they are not there.
- **peak**: the memory that the container held at most, against its own limit. Below 90 % is well below; what
  nobody saw is unknown, and never taken for a peak.
- **counted**: as the lowest score, or left out of the mean, whose bounds then say what it could have changed.
  Told: the evaluator gets a result or an exception, and its verdict counts; a run phase counts as failed, and
  what it published is scored.

"""
_TABLE_COLUMNS = (
    "trouble",
    "container",
    "ran",
    "ordered by",
    "engine answers",
    "peak",
    "kind",
    "blame",
    "retried",
    "counted",
    "because",
)
_COLUMNS = ("kind", "phases", "retryable", "what happened", "what to do")
_ORDER = (Blame.SUBMISSION, Blame.DATASET, Blame.ENVIRONMENT, Blame.ENGINE, Blame.ADAPTER, Blame.SCOREHOST)


_PROVOKED = """
## What the work can have provoked

Work that is judged can make its judge fail: too long for any context, a text that makes it go on for ever, or
trips a filter. A judge that is broken fails in the same ways; what tells them apart is whether it works for
others. Such an attempt is always ERROR, with no score. What it counts as in `mean_score` is decided over the
whole job, from its results:

| the attempt ended by | and | it counts |
|---|---|---|
| {kinds} | the same role answered another call of the job | the lowest; `errors_provoked` tells how many |
| the same | the role answered no call of the job | not; the job says so |
| `share_spent` | another submission that asked agents got along with its share | the lowest |
| `share_spent` | no other did: the limit is too low | not |
| any other kind of blame adapter, environment or engine | | not: the machine's troubles hurt nobody |

In the run phase the same holds for what makes the submission. Kinds of jobs whose means would say something
else with such an ERROR as the lowest score (`provoked: incomplete` of the task in job.json) leave it out, and
are `incomplete`.

An evaluator that catches a failed call cannot PASS by that: PASS (or a score alone) becomes ERROR of the
kind that it caught (of several, of one that can be provoked), unless the task says
`evaluation.tolerate_agent_faults: true`. FAIL stands: the evaluator was told, and decided.
"""


def page() -> str:
    """The text of docs/errors.md."""
    kinds = ", ".join(
        f"`{kind}`" for kind, facts in KINDS.items() if facts.provocable and kind != "share_spent"
    )
    return _HEAD + _table() + _PROVOKED.format(kinds=kinds) + "".join(_section(blame) for blame in _ORDER)


def _table() -> str:
    rows = [_line(_TABLE_COLUMNS), "|---" * len(_TABLE_COLUMNS) + "|\n", *map(_blamed, TABLE)]
    return _TABLE_HEAD + "".join(rows)


def _blamed(row: Row) -> str:
    answers = {None: "", True: "yes", False: "no"}[row.engine_answers]
    facts = (row.trouble, row.place, row.ran, row.order)
    kind, retried = row.verdict
    if kind == TOLD:
        outcome: tuple[str, ...] = ("told", "", "", "as the evaluator says")
    else:
        blame = KINDS[kind].blame
        lowest = counts_as_lowest(blame, Phase.EVALUATE)
        outcome = (
            f"`{kind}`",
            blame.value,
            "yes" if retried else "no",
            "lowest" if lowest else "left out",
        )
    return _line((*map(_any_of, facts), answers, _any_of(row.peak), *outcome, row.why))


def _any_of(values: tuple[str, ...] | None) -> str:
    return "" if values is None else "; ".join(values)


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

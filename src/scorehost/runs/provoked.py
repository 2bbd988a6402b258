"""Which ERRORs the work that is scored can have provoked: decided over a whole job, here and nowhere else.

An answer can be so long that it fits into no context, ask its judge to repeat itself for ever, or trip a
content filter: the call fails, and that is nobody's fault but the answer's. A judge that is broken fails in
the same ways. What tells them apart is whether it works for others. So a fault of a kind that can be provoked
(`KINDS[kind].provocable`) counts as the lowest score where the same role answered another call of the job;
where it answered none it is left out, like any trouble of an adapter, and the job says so.

A share of a budget that is spent (`share_spent`) counts as the lowest where another submission got along with
a share of the same measure; where none did, the budget was too small.

The rule reads nothing but results, so a report, a comparison and a resumed job come to the same end. A kind
of job says for each task what becomes of such an ERROR: `lowest`, or `incomplete`, where the job cannot be
whole.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scorehost.model.failure import KINDS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from scorehost.model.failure import Failure
    from scorehost.model.ids import AttemptKey
    from scorehost.runs.record import TaskRecord
    from scorehost.runs.scored import Scored

SHARE = "share_spent"


@dataclass(frozen=True, slots=True)
class Provoked:
    """What became of the ERRORs of a job that can have been provoked.

    `lowest` count as the lowest score, `incomplete` leave the job incomplete; `unanswered`: roles that
    answered no call, and how many such ERRORs are left out for that.
    """

    lowest: frozenset[AttemptKey] = frozenset()
    incomplete: frozenset[AttemptKey] = frozenset()
    unanswered: tuple[tuple[str, int], ...] = ()

    def counted(self, one: Scored) -> Scored:
        """The attempt as means take it."""
        return replace(one, provoked=True) if one.key in self.lowest else one

    @property
    def words(self) -> str:
        """What a job has to say of it; empty when there is nothing."""
        told = [
            f"the role {role} answered no call of this job, so {number} ERRORs that an answer could have"
            " provoked are left out of the mean"
            for role, number in self.unanswered
        ]
        return "; ".join(told)


def provoked(attempts: Collection[Scored], tasks: Mapping[str, TaskRecord]) -> Provoked:
    """Decides over all finished attempts of a job; `tasks` are those of its record."""
    suspects = [one for one in attempts if one.error is not None and could_be(one.error)]
    if not suspects:
        return Provoked()
    working = frozenset[str]().union(*(one.answered for one in attempts))
    within = _within_their_share(attempts)
    lowest: set[AttemptKey] = set()
    incomplete: set[AttemptKey] = set()
    unanswered: dict[str, int] = {}
    for one in suspects:
        role = one.error.role or "" if one.error is not None else ""
        by_share = one.error is not None and one.error.kind == SHARE
        if not (within - {one.key.submission} if by_share else role in working):
            if not by_share:
                unanswered[role] = unanswered.get(role, 0) + 1
            continue
        task = tasks.get(one.key.task_id)
        (lowest if task is not None and task.provoked == "lowest" else incomplete).add(one.key)
    return Provoked(frozenset(lowest), frozenset(incomplete), tuple(sorted(unanswered.items())))


def could_be(error: Failure) -> bool:
    """Whether what was handed in can have brought this failure about, by its kind. Old results name no role:
    of them nobody can tell.
    """
    return KINDS[error.kind].provocable and (error.role is not None or error.kind == SHARE)


def _within_their_share(attempts: Iterable[Scored]) -> frozenset[str]:
    """Submissions that asked agents and never came to the end of their share."""
    asked, spent = set[str](), set[str]()
    for one in attempts:
        if one.answered:
            asked.add(one.key.submission)
        if one.error is not None and one.error.kind == SHARE:
            spent.add(one.key.submission)
    return frozenset(asked - spent)

"""What each submission may have of a job's calls and tokens: none spends what others have a right to.

A limit is parted by the tasks that each submission has in the plan, and each part by its planned attempts:
whoever hands in more samples has no larger part of it. What a submission's attempts have not spent
stays its own until they are finished; then what is left goes to a pool that all draw from, first come, first
served. A call is let through when its estimate fits into what is left of the submission's own and the pool.
An estimate can be wrong: then its submission has spent more than its share, and others still have theirs, so
that a job may pass
`--max-tokens` by what the calls of each submission cost beyond their estimates.

Everything follows from what was spent and which attempts are finished, which the journal has: a resumed job
goes on as it was.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from scorehost.adapters.requests import AdapterRequest, JudgeRequest, SessionRequest
from scorehost.calls.budget import SPENT, Budget
from scorehost.errors import BudgetSpent
from scorehost.model import json

SHARE = "share_spent"  # the kind of failure when it is a submission that may have no more
# English and code come to some four bytes a token; too high an estimate would refuse calls that fit.
BYTES_PER_TOKEN = 4


def estimated_tokens(request: AdapterRequest) -> int:
    """What a call will cost at least, told by the size of its prompt before anybody has counted."""
    texts = [request.prompt]
    if isinstance(request, JudgeRequest):
        texts += [request.output, request.assertion.description]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts)
    if isinstance(request, SessionRequest):
        size += len(json.canonical(list(request.messages)))
    return size // BYTES_PER_TOKEN


@dataclass(slots=True)
class Shares:
    """The limits of one job, parted among its submissions. `of` gives the budget of one."""

    max_calls: int | None
    max_tokens: int | None
    attempts: Mapping[str, int]
    """How many attempts each submission has in the plan"""
    tasks: Mapping[str, int]
    """How many tasks it has there: by these a limit is parted"""
    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    """What each has spent, with the estimates of what is under way"""
    _over: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def of(self, submission: str, within: Budget) -> Budget:
        """The budget of one submission; what it spends counts `within` the job's too, which has no limit."""
        return _Share(within=within, shares=self, submission=submission)

    def begun(self, submission: str, key: str) -> None:
        """An attempt is made, perhaps again: it has its right."""
        self._over[submission].discard(key)

    def finished(self, submission: str, keys: Iterable[str]) -> None:
        """These attempts are over: what is left of their rights goes to the pool."""
        self._over[submission].update(keys)

    def check(self, submission: str, tokens: int) -> None:
        """Raises BudgetSpent when a call of so many tokens is more than the submission may have now."""
        for option, most, spent, wanted in (
            ("--max-calls", self.max_calls, self.calls, 1),
            ("--max-tokens", self.max_tokens, self.tokens, tokens),
        ):
            if most is None:
                continue
            rights = {name: self._right(name, most, spent) for name in self.attempts}
            pool = max(0, most - spent.total() - sum(rights.values()))
            left = rights.get(submission, 0) + pool
            if 0 < left >= wanted:
                continue
            share = most * self.tasks.get(submission, 0) // sum(self.tasks.values())
            if share < 1:
                text = f"{option} is {most}, and {spent.total()} are spent"
                raise BudgetSpent(f"the job may make no more calls of agents: {text}", kind=SPENT)
            raise BudgetSpent(
                f"{submission} may make no such call of agents: its share of {option} {most} is {share}, "
                f"{spent[submission]} are spent, and the call needs about {wanted}",
                kind=SHARE,
            )

    def _right(self, name: str, most: int, spent: Mapping[str, int]) -> int:
        """What a submission still has a right to: not more than its attempts that are left, or its share."""
        part, whole, own = self.tasks[name], sum(self.tasks.values()), self.attempts[name]
        left = most * part * max(0, own - len(self._over[name])) // (whole * own)
        return max(0, min(left, most * part // whole - spent.get(name, 0)))


@dataclass(slots=True)
class _Share(Budget):
    shares: Shares | None = None
    submission: str = ""

    def check(self, tokens: int) -> None:
        assert self.shares is not None  # noqa: S101 - `Shares.of` gives it
        self.shares.check(self.submission, tokens)

    def count(self, calls: int, tokens: int) -> None:
        Budget.count(self, calls, tokens)
        assert self.shares is not None  # noqa: S101 - `Shares.of` gives it
        self.shares.calls[self.submission] += calls
        self.shares.tokens[self.submission] += tokens

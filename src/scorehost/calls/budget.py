"""What calls may cost: counted before each is made, for a job and for each share of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scorehost.errors import BudgetSpent
from scorehost.model.call import RoleUsage

SPENT = "budget_spent"  # the kind of failure when it is the whole job that may have no more


@dataclass(slots=True)
class Budget:
    """What may be spent, and what was, also before a job was resumed. A limit of None: none of its own.

    A job has one; a share lies `within` it (or within another share) and is what one attempt, one submission
    or one case may have of it. A call counts in all of them, or is refused by one and counts in none.
    """

    max_calls: int | None = None
    max_tokens: int | None = None
    calls: int = 0
    tokens: int = 0
    within: Budget | None = None
    refusal: str = ""

    def share(
        self, *, max_calls: int | None = None, max_tokens: int | None = None, refusal: str = ""
    ) -> Budget:
        """A share of it. `refusal`: what to tell whoever asks for more."""
        return Budget(max_calls, max_tokens, within=self, refusal=refusal)

    def begin(self, tokens: int = 0) -> None:
        """Counts a call before it is made, and the `tokens` that it is estimated to use, until its end.

        Raises BudgetSpent, of kind budget_spent when a job refuses, share_spent when it is a submission's.
        """
        for each in self._all():
            each.check(tokens)
        for each in self._all():
            each.count(1, tokens)

    def end(self, usage: RoleUsage, tokens: int = 0) -> None:
        """Counts the tokens that it used in place of the estimate. A call that was cut off used some that
        nobody was told of.
        """
        for each in self._all():
            each.count(0, usage.input_tokens + usage.output_tokens - tokens)

    def _all(self) -> Iterator[Budget]:
        one: Budget | None = self
        while one is not None:
            yield one
            one = one.within

    def count(self, calls: int, tokens: int) -> None:
        """Takes so much as spent; less than 0 gives it back."""
        self.calls += calls
        self.tokens += tokens

    def check(self, tokens: int) -> None:  # noqa: ARG002 - what a call may cost matters to shares
        """Raises BudgetSpent when nothing is left."""
        whole = self.within is None
        for name, most, spent in (
            ("--max-calls" if whole else "calls", self.max_calls, self.calls),
            ("--max-tokens" if whole else "tokens", self.max_tokens, self.tokens),
        ):
            if most is None or spent < most:
                continue
            who = "the job" if whole else "this share of the job"
            text = f"{who} may make no more calls of agents: {name} is {most}, and {spent} are spent"
            raise BudgetSpent(self.refusal or text, kind=SPENT if whole else "")

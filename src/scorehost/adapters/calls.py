"""One call of a role from its request to its record: tries, pauses between them, and the end."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import anyio

from scorehost.adapters.execs import ExecCall
from scorehost.adapters.pace import Pace
from scorehost.adapters.registry import RequestIds
from scorehost.adapters.requests import AdapterRequest, SessionRequest
from scorehost.adapters.tries import Executor, Outcome, Settled, note, settle
from scorehost.aio.retry import Retry
from scorehost.model import json
from scorehost.model.call import CallRecord, Fault, Reply, Try
from scorehost.model.failure import Failure, Phase, failure
from scorehost.model.ids import utc_now
from scorehost.model.masking import Masker
from scorehost.spec.roles import Role

# A reply that was played again, an adapter that is not there, a request that is refused for what it says:
# none gets better by asking again.
_FINAL = ("adapter_duplicate_id", "adapter_cache_hit", "adapter_missing", "adapter_refused")


@dataclass(frozen=True, slots=True)
class Call:
    """How a call ended, and all that is kept of it. Exactly one of `reply` and `fault` is set.

    `request`: the bytes that the adapter got, masked. `outcomes`: the kept bytes of each try of the record.
    """

    record: CallRecord
    request: bytes
    outcomes: tuple[Outcome, ...]

    @property
    def reply(self) -> Reply | None:
        """The checked reply, known secrets masked in it."""
        return self.record.reply

    @property
    def fault(self) -> Fault | None:
        """Why there is no reply. `fault.invalidates`: the whole job is invalid."""
        return self.record.fault

    def failure(self, phase: Phase) -> Failure | None:
        """What the attempt ends with when nobody catches the fault; None when there is a reply."""
        if self.fault is None:
            return None
        return failure(phase, self.fault.kind, f"role `{self.record.role}`: {self.fault.message}")


class Calling:
    """One call under way. `role` None: nothing is bound."""

    def __init__(
        self, name: str, role: Role | None, request: AdapterRequest, environment: str | None, masker: Masker
    ) -> None:
        self._name, self._role, self._request = name, role, request
        self._environment, self._masker = environment, masker
        self._at, self._began = utc_now(), anyio.current_time()
        self._tries: list[Try] = []
        self._outcomes: list[Outcome] = []

    def missing(self, text: str) -> Call:
        """The call of a role that cannot play it."""
        sent = json.canonical(self._request.wire(tied=False, archive=None)) + b"\n"
        settled = Settled(Outcome(request=sent), None, None, Fault.of("adapter_missing", text))
        self._outcomes.append(settled.outcome)
        self._tries.append(note(settled, number=1, started_at=self._at, waited=0, seconds=0))
        return self._call(settled)

    async def run(
        self,
        executor: Executor,
        pace: Pace,
        ids: RequestIds,
        exec_call: ExecCall | None,
        *,
        asked_again: Retry,
        whole: Retry,
    ) -> Call:
        """Makes the call. `asked_again`: of one request that the other side asks to send again, all within
        the role's time limit; `whole`: of all of it, after an infrastructure fault.
        """
        done = 0
        while True:
            settled = await self._within_limit(executor, pace, ids, exec_call, asked_again)
            done += 1
            # What a try did in its host cannot be taken back, so it is not done twice.
            if settled.fault is None or settled.fault.kind in _FINAL or settled.outcome.execs:
                break
            if not await whole.wait(done):
                break
        return self._call(settled)

    async def _within_limit(
        self, executor: Executor, pace: Pace, ids: RequestIds, exec_call: ExecCall | None, retry: Retry
    ) -> Settled:
        left = self._role.timeout_seconds if self._role else 0.0
        done = 0
        while True:
            at = utc_now()
            async with pace.turn() as waited:
                began = anyio.current_time()
                outcome = await executor.attempt(self._request, exec_call, left)
                seconds = anyio.current_time() - began
            settled = settle(outcome, self._request, ids)
            self._outcomes.append(outcome)
            self._tries.append(
                note(settled, number=len(self._tries) + 1, started_at=at, waited=waited, seconds=seconds)
            )
            done += 1
            pause = retry.after(done, asked=outcome.retry_after_seconds) if outcome.again else None
            if pause is None or (left := left - seconds - pause) <= 0:
                return settled
            await anyio.sleep(pause)

    def _call(self, settled: Settled) -> Call:
        request, role = self._request, self._role
        sent = self._outcomes[-1].request
        kept = self._masker.data(sent)
        session = request if isinstance(request, SessionRequest) else None
        record = CallRecord(
            role=self._name,
            mode=request.mode,
            executor=role.executor if role else None,
            model=role.model if role else "",
            parameters=role.parameters if role else {},
            environment=self._environment,
            session_id=session.session_id if session else None,
            turn=session.turn if session else None,
            prompt_sha256="sha256:"
            + hashlib.sha256(request.prompt.encode("utf-8", "surrogatepass")).hexdigest(),
            request_sha256="sha256:" + hashlib.sha256(sent).hexdigest(),
            request_masked=kept != sent,
            started_at=self._at,
            duration_seconds=round(anyio.current_time() - self._began, 3),
            tries=tuple(self._tries),
            reply=settled.reply,
            fault=settled.fault,
        )
        return Call(record=record, request=kept, outcomes=tuple(self._outcomes))

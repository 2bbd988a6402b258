"""Calls of one record: each counted before it is made, its files written into a sink, its end told.

A record is whatever keeps calls together: an attempt at a task, a case of a suite, an eval of an endpoint.

    job = JobCalls(roles, Budget(max_calls=100))
    calls = job.recorder(sink, emit)
    call = await calls.call("judge", request)     # call.reply or call.fault
    calls.close()
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from scorehost.adapters.calls import Call
from scorehost.adapters.execs import ExecCall
from scorehost.adapters.requests import AdapterRequest
from scorehost.adapters.roles import Roles
from scorehost.calls.budget import Budget
from scorehost.calls.records import call_files, observation_lines
from scorehost.calls.shares import Shares, estimated_tokens
from scorehost.model import json
from scorehost.model.call import RoleUsage, readable, usage_by_role
from scorehost.model.result import AgentCalls

ENDED = "agent_call"  # the event that tells of a call
Emit = Callable[[str, Mapping[str, Any]], None]


class Sink(Protocol):
    """Where the files of a record go, such as the draft of an attempt."""

    def write(self, path: str, data: bytes) -> None:
        """Keeps a file; `path` is relative to the record. Raises DiskFull."""


@dataclass(frozen=True, slots=True)
class JobCalls:
    """The bound roles of a job, and what all of its records may spend together; `shares`: and each submission
    of it.
    """

    roles: Roles
    budget: Budget
    shares: Shares | None = None

    def budget_of(self, submission: str) -> Budget:
        """What the attempts at one submission may spend."""
        return self.budget if self.shares is None else self.shares.of(submission, self.budget)

    def recorder(self, sink: Sink, emit: Emit, *, share: Budget | None = None) -> Recorder:
        """The calls of one record. `share`: what it may have of the budget; without one, all of it."""
        return Recorder(self.roles, share or self.budget, sink, emit)


class Recorder:
    """The calls of one record; safe to use from many tasks at once.

    `made` counts them, `by_role` says what came of them. `warnings` has a line for each that has no reply.
    """

    def __init__(self, roles: Roles, budget: Budget, sink: Sink, emit: Emit) -> None:
        self._roles, self._budget, self._sink, self._emit = roles, budget, sink, emit
        self._lines: dict[str, list[bytes]] = {}
        self._numbers: dict[str, int] = {}
        self.made = 0
        self.by_role: dict[str, AgentCalls] = {}
        self.warnings: list[str] = []

    async def call(
        self,
        role: str,
        request: AdapterRequest,
        *,
        folder: str = "",
        about: Mapping[str, Any] | None = None,
        exec_call: ExecCall | None = None,
        environment: str | None = None,
        once: bool = False,
    ) -> Call:
        """Makes one call; it has a reply or a fault, and everything of it is kept, known secrets masked.

        `folder`: where in the record its files go (`<folder>/calls/<n>/…`, each folder counted by itself).
        `about`: what its event says besides (a phase, say). `exec_call`, `environment`, `once` as of
        `Roles.call`. Raises BudgetSpent before anything is sent, DiskFull, and what `exec_call` raises.
        """
        estimate = estimated_tokens(request)
        self._budget.begin(estimate)
        self.made += 1
        self._count(role, made=1)
        number = self._numbers[folder] = self._numbers.get(folder, 0) + 1
        told = {"number": number, **(about or {}), "role": role, "mode": request.mode}
        try:
            call = await self._roles.call(
                role, request, exec_call=exec_call, environment=environment, once=once
            )
        except BaseException:
            # Cut off with its phase or its host: it was made, and the job's account must have it.
            cut = RoleUsage(calls=1, unknown=1).model_dump()
            self._budget.end(RoleUsage(), estimate)
            self._emit(ENDED, {**told, "ended": "cut off", "request_ids": [], "usage": cut})
            raise
        self._keep(call, folder, told, estimate)
        return call

    def _count(
        self, role: str, *, made: int = 0, answered: int = 0, unreadable: int = 0, fault: str = ""
    ) -> None:
        was = self.by_role.get(role) or AgentCalls(made=0, answered=0)
        self.by_role[role] = AgentCalls(
            made=was.made + made,
            answered=was.answered + answered,
            unreadable=was.unreadable + unreadable,
            faults=was.faults | ({fault: was.faults.get(fault, 0) + 1} if fault else {}),
        )

    def _keep(self, call: Call, folder: str, told: Mapping[str, Any], estimate: int) -> None:
        usage = usage_by_role([call.record])[call.record.role]
        self._budget.end(usage, estimate)
        if call.fault is not None:
            self._count(call.record.role, fault=call.fault.kind)
        else:
            self._count(call.record.role, answered=1, unreadable=0 if readable(call.reply) else 1)
        number, fault = told["number"], call.fault
        for path, data in call_files(call, _below(folder, f"calls/{number}")).items():
            self._sink.write(path, data)
        rows = (json.canonical(line) + b"\n" for line in observation_lines(call))
        self._lines.setdefault(folder, []).extend(rows)
        if fault is not None:
            self.warnings.append(f"call {number} of role {call.record.role}: {fault.kind}: {fault.message}")
        ids = [each.provenance.request_id for each in call.record.tries if each.provenance is not None]
        ended = {"ended": "reply" if fault is None else fault.kind, "request_ids": ids}
        invalid = {"invalidates": True} if fault is not None and fault.invalidates else {}
        self._emit(ENDED, {**told, **ended, **invalid, "usage": usage.model_dump()})

    def close(self) -> None:
        """Writes observation.jsonl of each folder in which a call ended. Raises DiskFull."""
        for folder, lines in self._lines.items():
            self._sink.write(_below(folder, "observation.jsonl"), b"".join(lines))


def _below(folder: str, path: str) -> str:
    return f"{folder}/{path}" if folder else path

"""Agents of a job and of its attempts: calls counted before they are made, recorded, and told to the job."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, Literal

from scorehost.adapters.calls import Call
from scorehost.adapters.execs import ExecAnswer, ExecAsk, ExecCall
from scorehost.adapters.records import call_files, observation_lines
from scorehost.adapters.requests import AdapterRequest, Assertion, JudgeRequest, SessionRequest
from scorehost.adapters.roles import Roles
from scorehost.hosts.agents import AgentFault, JobBudgetSpent, UnknownRole, Work, WorkPlace
from scorehost.hosts.frames import BudgetSpent
from scorehost.model import json
from scorehost.model.call import Reply, RoleUsage, usage_by_role
from scorehost.model.failure import Phase
from scorehost.runs.drafting import Drafting
from scorehost.spec.task import TaskSpec

SESSION_BYTES = 16 * 1024 * 1024  # of prompts and replies that one session carries along
FOLDERS = {Phase.RUN: "run", Phase.EVALUATE: "evaluation"}
Emit = Callable[[str, Mapping[str, Any]], None]


@dataclass(slots=True)
class JobAgents:
    """The bound roles of a job, and what its attempts have spent together, also before it was resumed."""

    roles: Roles
    max_calls: int | None = None
    max_tokens: int | None = None
    calls: int = 0
    tokens: int = 0

    def begin_call(self) -> None:
        """Counts a call before it is made. Raises JobBudgetSpent."""
        for name, most, spent in (
            ("--max-calls", self.max_calls, self.calls),
            ("--max-tokens", self.max_tokens, self.tokens),
        ):
            if most is not None and spent >= most:
                text = f"the job may make no more calls of agents: {name} is {most}, and {spent} are spent"
                raise JobBudgetSpent(text)
        self.calls += 1

    def end_call(self, usage: RoleUsage) -> None:
        """Counts what it used."""
        self.tokens += usage.input_tokens + usage.output_tokens


@dataclass(slots=True)
class AttemptAgents:
    """The calls of one attempt. `emit` tells the job of each call that ended."""

    job: JobAgents
    spec: TaskSpec
    draft: Drafting
    emit: Emit
    invocations: int = 0
    warnings: list[str] = field(default_factory=list)
    _lines: dict[str, list[bytes]] = field(default_factory=dict)
    _numbers: dict[str, int] = field(default_factory=dict)
    role_digests: dict[str, str] = field(default_factory=dict)  # of the roles that the verdict rests on

    def during(self, phase: Literal[Phase.RUN, Phase.EVALUATE]) -> PhaseAgents:
        """What a host of that phase may ask."""
        return PhaseAgents(self, phase)

    async def call(
        self,
        phase: Phase,
        role: str,
        request: AdapterRequest,
        *,
        place: WorkPlace | None,
        environment: str | None,
    ) -> Mapping[str, Any]:
        """One call, counted before it is made. Raises AgentFault, BudgetSpent, and what the place raises."""
        limit = self.spec.limits.agent_invocations
        if self.invocations >= limit:
            text = f"{limit} calls of agents are what an attempt at this task may have"
            raise BudgetSpent(f"{text} (limits.agent_invocations)")
        self.job.begin_call()
        self.invocations += 1
        bound = self.job.roles.bound.get(role)
        if bound is not None and phase is Phase.EVALUATE:
            self.role_digests[role] = bound.digest
        folder = FOLDERS[phase]
        number = self._numbers[folder] = self._numbers.get(folder, 0) + 1
        told = {"number": number, "phase": phase.value, "role": role, "mode": request.mode}
        exec_call = None if place is None else _exec_call(place)
        try:
            call = await self.job.roles.call(role, request, exec_call=exec_call, environment=environment)
        except BaseException:
            # Cut off with its phase or its host: it was made, and the job's account must have it.
            cut = RoleUsage(calls=1).model_dump()
            self.emit("agent_call", {**told, "ended": "cut off", "request_ids": [], "usage": cut})
            raise
        self._keep(call, folder, number, told)
        if call.fault is not None:
            raise AgentFault(call.fault.kind, f"role `{role}`: {call.fault.message}")
        return _value(call.reply)

    def _keep(self, call: Call, folder: str, number: int, told: Mapping[str, Any]) -> None:
        usage = usage_by_role([call.record])[call.record.role]
        self.job.end_call(usage)
        for path, data in call_files(call, f"{folder}/calls/{number}").items():
            self.draft.write(path, data)
        rows = (json.canonical(line) + b"\n" for line in observation_lines(call))
        self._lines.setdefault(folder, []).extend(rows)
        fault = call.fault
        if fault is not None:
            self.warnings.append(f"call {number} of role {call.record.role}: {fault.kind}: {fault.message}")
        ids = [each.provenance.request_id for each in call.record.tries if each.provenance is not None]
        ended = {"ended": "reply" if fault is None else fault.kind, "request_ids": ids}
        invalid = {"invalidates": True} if fault is not None and fault.invalidates else {}
        self.emit("agent_call", {**told, **ended, **invalid, "usage": usage.model_dump()})

    def close(self) -> None:
        """Writes observation.jsonl of each phase in which an agent was called."""
        for folder, lines in self._lines.items():
            self.draft.write(f"{folder}/observation.jsonl", b"".join(lines))


class PhaseAgents:
    """Agents as hosts ask them, in one phase (`scorehost.hosts.agents.Agents`)."""

    def __init__(self, attempt: AttemptAgents, phase: Phase) -> None:
        self._attempt = attempt
        self._phase = phase

    def session(self, role: str, environment: str | None, place: WorkPlace | None) -> _Session:
        """A session. Raises UnknownRole."""
        listed = [each.id for each in self._attempt.spec.agent_profiles]
        if role not in listed:
            known = ", ".join(listed)
            raise UnknownRole(f"{role[:80]!r} is no role of this task; task.yaml lists {known}")
        bound = self._attempt.job.roles.bound.get(role)
        if bound is not None and self._phase.value not in bound.role.phases:
            only = ", ".join(bound.role.phases)
            raise UnknownRole(f"the role {role} is bound for the phase {only} only (phases in profiles.yaml)")
        return _Session(self._attempt, self._phase, role, environment, place)


class _Session:
    def __init__(
        self,
        attempt: AttemptAgents,
        phase: Phase,
        role: str,
        environment: str | None,
        place: WorkPlace | None,
    ) -> None:
        self._attempt, self._phase, self._role = attempt, phase, role
        self._environment, self._place = environment, place
        self._id = token_hex(8)
        self._turn = 0
        self._messages: list[dict[str, Any]] = []
        self._size = 0

    async def invoke(self, prompt: str) -> Mapping[str, Any]:
        """One more turn; a turn that failed leaves nothing in the conversation."""
        if self._size + len(prompt) > SESSION_BYTES:
            raise BudgetSpent(f"a session carries {SESSION_BYTES} characters; open another one")
        request = SessionRequest(
            role=self._role,
            session_id=self._id,
            turn=self._turn + 1,
            prompt=prompt,
            messages=tuple(self._messages),
        )
        value = await self._call(request)
        self._turn += 1
        output = value["output"]
        content = output if isinstance(output, str) else json.canonical(output).decode()
        self._messages += [{"role": "user", "content": prompt}, {"role": "assistant", "content": content}]
        self._size += len(prompt) + len(content)
        return value

    async def judge(
        self, *, case_id: str, prompt: str, output: str, assertion: Mapping[str, str]
    ) -> Mapping[str, Any]:
        """One judgement, which is no turn."""
        keys = {"id", "description", "oracle", "severity"}
        blank = [key for key in ("id", "description") if not assertion.get(key, "").strip()]
        if blank or set(assertion) - keys or assertion.get("oracle", "llm_judge") != "llm_judge":
            text = "an assertion has id, description (neither blank) and, if it says more, severity"
            raise ValueError(f"{text}; its oracle can only be llm_judge")
        stated = Assertion.model_validate(dict(assertion))
        request = JudgeRequest(case_id=case_id, prompt=prompt, output=output, assertion=stated)
        return await self._call(request)

    def _call(self, request: AdapterRequest) -> Awaitable[Mapping[str, Any]]:
        return self._attempt.call(
            self._phase, self._role, request, place=self._place, environment=self._environment
        )


def _exec_call(place: WorkPlace) -> ExecCall:
    async def run(ask: ExecAsk) -> ExecAnswer:
        try:
            stdin = None if ask.stdin is None else ask.stdin.encode("utf-8")
            outcome = await place(Work(ask.argv, stdin, ask.timeout))
        except BudgetSpent as error:
            return ExecAnswer(exit_code=None, error=error.message)
        except ValueError:
            return ExecAnswer(exit_code=None, error="argv or stdin holds what no program can be given")
        return ExecAnswer(
            exit_code=outcome.exit_code,
            stdout=outcome.stdout,
            stderr=outcome.stderr,
            truncated=outcome.truncated,
            timed_out=outcome.timed_out,
            oom_killed=outcome.oom_killed,
            host_lost=outcome.host_lost,
            duration_seconds=outcome.duration_seconds,
        )

    return run


def _value(reply: Reply | None) -> Mapping[str, Any]:
    if reply is None:
        raise AgentFault("adapter_malformed", "the call ended without a reply")
    usage = reply.provenance.token_usage
    counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    value: dict[str, Any] = {"request_id": reply.provenance.request_id, **counts}
    if reply.status is not None:
        return {**value, "status": reply.status, "reason": reply.reason}
    return {**value, "output": reply.output}


def role_names(specs: Iterable[TaskSpec]) -> frozenset[str]:
    """The roles that some tasks list."""
    return frozenset(role.id for spec in specs for role in spec.agent_profiles)

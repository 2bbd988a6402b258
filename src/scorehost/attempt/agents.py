"""Agents as the hosts of one attempt ask them: sessions of its task's roles, answered by recorded calls."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from secrets import token_hex
from typing import Any, Literal

from scorehost.adapters.execs import ExecAsk, ExecCall, NotRun
from scorehost.adapters.faults import failed
from scorehost.adapters.requests import AdapterRequest, Assertion, JudgeRequest, SessionRequest
from scorehost.calls.recorder import Emit, JobCalls
from scorehost.errors import BudgetSpent, CallFailed
from scorehost.hosts.agents import UnknownRole, Work, WorkPlace
from scorehost.hosts.sessions import Told
from scorehost.model import json
from scorehost.model.call import Reply
from scorehost.model.exec_result import ExecResult
from scorehost.model.failure import KINDS, Failure, Phase, failure
from scorehost.model.result import AgentCalls, Status
from scorehost.runs.drafting import Drafting
from scorehost.spec.task import TaskSpec

SESSION_BYTES = 16 * 1024 * 1024  # of prompts and replies that one session carries along
FOLDERS = {Phase.RUN: "run", Phase.EVALUATE: "evaluation"}


class AttemptAgents:
    """The calls of one attempt at a task; `emit` tells the job of each that ended."""

    def __init__(
        self, job: JobCalls, spec: TaskSpec, draft: Drafting, emit: Emit, *, submission: str = ""
    ) -> None:
        limit = spec.limits.agent_invocations
        text = f"{limit} calls of agents are what an attempt at this task may have (limits.agent_invocations)"
        self.roles, self.spec = job.roles, spec
        self.role_digests: dict[str, str] = {}
        """What answered, by role, of each role that the verdict rests on"""
        self.failed: list[Failure] = []
        """Why calls of the evaluation failed, also those that the evaluator caught"""
        whose = job.budget_of(submission)
        self._calls = job.recorder(draft, emit, share=whose.share(max_calls=limit, refusal=text))

    @property
    def invocations(self) -> int:
        """How many calls were made."""
        return self._calls.made

    @property
    def by_role(self) -> Mapping[str, AgentCalls]:
        """What came of the calls of each role."""
        return dict(sorted(self._calls.by_role.items()))

    @property
    def warnings(self) -> list[str]:
        """A line for each call that has no reply."""
        return self._calls.warnings

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
        """One call, as a reply frame has it. Raises CallFailed, BudgetSpent, and what the place raises."""
        bound = self.roles.bound.get(role)
        if bound is not None and phase is Phase.EVALUATE:
            self.role_digests[role] = bound.digest
        try:
            call = await self._calls.call(
                role,
                request,
                folder=FOLDERS[phase],
                about={"phase": phase.value},
                exec_call=None if place is None else _exec_call(place),
                environment=environment,
            )
        except BudgetSpent as spent:
            if spent.kind:
                self._failed(phase, spent.kind, spent.message, role)
            raise
        if call.fault is not None:
            words = f"role `{role}`: {call.fault.message}"
            self._failed(phase, call.fault.kind, words, role)
            raise CallFailed(call.fault.model_copy(update={"message": words}))
        return _value(call.reply)

    def _failed(self, phase: Phase, kind: str, message: str, role: str) -> None:
        if phase is Phase.EVALUATE:
            self.failed.append(failure(phase, kind, message, role=role))

    def must_not_pass(self, status: Status, misread: Told | None) -> Failure | None:
        """What a verdict ends with that is not FAIL, though calls that it was to rest on failed and the
        evaluator caught that: none passes for want of its judge. Of several, one that the work itself can
        have provoked: it must not be hidden behind another. `misread`: a reply that was none.
        """
        if misread is not None:
            self._failed(Phase.EVALUATE, "adapter_malformed", misread.message, misread.role)
        if status == "FAIL" or not self.failed or self.spec.evaluation.tolerate_agent_faults:
            return None
        first = max(self.failed, key=lambda one: KINDS[one.kind].provocable)
        more = f" ({len(self.failed)} calls failed)" if len(self.failed) > 1 else ""
        caught = "the evaluator caught that a call of an agent failed"
        words = f"{caught}, and returned {status}: {first.message}{more}"
        hint = (
            "Let it fail, or set evaluation.tolerate_agent_faults where a verdict can do without its judge."
        )
        return first.model_copy(update={"message": words, "hint": hint})

    def close(self) -> None:
        """Writes observation.jsonl of each phase in which an agent was called."""
        self._calls.close()


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
        bound = self._attempt.roles.bound.get(role)
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
    async def run(ask: ExecAsk) -> ExecResult:
        try:
            stdin = None if ask.stdin is None else ask.stdin.encode("utf-8")
            return await place(Work(ask.argv, stdin, ask.timeout))
        except BudgetSpent as error:
            raise NotRun(error.message) from None
        except ValueError:
            raise NotRun("argv or stdin holds what no program can be given") from None

    return run


def _value(reply: Reply | None) -> Mapping[str, Any]:
    if reply is None:
        raise failed("adapter_malformed", "the call ended without a reply")
    usage = reply.provenance.token_usage
    counts = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    value: dict[str, Any] = {"request_id": reply.provenance.request_id, **counts}
    if reply.status is not None:
        return {**value, "status": reply.status, "reason": reply.reason}
    return {**value, "output": reply.output}


def role_names(specs: Iterable[TaskSpec]) -> frozenset[str]:
    """The roles that some tasks list."""
    return frozenset(role.id for spec in specs for role in spec.agent_profiles)

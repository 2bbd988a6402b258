"""The attempt's side of calls: limits of the task, roles that nothing can play, what an evaluator gets."""

from __future__ import annotations

import pytest

from adapters.adapter_scripts import Bench
from scorehost.attempt.agents import AttemptAgents
from scorehost.calls.budget import Budget
from scorehost.calls.recorder import JobCalls
from scorehost.errors import BudgetSpent, CallFailed
from scorehost.hosts.agents import UnknownRole
from scorehost.model.failure import Phase
from scorehost.spec.task import TaskSpec

pytestmark = pytest.mark.anyio
SPEC = TaskSpec.model_validate(
    {
        "task_id": "one",
        "agent_profiles": [{"id": "judge"}, {"id": "acp"}],
        "limits": {"agent_invocations": 2},
    },
    strict=False,
)


class Draft(dict):
    def write(self, path, data):
        self[path] = data


@pytest.fixture
async def agents(tmp_path):
    """The agents of an attempt; `judge` is bound and echoes, `acp` is not."""
    (tmp_path / "scripts").mkdir()
    async with Bench(tmp_path / "scripts").open("say(reply(output='{\"ok\": true}'))") as roles:
        yield AttemptAgents(JobCalls(roles, Budget(max_calls=10)), SPEC, Draft(), lambda *_: None)


async def test_a_reply_is_the_value_of_a_reply_frame(agents):
    session = agents.during(Phase.EVALUATE).session("judge", None, None)
    value = await session.invoke("is it so?")
    assert value["output"] == '{"ok": true}'
    assert (value["input_tokens"], value["output_tokens"]) == (3, 5)
    assert set(value) == {"output", "request_id", "input_tokens", "output_tokens"}


async def test_a_listed_role_that_nothing_can_play_is_missing_and_blames_the_adapter(agents):
    session = agents.during(Phase.EVALUATE).session("acp", None, None)
    with pytest.raises(CallFailed, match="role `acp`: the role `acp` has no binding") as caught:
        await session.invoke("is it so?")
    assert caught.value.kind == "adapter_missing"
    assert agents.warnings == ["call 1 of role acp: adapter_missing: the role `acp` has no binding"]


async def test_a_role_that_the_task_does_not_list_is_refused(agents):
    with pytest.raises(UnknownRole, match=r"task\.yaml lists judge, acp"):
        agents.during(Phase.EVALUATE).session("solver", None, None)


async def test_the_tasks_limit_counts_over_both_phases_and_says_its_key(agents):
    for phase in (Phase.RUN, Phase.EVALUATE):
        await agents.during(phase).session("judge", None, None).invoke("?")
    with pytest.raises(BudgetSpent, match=r"2 calls of agents .* \(limits\.agent_invocations\)") as caught:
        await agents.during(Phase.EVALUATE).session("judge", None, None).invoke("?")
    assert (caught.value.kind, agents.invocations) == ("", 2)

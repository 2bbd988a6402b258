"""An adapter tried out: one request of each mode, and what is wrong with each reply."""

from __future__ import annotations

import io
import zipfile
from collections.abc import AsyncIterator, Collection, Mapping
from pathlib import Path

from scorehost.adapters.calls import Call
from scorehost.adapters.execs import ExecAsk
from scorehost.adapters.registry import SeenIds
from scorehost.adapters.requests import (
    AdapterRequest,
    Assertion,
    BehaviorRequest,
    JudgeRequest,
    SessionRequest,
    TriggerRequest,
)
from scorehost.adapters.roles import open_roles
from scorehost.model.call import MODES, Mode
from scorehost.model.exec_result import ExecResult
from scorehost.model.frozen import Frozen
from scorehost.spec.profiles import Profiles
from scorehost.spec.roles import Role

ROLE = "trial"
# Words that a model can follow, and a rule that a judge without a model can check.
PROMPT = """\
Does the output below contain the word "ready"? Answer with one JSON object: {"ok": true} or {"ok": false}.
rule word: contains ready
{"do": "count", "of": "ready"}
output:
ready
"""
_LOG_TAIL = 2_000


class Trial(Frozen):
    """One request and what became of it. `kind` and `problem` are empty when the reply is sound.

    `log`: the end of what the adapter wrote on stderr, known secrets masked.
    """

    name: str
    kind: str
    problem: str
    seconds: float
    log: str


async def try_adapter(
    role: Role, *, base: Path, environment: Mapping[str, str], modes: Collection[Mode], prompt: str = PROMPT
) -> AsyncIterator[Trial]:
    """Sends one request of each of `modes` (two for sessions, which may be tied to a host, and for behavior).

    `base`: what a script is relative to. `environment`: where `pass_env` is taken from. Ids are compared over
    all requests. Raises UsageError when the command cannot be started at all.
    """
    profiles = Profiles(agent_profiles={ROLE: role.model_copy(update={"modes": tuple(modes) or MODES})})
    async with open_roles(profiles, base=base, names=[ROLE], ids=SeenIds(), environment=environment) as roles:
        for name, request, tied in _requests(prompt):
            if request.mode in modes:
                exec_call, host = (_nothing_there, "trial") if tied else (None, None)
                call = await roles.call(ROLE, request, exec_call=exec_call, environment=host)
                yield _trial(name, call)


def _requests(prompt: str) -> list[tuple[str, AdapterRequest, bool]]:
    archive = _plugin()
    session = SessionRequest(role=ROLE, session_id="trial", turn=1, prompt=prompt)
    judge = JudgeRequest(
        case_id="trial",
        prompt="Say that you are ready.",
        output="I am ready.",
        assertion=Assertion(id="word", description="contains ready"),
    )
    return [
        ("session", session, False),
        ("session in a host", session, True),
        ("behavior, control", BehaviorRequest(condition="control", prompt=prompt), False),
        (
            "behavior, treatment",
            BehaviorRequest(condition="treatment", prompt=prompt, plugin_archive=archive),
            False,
        ),
        ("trigger", TriggerRequest(prompt=prompt, plugin_archive=archive), False),
        ("judge", judge, False),
    ]


def _plugin() -> bytes:
    """A small zip archive with one skill."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        text = "---\nname: ready\ndescription: Use when asked whether something is ready.\n---\nSay ready.\n"
        archive.writestr(zipfile.ZipInfo("skills/ready/SKILL.md"), text)
    return data.getvalue()


async def _nothing_there(_ask: ExecAsk) -> ExecResult:
    """A host in which every command ends with 0 and prints nothing."""
    return ExecResult(exit_code=0)


def _trial(name: str, call: Call) -> Trial:
    fault = call.fault
    log = call.outcomes[-1].stderr_data[-_LOG_TAIL:].decode("utf-8", "replace")
    return Trial(
        name=name,
        kind=fault.kind if fault else "",
        problem=fault.message if fault else "",
        seconds=call.record.duration_seconds,
        log=log,
    )

"""Adapters of one purpose each, written by a test as Python, and roles that are bound to them."""

from __future__ import annotations

import sys
import textwrap
from contextlib import asynccontextmanager

from scorehost.adapters.registry import SeenIds
from scorehost.adapters.requests import Assertion, JudgeRequest, SessionRequest
from scorehost.adapters.roles import open_roles
from scorehost.spec.profiles import Profiles
from scorehost.spec.roles import Role

HEAD = """\
import json, os, signal, subprocess, sys, time
def reply(**changes):
    value = {"request_id": "r-" + os.urandom(8).hex(), "provider": "here", "cache_hit": False,
             "token_usage": {"input_tokens": 3, "output_tokens": 5}, "output": "fine"}
    value.update(changes)
    return {key: item for key, item in value.items() if item != "LEFT OUT"}
def say(value):
    print(json.dumps(value), flush=True)
"""
SESSION = SessionRequest(role="judge", session_id="s1", turn=1, prompt="look at it")
JUDGE = JudgeRequest(
    case_id="c1",
    prompt="add 2 and 2",
    output="4",
    assertion=Assertion(id="a1", description="it is four"),
)


class Bench:
    """Writes adapters into a folder and opens roles that play them."""

    def __init__(self, folder):
        self.folder = folder

    def command(self, code, *arguments):
        """A command whose script is `code` after the helpers of `HEAD`."""
        path = self.folder / f"adapter{len(list(self.folder.iterdir()))}.py"
        path.write_text(HEAD + textwrap.dedent(code))
        return (sys.executable, path.name, *arguments)

    def role(self, code, *arguments, **keys):
        keys.setdefault("timeout_seconds", 10)
        return Role(executor="command", command=self.command(code, *arguments), **keys)

    @asynccontextmanager
    async def open(self, code="", *, role=None, ids=None, environment=None, profiles=None, **options):
        """The role `judge`, played by `code`."""
        bound = role or self.role(code)
        async with open_roles(
            profiles or Profiles(agent_profiles={"judge": bound}),
            base=self.folder,
            names=["judge"],
            ids=ids or SeenIds(),
            environment=environment or {},
            **options,
        ) as roles:
            yield roles

    async def call(self, code, request=SESSION, *, exec_call=None, **keys):
        """One call of an adapter with this code."""
        options = {name: keys.pop(name) for name in ("ids", "environment") if name in keys}
        async with self.open(role=self.role(code, **keys), **options) as roles:
            return await roles.call("judge", request, exec_call=exec_call)

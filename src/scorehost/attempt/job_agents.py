"""The roles that a job's tasks list, bound and ready before anything starts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scorehost.adapters.registry import SeenIds
from scorehost.adapters.roles import open_roles
from scorehost.attempt.agents import role_names
from scorehost.calls.budget import Budget
from scorehost.calls.recorder import JobCalls
from scorehost.calls.shares import Shares
from scorehost.runs.tally import READY, CallTally
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from scorehost.model.ids import AttemptKey
    from scorehost.spec.dataset import Dataset, Task

_UNIX = "unix://"


@asynccontextmanager
async def job_agents(
    dataset: Dataset,
    tasks: Iterable[Task],
    runs: Path,
    *,
    spent: CallTally,
    note: Callable[[str, Mapping[str, Any]], None],
    max_calls: int | None,
    max_tokens: int | None,
    attempts: Iterable[AttemptKey] = (),
) -> AsyncIterator[JobCalls | None]:
    """The agents of a job with these tasks; None when none of them lists a role. `runs` holds its folder.

    What was `spent` before the job was resumed counts, and its request ids are known. `note` is told who is
    bound. `attempts`: all that are planned; where there are several submissions, they share the limits.
    Raises UsageError as `open_roles` does: an unset variable, a program that has gone.
    """
    names = role_names(task.spec for task in tasks)
    if not names:
        yield None
        return
    async with open_roles(
        dataset.profiles,
        base=dataset.profiles_path.parent,
        names=names & dataset.profiles.agent_profiles.keys(),  # not all are bound in the ageval layout
        ids=SeenIds(spent.request_ids),
        environment=os.environ,
        masker=own_masker(),
        private=_private(dataset, runs),
    ) as roles:
        bound = {name: one.model_dump(mode="json") for name, one in roles.bound.items()}
        note(READY, {"adapter_isolation": roles.isolation, "roles": bound})
        keys = tuple(attempts)
        shared = Counter(key.submission for key in keys)
        if len(shared) < 2 or (max_calls is None and max_tokens is None):  # noqa: PLR2004 - one shares with nobody
            yield JobCalls(roles, Budget(max_calls, max_tokens, spent.calls, spent.tokens))
            return
        shares = Shares(
            max_calls,
            max_tokens,
            shared,
            Counter(submission for submission, _task in {(key.submission, key.task_id) for key in keys}),
            calls=Counter(spent.calls_of),
            tokens=Counter(spent.tokens_of),
        )
        yield JobCalls(roles, Budget(calls=spent.calls, tokens=spent.tokens), shares)


def _private(dataset: Dataset, runs: Path) -> list[Path]:
    """What an `adapter_user` must not reach: the dataset, the runs folder, the engine's socket."""
    socket = dataset.profiles.engine.host or os.environ.get("DOCKER_HOST") or f"{_UNIX}/var/run/docker.sock"
    sockets = [Path(socket.removeprefix(_UNIX))] if socket.startswith(_UNIX) else []
    return [dataset.root, runs, *(path for path in sockets if path.exists())]

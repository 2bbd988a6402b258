"""The roles that a job's tasks list, bound and ready before anything starts."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.adapters.registry import SeenIds
from scorehost.adapters.roles import open_roles
from scorehost.attempt.agents import role_names
from scorehost.calls.budget import Budget
from scorehost.calls.recorder import JobCalls
from scorehost.jobs.select import selected_tasks
from scorehost.runs.tally import READY
from scorehost.spec.own_secrets import own_masker

if TYPE_CHECKING:
    from scorehost.jobs.options import RunOptions
    from scorehost.jobs.scoring import JobPlace
    from scorehost.spec.dataset import Dataset

_UNIX = "unix://"


@asynccontextmanager
async def job_agents(
    options: RunOptions, asked: RunOptions, dataset: Dataset, place: JobPlace
) -> AsyncIterator[JobCalls | None]:
    """The agents of a job; None when none of its tasks lists a role. `asked` says which tasks it has.

    What was spent before a job was resumed counts, and its request ids are known. Raises UsageError as
    `open_roles` does: an unset variable, a program that has gone.
    """
    names = role_names(task.spec for task in selected_tasks(asked, dataset))
    if not names:
        yield None
        return
    async with open_roles(
        dataset.profiles,
        base=dataset.profiles_path.parent,
        names=names & dataset.profiles.agent_profiles.keys(),  # not all are bound in the ageval layout
        ids=SeenIds(place.calls.request_ids),
        environment=os.environ,
        masker=own_masker(),
        private=_private(dataset, place),
    ) as roles:
        bound = {name: one.model_dump(mode="json") for name, one in roles.bound.items()}
        place.notes.append((READY, {"adapter_isolation": roles.isolation, "roles": bound}))
        spent = place.calls
        yield JobCalls(roles, Budget(options.max_calls, options.max_tokens, spent.calls, spent.tokens))


def _private(dataset: Dataset, place: JobPlace) -> list[Path]:
    """What an `adapter_user` must not reach: the dataset, the runs folder, the engine's socket."""
    socket = dataset.profiles.engine.host or os.environ.get("DOCKER_HOST") or f"{_UNIX}/var/run/docker.sock"
    sockets = [Path(socket.removeprefix(_UNIX))] if socket.startswith(_UNIX) else []
    return [dataset.root, place.folder.parent, *(path for path in sockets if path.exists())]

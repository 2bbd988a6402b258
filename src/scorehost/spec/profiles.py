"""profiles.yaml as a frozen model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from scorehost.model.frozen import Frozen, Later
from scorehost.spec.roles import Role


class EvaluateHost(Frozen):
    """How scoring hosts are made when the task does not say.

    `isolated` false: what a run phase made is scored in the run phase's own container (docs/security.md).
    """

    isolated: bool = True
    docker_image: str = Field("scorehost/python:3", min_length=1)
    runtime: str | None = None
    warm: int = Field(1, ge=0, le=64)


class RunHost(Frozen):
    """The container of the run phase. Its image: environment/Dockerfile of the task, else `docker_image`,
    else that of `evaluate_host`. `network`: one of the engine's, by its name, or none. `tmpfs_mb`: of each
    writable place. `file_locks`: as a named environment's.
    """

    docker_image: str | None = Field(None, min_length=1)
    network: str = Field("none", pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=128)
    tmpfs_mb: int = Field(256, ge=1, le=1_048_576)
    file_locks: Annotated[bool, Later()] = False


class EngineChoice(Frozen):
    """Which engine; None: DOCKER_HOST, else the current docker context, else the default socket."""

    host: str | None = None


class Profiles(Frozen):
    """How jobs run. `adapter_user`: who adapters run as (needs root); None: whoever runs the job."""

    format: Literal["scorehost.profiles/1"] = "scorehost.profiles/1"
    environment: Literal["docker"] = "docker"
    evaluate_host: EvaluateHost = EvaluateHost()
    run_host: RunHost = RunHost()
    engine: EngineChoice = EngineChoice()
    concurrency: Annotated[int, Field(ge=1, le=1024)] | Literal["auto"] = "auto"
    agent_profiles: dict[str, Role] = Field(default_factory=dict)
    adapter_user: str | None = Field(None, min_length=1)

"""The limits of a task, with their defaults and the range that each may take."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from scorehost.model.frozen import Frozen, Later

MIB = 1024 * 1024
INODES_PER_MIB = 256  # of every writable place: files cost kernel memory that its size does not count


class Limits(Frozen):
    """Seconds, MiB (`_mb`), cores, counts and bytes, as `docs/schema/task.json` describes them."""

    wall_time_seconds: float = Field(300, gt=0, le=86_400)
    agent_invocations: int = Field(1, ge=0, le=10_000)
    evaluate_seconds: float = Field(600, gt=0, le=86_400)
    exec_seconds: float = Field(120, gt=0, le=86_400)
    start_seconds: float = Field(60, gt=0, le=3_600)
    build_seconds: float = Field(600, gt=0, le=86_400)
    memory_mb: int = Field(2048, ge=16, le=1_048_576)
    cpus: float = Field(1.0, gt=0, le=1024)
    pids: int = Field(256, ge=8, le=1_000_000)
    open_files: Annotated[int, Field(ge=64, le=1_048_576), Later()] = (
        1024  # the most that a kernel gives by itself
    )
    output_bytes: int = Field(1_048_576, ge=1024, le=4_194_304)
    output_total_bytes: int = Field(2_147_483_648, ge=1024)


class HostLimits(Frozen):
    """What a named host may set for itself; None takes the task's."""

    start_seconds: float | None = Field(None, gt=0, le=3_600)
    exec_seconds: float | None = Field(None, gt=0, le=86_400)
    build_seconds: float | None = Field(None, gt=0, le=86_400)
    memory_mb: int | None = Field(None, ge=16, le=1_048_576)
    cpus: float | None = Field(None, gt=0, le=1024)
    pids: int | None = Field(None, ge=8, le=1_000_000)
    open_files: Annotated[int | None, Field(ge=64, le=1_048_576), Later()] = None
    output_bytes: int | None = Field(None, ge=1024, le=4_194_304)
    output_total_bytes: int | None = Field(None, ge=1024)

    def over(self, task: Limits) -> Limits:
        """The task's limits with this host's own laid over them."""
        return task.model_copy(update=self.model_dump(exclude_none=True))

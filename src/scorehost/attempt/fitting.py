"""What an engine can hold and enforce, against what tasks need of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.attempt.blueprints import evaluator_blueprint, named_blueprints
from scorehost.engine.unenforced import limits_not_enforced
from scorehost.hosts.admission import SHARE
from scorehost.hosts.blueprint import LAST_MAPPED
from scorehost.model.finding import Finding
from scorehost.model.limits import MIB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.engine.door import EngineInfo
    from scorehost.hosts.blueprint import Blueprint
    from scorehost.spec.dataset import Dataset, Task


def limits_of(info: EngineInfo) -> list[Finding]:
    """One finding for every limit that this engine cannot enforce."""
    return [
        Finding(
            "problem",
            f"this engine cannot enforce a limit: {what}",
            "Mend the engine's machine, or accept it with `scorehost run --allow-unenforced`.",
        )
        for what in limits_not_enforced(info)
    ]


def hosts_of(task: Task, dataset: Dataset) -> list[Blueprint]:
    """Every host that an attempt at `task` may start, the evaluator's first."""
    named = named_blueprints(task, dataset.profiles)
    return [evaluator_blueprint(task, dataset.profiles), *named.values()]


def never_fit(tasks: Iterable[Task], dataset: Dataset, info: EngineInfo) -> list[Finding]:
    """A problem for every task whose hosts together need more memory than an engine gives to hosts (80 %).

    And for every host that asks for more cores than there are, since an engine refuses to make it, or for a
    user that an engine that maps users does not have.
    """
    room = int(info.memory_bytes * SHARE) // MIB
    findings = []
    for task in tasks:
        hosts = hosts_of(task, dataset)
        findings += [
            Finding(
                "problem",
                f"task {task.task_id} asks for {host.limits.cpus:g} cpus for its host {host.name},"
                f" the engine has {info.cpus}",
                "Lower limits.cpus of the task or of its environments.",
            )
            for host in hosts
            if host.limits.cpus > info.cpus
        ]
        needed = sum(host.limits.memory_mb for host in hosts)
        if needed > room:
            parts = ", ".join(f"{host.name} {host.limits.memory_mb}" for host in hosts)
            findings.append(
                Finding(
                    "problem",
                    f"task {task.task_id} needs {needed} MiB for its hosts ({parts}), the engine has {room}",
                    "Lower limits.memory_mb of the task or of its environments.",
                )
            )
        findings += [
            Finding(
                "problem",
                f"task {task.task_id} names user {host.user} for {host.name}, and this engine maps users "
                f"(userns-remap or rootless): it has those up to {LAST_MAPPED}",
                "Name a smaller user, or none.",
            )
            for host in hosts
            if info.maps_users and (host.user or 0) > LAST_MAPPED
        ]
    return findings


def room_for(tasks: Iterable[Task], dataset: Dataset, info: EngineInfo) -> int:
    """How many attempts an engine takes at a time: one for each of its cores, no more than its memory holds
    when all of them are at the task that needs most; at least 1.
    """
    room = int(info.memory_bytes * SHARE) // MIB
    most = max((sum(host.limits.memory_mb for host in hosts_of(task, dataset)) for task in tasks), default=1)
    return max(1, min(info.cpus, room // most))

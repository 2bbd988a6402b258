"""From a task's words to the blueprints of its hosts."""

from __future__ import annotations

from pathlib import Path

from scorehost.hosts.blueprint import ROOT, Blueprint
from scorehost.hosts.images import Choice
from scorehost.hosts.recipe import Recipe
from scorehost.model.ids import EVALUATOR
from scorehost.model.limits import MIB
from scorehost.spec.dataset import Task
from scorehost.spec.profiles import Profiles

RUN_HOST = "run"


def evaluator_blueprint(task: Task, profiles: Profiles) -> Blueprint:
    """The host that runs evaluator.py.

    With a map of environments: the image of `evaluator_environment`, else the profile's. Without one: the
    task's single scoring environment (evaluate.Dockerfile, else docker_image, else the profile's image).
    """
    evaluation = task.spec.evaluation
    image: Choice = profiles.evaluate_host.docker_image
    if evaluation.environments:
        if evaluation.evaluator_environment is not None:
            image = _image(task, evaluation.evaluator_environment)
    elif task.evaluate_dockerfile is not None:
        image = Recipe(task.evaluate_dockerfile, _shared(task))
    elif evaluation.docker_image is not None:
        image = evaluation.docker_image
    return Blueprint(
        name=EVALUATOR,
        image=image,
        limits=task.spec.limits,
        tmpfs_mb=evaluation.tmpfs_mb,
        file_locks=evaluation.file_locks,
        evaluator=True,
        tmpfs_exec=evaluation.tmpfs_exec,
        env=evaluation.env,
        runtime=profiles.evaluate_host.runtime,
    )


def named_blueprints(task: Task, profiles: Profiles) -> dict[str, Blueprint]:
    """The named hosts that the task declares; empty when it has no map."""
    return {
        name: Blueprint(
            name=name,
            image=_image(task, name),
            limits=environment.limits.over(task.spec.limits),
            tmpfs_mb=environment.tmpfs_mb,
            gold=environment.gold,
            artifacts=environment.artifacts,
            fresh=environment.fresh,
            tmpfs_exec=environment.tmpfs_exec,
            file_locks=environment.file_locks,
            shm_mb=environment.shm_mb,
            copy_workspace=environment.workspace == "copy",
            scratch=environment.scratch,
            env=environment.env,
            workdir=environment.workdir or ROOT,
            user=environment.user,
            runtime=profiles.evaluate_host.runtime,
        )
        for name, environment in task.spec.evaluation.environments.items()
    }


def run_blueprint(task: Task, profiles: Profiles) -> Blueprint:
    """The container of the run phase: its own image, no gold, and a network when the profile names one."""
    run, shared = profiles.run_host, not profiles.evaluate_host.isolated
    image: Choice = run.docker_image or profiles.evaluate_host.docker_image
    if task.run_dockerfile is not None:
        image = Recipe(task.run_dockerfile)
    return Blueprint(
        name=RUN_HOST,
        image=image,
        limits=task.spec.limits,
        tmpfs_mb=max(run.tmpfs_mb, task.spec.evaluation.tmpfs_mb) if shared else run.tmpfs_mb,
        file_locks=run.file_locks or (shared and task.spec.evaluation.file_locks),
        evaluator=True,
        gold=False,
        artifacts=False,
        runtime=profiles.evaluate_host.runtime,
        producer=True,
        network=None if run.network == "none" else run.network,
        reused=shared,
    )


def memory_needed(task: Task, profiles: Profiles) -> int:
    """Bytes that all hosts which an attempt may run at a time can take together.

    The run phase's container is dead before any other starts, and has the evaluator's limit.
    """
    hosts = [evaluator_blueprint(task, profiles), *named_blueprints(task, profiles).values()]
    return sum(host.limits.memory_mb for host in hosts) * MIB


def _image(task: Task, name: str) -> Choice:
    if name in task.recipes:
        return Recipe(task.recipes[name], _shared(task))
    return task.spec.evaluation.environments[name].docker_image or ""


def _shared(task: Task) -> tuple[Path, ...]:
    return tuple(task.shared_context.values())

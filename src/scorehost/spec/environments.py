"""Rules for scoring environments: names, images, recipes, memory; and which single one a task has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scorehost.model.ids import EVALUATOR, HOST_NAME
from scorehost.spec.image_names import HINT, reference_fault
from scorehost.spec.optional import present
from scorehost.spec.recipes import check_recipe, held_private, resolve_in
from scorehost.spec.yaml_tree import Loc, Map, find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scorehost.spec.dataset import Task
    from scorehost.spec.problems import Problems
    from scorehost.spec.profiles import Profiles
    from scorehost.spec.task import NamedEnvironment, TaskSpec

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_NAMES: Mapping[str, str] = {}
_HIJACKS = "would put code into the process that speaks for the evaluator"
_HOME = "is where programs take code and settings from, so it stays a folder that no exec can write"
# Names that the evaluator's own host keeps, with the reason. Of a named host all may be set.
EVALUATORS_OWN = {
    "HOME": _HOME,
    "PYTHONNOUSERSITE": _HOME,
    "PYTHONUSERBASE": _HOME,
    "LD_AUDIT": _HIJACKS,
    "LD_PRELOAD": _HIJACKS,
    "PYTHONHOME": _HIJACKS,
    "PYTHONINSPECT": _HIJACKS,
    "PYTHONHASHSEED": "is 0, so that an evaluator says the same each time",
}
SINGLE_RECIPE = "environment/evaluate.Dockerfile"
_MAP: Loc = ("evaluation", "environments")
_TAKEN = ("/proc", "/sys", "/dev", "/attempt", "/tmp")  # noqa: S108  paths inside containers


class SingleEnvironment(NamedTuple):
    """What a task without a map is scored in: exactly one of the two is set."""

    docker_image: str | None
    dockerfile: Path | None


def single_environment(task: Task, profiles: Profiles) -> SingleEnvironment:
    """environment/evaluate.Dockerfile if there is one, else the task's image, else the profile's."""
    if task.evaluate_dockerfile is not None:
        return SingleEnvironment(None, task.evaluate_dockerfile)
    return SingleEnvironment(task.spec.evaluation.docker_image or profiles.evaluate_host.docker_image, None)


class Resolved(NamedTuple):
    """Paths that a task's environments name, and what a person should know."""

    recipes: dict[str, Path]
    shared_context: dict[str, Path]
    warnings: list[str]


class EnvironmentCheck:
    """Checks one task's environments; `shown` is how messages call the folder `task`."""

    def __init__(
        self, spec: TaskSpec, tree: Map, problems: Problems, *, task: Path, dataset: Path, shown: str
    ) -> None:
        self._spec, self._tree, self._problems = spec, tree, problems
        self._task, self._dataset, self._shown = task, dataset, shown
        self._found = Resolved({}, {}, [])

    def run(self) -> Resolved:
        """Adds every problem, and gives the paths that were found."""
        evaluation = self._spec.evaluation
        self._image(("evaluation", "docker_image"), evaluation.docker_image)
        for text in evaluation.shared_context:
            path, fault = resolve_in(text, self._task, self._dataset)
            loc = ("evaluation", "shared_context")
            if path is None or not path.is_dir():
                self._say(
                    loc, fault or f"`{text[:60]}` is no folder", "Name a folder of the task or the dataset"
                )
            elif (held := held_private(path, task=self._task, dataset=self._dataset)) is not None:
                fault = f"`{text[:60]}` leads to {held.name}/: gold and solutions may be in no image"
                self._say(loc, fault, "Name a folder that holds neither")
            else:
                self._found.shared_context[text] = path
        for name, environment in evaluation.environments.items():
            self._named(name, environment)
        self._variables(("evaluation", "env"), evaluation.env, EVALUATORS_OWN)
        self._evaluator()
        self._unused()
        limit = self._spec.limits.memory_mb
        if not evaluation.environments and evaluation.tmpfs_mb > limit:
            self._memory(("evaluation", "tmpfs_mb"), EVALUATOR, evaluation.tmpfs_mb, limit)
        return self._found

    def _say(self, loc: Loc, text: str, hint: str, *, at_key: bool = False) -> None:
        found = find(self._tree, loc)
        self._problems.add(found.key_place if at_key else found.place, found.key, text, hint)

    def _image(self, loc: Loc, image: str | None) -> None:
        fault = reference_fault(image) if image is not None else ""
        if fault:
            self._say(loc, f"this is no name of an image: {fault}", HINT)

    def _named(self, name: str, environment: NamedEnvironment) -> None:
        loc: Loc = (*_MAP, name)
        if name == EVALUATOR:
            self._say(
                loc, "`evaluator` is the name of the evaluator host", "Choose another name", at_key=True
            )
        elif not HOST_NAME.fullmatch(name):
            text = "a name is a small letter, then small letters, digits, `_` or `-`, at most 63"
            self._say(loc, text, "Rename it", at_key=True)
        self._image((*loc, "docker_image"), environment.docker_image)
        if (environment.docker_image is None) == (environment.dockerfile is None):
            count = "neither" if environment.docker_image is None else "both"
            self._say(loc, f"has {count} of docker_image and dockerfile", "Write exactly one", at_key=True)
        if environment.dockerfile is not None:
            self._recipe(name, environment.dockerfile, (*loc, "dockerfile"))
        memory = environment.limits.over(self._spec.limits).memory_mb
        if environment.tmpfs_mb > memory:
            self._memory((*loc, "tmpfs_mb"), name, environment.tmpfs_mb, memory)
        if environment.workspace == "copy" and not environment.artifacts:
            self._say(
                (*loc, "workspace"),
                "there is no workspace to copy with `artifacts: false`",
                "Remove one of them",
            )
        if environment.user is not None:
            place = f"{self._spec.task_id}: environment `{name}`"
            self._found.warnings.append(f"{place} names a user, and so gives up the host's own pair of users")
        self._paths(loc, environment)

    def _paths(self, loc: Loc, environment: NamedEnvironment) -> None:
        for number, text in enumerate(environment.scratch):
            parts = text.split("/")
            if not text.startswith("/") or {"", ".", ".."} & set(parts[1:]) or "\0" in text:
                self._say(
                    (*loc, "scratch", number), "must be an absolute path without `.` and `..`", "Write it so"
                )
            elif any(text == taken or text.startswith(taken + "/") for taken in _TAKEN):
                self._say(
                    (*loc, "scratch", number), f"`{text[:60]}` belongs to the host", "Choose another path"
                )
            elif text in environment.scratch[:number]:
                self._say((*loc, "scratch", number), "stands twice", "Remove one")
        if environment.workdir is not None and (
            not environment.workdir.startswith("/") or "\0" in environment.workdir
        ):
            self._say((*loc, "workdir"), "must be an absolute path", "Write it from `/` on")
        self._variables((*loc, "env"), environment.env)

    def _variables(self, loc: Loc, env: Mapping[str, str], refused: Mapping[str, str] = _NO_NAMES) -> None:
        for key, value in env.items():
            if key in refused:
                self._say(
                    (*loc, key),
                    refused[key],
                    "Set it for a named environment, or in the program",
                    at_key=True,
                )
            elif not _VARIABLE.fullmatch(key):
                self._say(
                    (*loc, key),
                    "this is no name of a variable",
                    "Use letters, digits and `_`",
                    at_key=True,
                )
            elif "\0" in value:
                self._say((*loc, key), "holds a NUL", "Remove it")

    def _recipe(self, name: str, text: str, loc: Loc) -> None:
        path, fault = resolve_in(text, self._task, self._dataset)
        if path is None:
            self._say(
                loc, fault, f"Put the recipe at environment/evaluate/{name}/Dockerfile and name it here"
            )
        elif path.is_symlink() or not path.is_file():
            self._say(loc, f"`{text[:60]}` is not a file", "Name the Dockerfile itself")
        else:
            self._found.recipes[name] = path
            root, shown = (
                (self._task, self._shown) if path.is_relative_to(self._task) else (self._dataset, "")
            )
            where = Path(shown or Path(self._shown).parent.parent, path.relative_to(root))
            check_recipe(
                path, task=self._task, dataset=self._dataset, shown=str(where), problems=self._problems
            )

    def _evaluator(self) -> None:
        evaluation, loc = self._spec.evaluation, ("evaluation", "evaluator_environment")
        name = evaluation.evaluator_environment
        if name is None:
            return
        if name not in evaluation.environments:
            names = ", ".join(f"`{each}`" for each in evaluation.environments) or "none"
            self._say(loc, f"no environment is called `{name[:60]}`", f"Declared are: {names}")
        elif not evaluation.environments[name].gold:
            self._say(
                loc, f"`{name}` has `gold: false`, and the evaluator needs gold", "Name another one, or null"
            )

    def _unused(self) -> None:
        """Says which of the keys and recipes that make the single environment have no effect."""
        evaluation = self._spec.evaluation
        recipe = SINGLE_RECIPE if present(self._task / SINGLE_RECIPE) else ""
        if not evaluation.environments:
            if recipe and evaluation.docker_image is not None:
                text = f"{self._spec.task_id}: evaluation.docker_image is not used, since {recipe} is there"
                self._found.warnings.append(text)
            return
        chosen = evaluation.evaluator_environment
        where = f"`{chosen}`" if chosen else "the image of profiles.yaml (evaluate_host)"
        unused = ["evaluation.docker_image"] if evaluation.docker_image is not None else []
        unused += [recipe] if recipe else []
        for what in unused:
            text = f"{self._spec.task_id}: {what} is not used, since `environments` is there"
            remedy = "`evaluator_environment: NAME` names another environment"
            self._found.warnings.append(f"{text}: the evaluator runs in {where}; {remedy}")

    def _memory(self, loc: Loc, name: str, tmpfs: int, memory: int) -> None:
        found = find(self._tree, loc)
        text = f"{tmpfs} MiB of scratch space are more than the {memory} MiB of memory that they count into"
        if found.loc == loc:
            self._problems.add(found.place, found.key, text, "Lower tmpfs_mb, or raise memory_mb")
        else:
            # The default, which nobody wrote: memory simply runs out first.
            self._found.warnings.append(f"{self._spec.task_id}: host `{name}`: {text}")

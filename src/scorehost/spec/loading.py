"""A dataset, or one task folder, read from disk: everything that is wrong told at once."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from scorehost.files.encoding import require_utf8
from scorehost.spec import ageval
from scorehost.spec.bind import bind
from scorehost.spec.dataset import Dataset, DatasetFile, Task
from scorehost.spec.files import KEY_FILE, collect, relative_path_fault
from scorehost.spec.load_profiles import PROFILES_FILE, load_profiles
from scorehost.spec.load_task import TASK_FILE, Surroundings, load_task
from scorehost.spec.opening import open_kind
from scorehost.spec.optional import present
from scorehost.spec.problems import Place, Problems
from scorehost.spec.task import RoleRef
from scorehost.spec.yaml_tree import Map, find

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from scorehost.spec.profiles import Profiles


DATASET_FILE = "dataset.yaml"
_FORMATS: dict[str, tuple[str, Literal["scorehost", "ageval"]]] = {
    "scorehost.dataset/1": (DATASET_FILE, "scorehost"),
    ageval.FORMATS["dataset"]: (ageval.DATASET_FILE, "ageval"),
}


def load_dataset(
    root: Path,
    *,
    profiles: Path | None = None,
    gold: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
    only: Collection[str] | None = None,
) -> Dataset:
    """The dataset in the folder `root`.

    `profiles`: another file than its profiles.yaml. `gold`: a folder of private gold, `<task_id>/…`, laid
    over the dataset's. `parameters`: laid over each task's own, by key. `only`: ids of the tasks to read; the
    others are not looked at. Raises `SpecError` with every problem of every file that was read, UsageError
    where names of files are not UTF-8.
    """
    require_utf8()
    problems = Problems()
    return _Loading(root, problems, gold, parameters or {}).dataset(profiles, only)


def load_task_dir(
    path: Path,
    *,
    profiles: Path | None = None,
    gold: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> Dataset:
    """A dataset with the one task in the folder `path`: read in the dataset above it, else on its own.

    Raises as `load_dataset` does.
    """
    require_utf8()
    folder = path.resolve()
    for parent in folder.parents:
        if any(present(parent / name) for name in (DATASET_FILE, ageval.DATASET_FILE)):
            if folder.parent == _tasks_folder(parent):
                return load_dataset(
                    _as_typed(parent), profiles=profiles, gold=gold, parameters=parameters, only={folder.name}
                )
            break
    problems = Problems()
    return _Loading(path, problems, gold, parameters or {}).lone_task(profiles)


def load_either(root: Path, *, profiles: Path | None = None, gold: Path | None = None) -> Dataset:
    """What an earlier job read from `root`: a dataset, or a task on its own, which is a dataset of one.

    Raises `SpecError` as `load_dataset` does.
    """
    alone = (root / TASK_FILE).is_file() and not any(present(root / name) for name, _ in _FORMATS.values())
    return (load_task_dir if alone else load_dataset)(root, profiles=profiles, gold=gold)


def _as_typed(folder: Path) -> Path:
    """A folder below the working directory as a person there writes it."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def _tasks_folder(root: Path) -> Path:
    loading = _Loading(root, Problems(), None, {})
    return loading.folder / loading.head().tasks.root


def _with_every_role(task: Task, profiles: Profiles) -> Task:
    """The task with its role `*` written out: every role that the profiles bind."""
    names = [role.id for role in task.spec.agent_profiles]
    if ageval.EVERY not in names:
        return task
    names = list(dict.fromkeys([name for name in names if name != ageval.EVERY] + [*profiles.agent_profiles]))
    spec = task.spec.model_copy(update={"agent_profiles": tuple(RoleRef(id=name) for name in names)})
    return task.model_copy(update={"spec": spec})


class _Loading:
    """One reading; `shown` is how messages call the folder, as the user gave it."""

    def __init__(
        self, root: Path, problems: Problems, gold: Path | None, parameters: Mapping[str, Any]
    ) -> None:
        self.folder = root.resolve()
        self.shown = root
        self.problems = problems
        self.parameters = parameters
        self.layout: Literal["scorehost", "ageval"] = "scorehost"
        self.ignored: set[str] = set()
        self.defaults: Map | None = None
        self.gold = gold.resolve() if gold is not None else None
        if gold is not None and not gold.is_dir():
            problems.add(
                Place(str(gold)), "", "there is no such folder of gold", "Give a folder with <task_id>/…"
            )
            self.gold = None

    def name(self, *steps: str) -> str:
        return str(self.shown.joinpath(*steps))

    def head(self) -> DatasetFile:
        """dataset.yaml or ageval.yaml; something to go on with when it has problems."""
        fallback = DatasetFile(dataset_id="unread", version="0")
        heads = [(name, layout) for name, layout in _FORMATS.values() if present(self.folder / name)]
        if not heads:
            hint = f"Give a folder with a {DATASET_FILE}, or write one"
            if (self.folder / TASK_FILE).is_file():
                hint = f"This is a task: `scorehost score {self.shown} PATH` scores one"
            elif not self.folder.is_dir():
                hint = "There is no such folder"
            self.problems.add(Place(self.name()), "", f"there is no {DATASET_FILE} here", hint)
            return fallback
        name, self.layout = heads[0]
        wanted = tuple(kind for kind, (_, layout) in _FORMATS.items() if layout == self.layout)
        opened = open_kind(self.folder / name, wanted, shown=self.name(name), problems=self.problems)
        if opened is None:
            return fallback
        tree, _ = opened
        old = self.layout == "ageval"
        bound, tree = bind(DatasetFile, tree, self.problems, ignored=self.ignored if old else None)
        defaults = tree.get("defaults")
        self.defaults = ageval.defaults(tree) if old else defaults if isinstance(defaults, Map) else None
        fault = relative_path_fault(bound.tasks.root) if bound else ""
        if fault:
            found = find(tree, ("tasks", "root"))
            self.problems.add(found.place, found.key, f"the path {fault}", "Write a folder of the dataset")
        return bound if bound and not fault else fallback

    def dataset(self, profiles: Path | None, only: Collection[str] | None) -> Dataset:
        before = len(self.problems)
        head = self.head()
        if len(self.problems) > before and not (self.folder / head.tasks.root).is_dir():
            self.problems.raise_any()
        folders = self._folders(head.tasks.root, only)
        around = self._around()
        tasks = [load_task(path, around, shown=self.name(head.tasks.root, path.name)) for path in folders]
        return self._finish(head, [task for task in tasks if task is not None], around, profiles)

    def lone_task(self, profiles: Path | None) -> Dataset:
        if not (self.folder / TASK_FILE).is_file():
            hint = "Give a folder with a task.yaml"
            self.problems.add(Place(self.name()), "", f"there is no {TASK_FILE} here", hint)
            self.problems.raise_any()
        probe = open_kind(
            self.folder / TASK_FILE,
            ("scorehost.task/1", ageval.FORMATS["task"]),
            shown=self.name(TASK_FILE),
            problems=Problems(),
        )
        if probe is not None and probe[1] == ageval.FORMATS["task"]:
            self.layout = "ageval"
        around = self._around(lone=True)
        task = load_task(self.folder, around, shown=self.name())
        head = DatasetFile(dataset_id=self.folder.name, version="0")
        return self._finish(head, [task] if task else [], around, profiles)

    def _folders(self, tasks_root: str, only: Collection[str] | None) -> list[Path]:
        top = self.folder / tasks_root
        if not top.is_dir():
            self.problems.add(
                Place(self.name(tasks_root)),
                "",
                "there is no such folder of tasks",
                "Make it, or set tasks.root",
            )
            return []
        found = [path for path in sorted(top.iterdir()) if self._is_task(path, tasks_root)]
        if not found:
            hint = "Write a task, <task_id>/task.yaml"
            self.problems.add(Place(self.name(tasks_root)), "", "there is no task in it", hint)
        self._unknown_gold({path.name for path in found})
        if only is None:
            return found
        names = [path.name for path in found]
        for name in sorted(set(only) - set(names)):
            close = difflib.get_close_matches(name, names, n=1)
            hint = f"Did you mean `{close[0]}`?" if close else f"The tasks lie in {self.name(tasks_root)}"
            self.problems.add(Place(self.name(tasks_root)), "", f"there is no task `{name[:128]}`", hint)
        return [path for path in found if path.name in only]

    def _is_task(self, path: Path, tasks_root: str) -> bool:
        """Whether a folder of tasks lies there; a file is none, and a link must lead to a folder."""
        if path.name[0] in "._" or path.is_dir():
            return path.name[0] not in "._"
        if path.is_symlink() and not path.is_file():
            text = "is a link that leads to no folder"
            self.problems.add(
                Place(self.name(tasks_root, path.name)), "", text, "Mend the link, or remove it"
            )
        return False

    def _unknown_gold(self, names: set[str]) -> None:
        for path in sorted(self.gold.iterdir()) if self.gold is not None else ():
            if path.name not in names and not path.name.startswith(".") and path.name != KEY_FILE:
                text = "private gold for a task that the dataset does not have"
                self.problems.add(Place(str(path)), "", text, "Name the folder as the task, or remove it")

    def _around(self, *, lone: bool = False) -> Surroundings:
        code: dict[str, Path] = {}
        gold: dict[str, Path] = {}
        if not lone:
            shared = collect(
                self.folder / "shared",
                within=self.folder / "shared",
                shown=self.name("shared"),
                problems=self.problems,
            )
            code = {f"shared/{path}": file for path, file in shared.items()}
            home = self.folder / "evaluation"
            gold = collect(home, within=home, shown=self.name("evaluation"), problems=self.problems)
        return Surroundings(
            root=self.folder,
            layout=self.layout,
            defaults=self.defaults,
            shared_code=code,
            shared_gold=gold,
            shared_gold_shown=self.name("evaluation"),
            private_gold=self.gold,
            parameters=self.parameters,
            problems=self.problems,
            ignored=self.ignored,
        )

    def _finish(
        self, head: DatasetFile, tasks: list[Task], around: Surroundings, profiles: Path | None
    ) -> Dataset:
        path = profiles.resolve() if profiles is not None else self.folder / PROFILES_FILE
        loaded = load_profiles(
            path,
            shown=str(profiles) if profiles is not None else self.name(PROFILES_FILE),
            problems=self.problems,
            asked=profiles is not None,
            layout=self.layout,
            named=any(task.spec.evaluation.environments for task in tasks),
            listed=frozenset(name for _, _, name in around.roles),
        )
        self._bindings(around, loaded.roles, loaded.told.unplayed)
        self.problems.raise_any()
        warnings = list(around.warnings)
        if self.layout == "ageval":
            warnings += ageval.unplayed(loaded.told)
            warnings += ageval.warning(around.ignored | loaded.told.ignored, isolated=loaded.isolated)
            tasks = [_with_every_role(task, loaded.profiles) for task in tasks]
        return Dataset(
            root=self.folder,
            gold_home=self.gold,
            dataset_id=head.dataset_id,
            version=head.version,
            description=head.description,
            metadata=head.metadata,
            layout=self.layout,
            profiles=loaded.profiles,
            profiles_path=path,
            tasks={task.task_id: task for task in sorted(tasks, key=lambda task: task.task_id)},
            warnings=tuple(warnings),
        )

    def _bindings(
        self, around: Surroundings, bound: frozenset[str] | None, unplayed: Collection[str]
    ) -> None:
        """Every role that a task lists must be bound; in the ageval layout some are for other programs,
        and a call of one is a fault (adapter_missing).
        """
        for place, key, name in around.roles if bound is not None else ():
            if name in (bound or ()) or (self.layout == "ageval" and ageval.EVERY in (name, *(bound or ()))):
                continue
            if self.layout == "ageval":
                if name not in unplayed:
                    around.ignored.add("agent_profiles")
                continue
            close = difflib.get_close_matches(name, sorted(bound or ()), n=1)
            hint = (
                f"Did you mean `{close[0]}`?" if close else f"Bind it in {PROFILES_FILE} under agent_profiles"
            )
            self.problems.add(place, key, f"the role `{name[:60]}` has no binding", hint)

"""One task folder read into a `Task`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scorehost.model.ids import SUBMISSION_NAME, TASK_ID
from scorehost.spec import ageval
from scorehost.spec.artifacts import check_artifacts
from scorehost.spec.bind import bind
from scorehost.spec.dataset import Expectation, Task
from scorehost.spec.environments import EnvironmentCheck
from scorehost.spec.files import collect
from scorehost.spec.not_yet import TASK, refuse
from scorehost.spec.opening import open_kind
from scorehost.spec.optional import optional_file, optional_folder, present
from scorehost.spec.problems import Place, Problems
from scorehost.spec.recipes import check_recipe, unread_ignore_files
from scorehost.spec.submission import EXPECT_FILE, read_expectation
from scorehost.spec.task import TaskFile, TaskSpec
from scorehost.spec.yaml_tree import Loc, Map, Scalar, find, lay_under

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TASK_FILE = "task.yaml"
_BESIDE_RUN = ("prompts", "schemas")  # never lib/ or shared/, which evaluators use and which may tell gold
_FORMATS = {"scorehost": "scorehost.task/1", "ageval": ageval.FORMATS["task"]}
_SCORE_RANGE: Loc = ("evaluation", "output", "score_range")


@dataclass(slots=True)
class Surroundings:
    """What a task's folder stands in: the dataset's folder, defaults, shared trees and overlays."""

    root: Path
    layout: str
    defaults: Map | None
    shared_code: dict[str, Path]
    shared_gold: dict[str, Path]
    shared_gold_shown: str
    private_gold: Path | None
    parameters: Mapping[str, Any]
    problems: Problems
    ignored: set[str] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)
    roles: list[tuple[Place, str, str]] = field(
        default_factory=list
    )  # place, key and name of each role listed


def load_task(folder: Path, around: Surroundings, *, shown: str) -> Task | None:
    """The task in `folder`, which messages call `shown`; None after its problems were added."""
    problems = around.problems
    before = len(problems)
    layouts = (_FORMATS[around.layout],)
    opened = open_kind(folder / TASK_FILE, layouts, shown=f"{shown}/{TASK_FILE}", problems=problems)
    gold = _gold(folder, around, shown)
    code = _code(folder, around, shown)
    wrong, expected = _wrong(folder, shown, problems)
    if opened is None:
        return None
    tree, _ = opened
    spec, tree = _spec(tree, around)
    if spec is None:
        return None
    _identity(spec, tree, folder, problems)
    _roles(spec, tree, around)
    check_artifacts(spec, tree, problems)
    _evaluation(spec, tree, code, folder, problems)
    environments = EnvironmentCheck(spec, tree, problems, task=folder, dataset=around.root, shown=shown).run()
    around.warnings += environments.warnings
    single, run_recipe = _recipes(folder, around, shown)
    recipes = [*environments.recipes.values(), *(each for each in (single, run_recipe) if each is not None)]
    around.warnings += unread_ignore_files(recipes, folder, spec.task_id)
    solution = optional_folder(folder / "solution", shown=f"{shown}/solution", problems=problems)
    run_script, run_code, data = _run_phase(folder, around, shown)
    if run_recipe is not None and run_script is None and around.layout == "scorehost":
        text = "environment/Dockerfile is the run phase's, and there is no run.py: it is not used"
        around.warnings.append(f"{spec.task_id}: {text}; the evaluator's is environment/evaluate.Dockerfile")
    if len(problems) > before:
        return None
    return Task(
        spec=spec,
        folder=folder,
        gold=gold,
        code=code,
        evaluate_dockerfile=single,
        recipes=environments.recipes,
        shared_context=environments.shared_context,
        run_script=run_script,
        run_code={} if run_script is None else run_code,
        data=data,
        run_dockerfile=run_recipe,
        solution=solution,
        wrong=wrong,
        expected=expected,
    )


def _spec(tree: Map, around: Surroundings) -> tuple[TaskSpec | None, Map]:
    old = around.layout == "ageval"
    if around.defaults is not None:
        tree = lay_under(around.defaults, tree)
    if old:
        tree = ageval.task_tree(tree)
    tree = refuse(tree, TASK, around.problems)
    bound, tree = bind(TaskFile, tree, around.problems, ignored=around.ignored if old else None)
    if bound is None:
        return None, tree
    values = {name: getattr(bound, name) for name in bound.model_fields_set - {"artifacts"}}
    if old and find(tree, _SCORE_RANGE).loc != _SCORE_RANGE:
        output = bound.evaluation.output.model_copy(update={"score_range": None})
        values["evaluation"] = bound.evaluation.model_copy(update={"output": output})
    values["parameters"] = {**bound.parameters, **around.parameters}
    return TaskSpec(**values, artifacts=bound.artifacts.publishable), tree


def _identity(spec: TaskSpec, tree: Map, folder: Path, problems: Problems) -> None:
    node = tree.get("task_id")
    if not isinstance(node, Scalar) or node.kind == "refused":
        return  # told already
    place = node.place
    if not TASK_ID.fullmatch(spec.task_id):
        text = (
            "an id is small letters, digits, `.`, `_` and `-`, at most 128, and begins with a letter or digit"
        )
        problems.add(place, "task_id", text, "Rename the task and its folder")
    elif spec.task_id != folder.name:
        text = f"`{spec.task_id}` is not the name of the folder, `{folder.name}`"
        problems.add(place, "task_id", text, "Make the two the same")


def _roles(spec: TaskSpec, tree: Map, around: Surroundings) -> None:
    names = [role.id for role in spec.agent_profiles]
    for number, name in enumerate(names):
        found = find(tree, ("agent_profiles", number, "id"))
        if name in names[:number]:
            around.problems.add(
                found.place, found.key, f"`{name[:60]}` is listed twice", "Remove one of them"
            )
        else:
            around.roles.append((found.place, found.key, name))


def _evaluation(spec: TaskSpec, tree: Map, code: dict[str, Path], folder: Path, problems: Problems) -> None:
    evaluation = spec.evaluation
    module, colon, function = evaluation.entrypoint.partition(":")
    found = find(tree, ("evaluation", "entrypoint"))
    path = module.replace(".", "/")
    if not colon or not function.isidentifier() or not all(part.isidentifier() for part in module.split(".")):
        problems.add(found.place, found.key, "must be `module:function`", "Write `evaluator:evaluate`")
    elif path == "evaluator" and "evaluator.py" not in code and present(folder / "evaluator.py"):
        pass  # why it is no file to be taken was told
    elif f"{path}.py" not in code and f"{path}/__init__.py" not in code:
        problems.add(
            found.place,
            "evaluation.entrypoint",
            f"there is no {path}.py",
            "Write it, or name a module of shared/",
        )
    reach = evaluation.output.score_range
    if reach is not None and reach[0] >= reach[1]:
        found = find(tree, _SCORE_RANGE)
        problems.add(
            found.place, found.key, "the lower end must be below the upper end", "Write [lowest, highest]"
        )
    if reach is None and evaluation.output.direction == "minimize":
        found = find(tree, ("evaluation", "output", "direction"))
        text = "a score that is minimised needs a range: what crashes an evaluator has to count as something"
        problems.add(found.place, found.key, text, "Write `score_range: [0, WORST]` beside it")
    names = [metric.id for metric in evaluation.metrics]
    for number, name in enumerate(names):
        if name in names[:number]:
            found = find(tree, ("evaluation", "metrics", number, "id"))
            problems.add(
                found.place, found.key, f"two metrics are called `{name[:60]}`", "Rename one of them"
            )


def _gold(folder: Path, around: Surroundings, shown: str) -> dict[str, Path]:
    own = collect(folder / "evaluation", within=folder, shown=f"{shown}/evaluation", problems=around.problems)
    for path in own:
        if _is_recipe(path):
            text = "a recipe below evaluation/, where everything is gold"
            around.problems.add(Place(f"{shown}/evaluation/{path}"), "", text, "Move it to environment/")
        if path in around.shared_gold:
            text = f"the same path stands in {around.shared_gold_shown}"
            around.problems.add(Place(f"{shown}/evaluation/{path}"), "", text, "Rename or remove one of them")
    gold = {**around.shared_gold, **own}
    if around.private_gold is not None:
        private = around.private_gold / folder.name
        gold |= collect(private, within=private, shown=str(private), problems=around.problems)
    return dict(sorted(gold.items()))


def _is_recipe(path: str) -> bool:
    steps = path.split("/")
    named = (
        steps[0] == "evaluate"
        and len(steps) == len(("evaluate", "name", "file"))
        and steps[-1] == "Dockerfile"
    )
    return named or path in {"Dockerfile", "evaluate.Dockerfile"} or steps[0] == "environment"


def _code(folder: Path, around: Surroundings, shown: str) -> dict[str, Path]:
    code = dict(around.shared_code)
    lib = collect(folder / "lib", within=folder, shown=f"{shown}/lib", problems=around.problems)
    code |= {f"lib/{path}": file for path, file in lib.items()}
    evaluator = optional_file(
        folder / "evaluator.py", shown=f"{shown}/evaluator.py", problems=around.problems, within=folder
    )
    if evaluator is not None:
        code["evaluator.py"] = evaluator.resolve() if evaluator.is_symlink() else evaluator
    return dict(sorted(code.items()))


def _run_phase(
    folder: Path, around: Surroundings, shown: str
) -> tuple[Path | None, dict[str, Path], dict[str, Path]]:
    """run.py, what stands beside it in the run phase, and its data; nothing where there is no run.py."""
    if around.layout == "ageval" and present(folder / "environment" / "setup.sh"):
        place, instead = f"{shown}/environment/setup.sh", "write its steps into environment/Dockerfile"
        around.warnings.append(f"{place} is not carried out here; {instead}")
    script = optional_file(folder / "run.py", shown=f"{shown}/run.py", problems=around.problems)
    if script is None:
        return None, {}, {}
    if script.is_symlink():
        text = "must be a file, and is a link"
        around.problems.add(Place(f"{shown}/run.py"), "", text, "Put the file itself there")
        return None, {}, {}
    code = {"run.py": script}
    if around.layout == "ageval":  # there it is run.py that imports them, and gold never stands in them
        code |= around.shared_code
    for name in (*_BESIDE_RUN, "lib") if around.layout == "ageval" else _BESIDE_RUN:
        found = collect(
            folder / name, within=folder / name, shown=f"{shown}/{name}", problems=around.problems
        )
        code |= {f"{name}/{path}": file for path, file in found.items()}
    data = collect(folder / "data", within=folder / "data", shown=f"{shown}/data", problems=around.problems)
    return script, code, data


def _recipes(folder: Path, around: Surroundings, shown: str) -> tuple[Path | None, Path | None]:
    """environment/evaluate.Dockerfile and environment/Dockerfile, each when there is one."""
    home = folder / "environment"
    optional_folder(home, shown=f"{shown}/environment", problems=around.problems)
    found: list[Path | None] = []
    for name in ("evaluate.Dockerfile", "Dockerfile"):
        where = f"{shown}/environment/{name}"
        recipe = optional_file(home / name, shown=where, problems=around.problems, within=home)
        if recipe is not None:
            check_recipe(recipe, task=folder, dataset=around.root, shown=where, problems=around.problems)
        found.append(recipe)
    return found[0], found[1]


def _wrong(folder: Path, shown: str, problems: Problems) -> tuple[dict[str, Path], dict[str, Expectation]]:
    top = optional_folder(folder / "solution-wrong", shown=f"{shown}/solution-wrong", problems=problems)
    wrong: dict[str, Path] = {}
    expected: dict[str, Expectation] = {}
    for path in sorted(top.iterdir()) if top is not None else ():
        where = f"{shown}/solution-wrong/{path.name}"
        if path.name.startswith(".") or (path.is_file() and not path.is_symlink()):
            continue
        if optional_folder(path, shown=where, problems=problems) is None:
            continue
        if not SUBMISSION_NAME.fullmatch(path.name):
            text = "a name is letters, digits, `.`, `_` and `-`, at most 64"
            problems.add(Place(where), "", text, "Rename the folder")
        wrong[path.name] = path
        card = optional_file(path / EXPECT_FILE, shown=f"{where}/{EXPECT_FILE}", problems=problems)
        if card is not None:
            expected[path.name] = read_expectation(card, shown=f"{where}/{EXPECT_FILE}", problems=problems)
    return wrong, expected

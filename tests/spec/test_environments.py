"""Named environments and recipes: load errors that say what to set."""

from __future__ import annotations

import pytest


def named(folder, *rows, more=""):
    folder.task("evaluation:\n  environments:\n" + "".join(f"    {row}\n" for row in rows) + more)


def test_a_named_environment_has_the_defaults_of_the_formats_page(folder):
    named(folder, "audit: {docker_image: 'python:3.12-slim'}")
    found = folder.load().tasks["one"].spec.evaluation.environments["audit"]
    assert (found.gold, found.artifacts, found.fresh, found.tmpfs_exec) == (True, True, False, False)
    assert (found.tmpfs_mb, found.shm_mb, found.workspace, found.scratch) == (256, 16, "readonly", ())


def test_the_sandbox_of_the_formats_page_is_sound(folder):
    named(folder, "sandbox: {docker_image: x, gold: false, tmpfs_mb: 256, limits: {memory_mb: 256}}")
    dataset = folder.load()
    spec = dataset.tasks["one"].spec
    assert spec.evaluation.environments["sandbox"].limits.over(spec.limits).memory_mb == 256
    assert dataset.warnings == ()


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("Audit: {docker_image: x}", "Audit: a name is a small letter"),
        ("1a: {docker_image: x}", "1a: a name is a small letter"),
        ("evaluator: {docker_image: x}", "`evaluator` is the name of the evaluator host"),
        ("a: {}", "has neither of docker_image and dockerfile. Write exactly one"),
        ("a: {docker_image: x, gold: 1}", "gold: true or false is wanted"),
        ("a: {docker_image: x, golden: true}", "golden: unknown key. Did you mean `gold`?"),
        ("a: {docker_image: x, user: 0}", "user: must be at least 1"),
        ("a: {docker_image: x, user: root}", "user: a whole number is wanted"),
        (
            "a: {docker_image: x, tmpfs_mb: 300, limits: {memory_mb: 256}}",
            "300 MiB of scratch space are more",
        ),
        ("a: {docker_image: x, workspace: copy, artifacts: false}", "no workspace to copy"),
        ("a: {docker_image: x, workdir: here}", "workdir: must be an absolute path"),
        ("a: {docker_image: x, scratch: [/]}", "scratch[0]: must be an absolute path"),
        ("a: {docker_image: x, scratch: [/a/../b]}", "scratch[0]: must be an absolute path"),
        ("a: {docker_image: x, scratch: [/proc/sys]}", "belongs to the host"),
        ("a: {docker_image: x, scratch: [/attempt/evaluation]}", "belongs to the host"),
        ("a: {docker_image: x, env: {'A B': x}}", "no name of a variable"),
        (
            "a: {docker_image: x, env: {A: 1}}",
            'env.A: text is wanted, and this is a whole number (`1`). quote it: "1"',
        ),
        ("a: {dockerfile: environment/evaluate/a/Dockerfile}", "does not exist. Put the recipe at"),
        ("a: {dockerfile: ../Dockerfile}", "the path holds `..`"),
        ("a: {dockerfile: evaluation/Dockerfile}", "lies below evaluation/"),
        ("on: {docker_image: x}", "`on` is a boolean to some readers"),
    ],
)
def test_a_named_environment_that_cannot_be_made_is_an_error_at_load(folder, row, says):
    named(folder, row)
    problem = folder.problem()
    assert problem.startswith("tasks/one/task.yaml:5:")
    assert says in problem


def test_two_environments_with_one_name_are_an_error(folder):
    named(folder, "audit: {docker_image: x}", "audit: {docker_image: z}")
    assert "audit: this key stands twice, first in line 5" in folder.problem()


def test_an_environment_with_both_image_and_recipe_is_an_error(folder):
    folder.write("tasks/one/environment/evaluate/a/Dockerfile", "FROM x\n")
    named(folder, "a: {docker_image: x, dockerfile: environment/evaluate/a/Dockerfile}")
    assert "has both of docker_image and dockerfile" in folder.problem()


def test_recipes_are_found_in_the_task_and_in_the_dataset(folder):
    own = folder.write("tasks/one/environment/evaluate/a/Dockerfile", "FROM x\n")
    shared = folder.write("environment/audit/Dockerfile", "FROM x\n")
    named(
        folder,
        "a: {dockerfile: environment/evaluate/a/Dockerfile}",
        "b: {dockerfile: environment/audit/Dockerfile}",
    )
    assert folder.load().tasks["one"].recipes == {"a": own, "b": shared}


@pytest.mark.parametrize(
    "line",
    [
        "COPY evaluation/truth.json /truth.json",
        "COPY --chown=1:1 evaluation /x",
        "copy ./evaluation/ /x",
        "ADD solution /x",
        "COPY a b solution-wrong/x /y/",
        'COPY ["evaluation/truth.json", "/x"]',
        "RUN --mount=type=bind,source=evaluation,target=/g cat /g/truth.json",
        "COPY \\\n  evaluation \\\n  /x",
    ],
)
def test_a_recipe_that_copies_gold_or_solutions_is_an_error(folder, line):
    folder.write("tasks/one/environment/evaluate/a/Dockerfile", f"FROM x\n\n{line}\n")
    named(folder, "a: {dockerfile: environment/evaluate/a/Dockerfile}")
    problem = folder.problem()
    assert problem.startswith("tasks/one/environment/evaluate/a/Dockerfile:3:1: copies ")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "has no instruction in it. Begin with `FROM scorehost/python:3`"),
        (b"# later\n\n", "has no instruction in it. Begin with `FROM scorehost/python:3`"),
        ("FROM x\n".encode("utf-16"), "is no text in UTF-8 (UTF-16, perhaps). Save the file as UTF-8"),
    ],
)
def test_a_recipe_without_an_instruction_that_can_be_read_is_told_by_check(folder, data, said):
    folder.write("tasks/one/environment/evaluate.Dockerfile", "")
    (folder.root / "tasks/one/environment/evaluate.Dockerfile").write_bytes(data)
    assert folder.problem().startswith(f"tasks/one/environment/evaluate.Dockerfile: {said}")


def test_a_recipe_with_a_comment_in_latin_1_is_read(folder):
    folder.write("tasks/one/environment/evaluate.Dockerfile", "")
    (folder.root / "tasks/one/environment/evaluate.Dockerfile").write_bytes(b"# M\xfcller\nFROM x\n")
    assert folder.load().tasks["one"].evaluate_dockerfile is not None


def test_a_recipe_may_copy_from_its_own_stages_and_talk_of_evaluation(folder):
    lines = [
        "FROM x AS b",
        "# COPY evaluation /x",
        "FROM x",
        "COPY --from=b /evaluation /x",
        "COPY tools/ /t",
    ]
    folder.write("tasks/one/environment/evaluate.Dockerfile", "\n".join([*lines, "RUN echo evaluation"]))
    assert folder.load().tasks["one"].evaluate_dockerfile is not None


@pytest.mark.parametrize("path", ["Dockerfile", "evaluate.Dockerfile", "evaluate/a/Dockerfile"])
def test_a_recipe_below_evaluation_is_an_error(folder, path):
    folder.write(f"tasks/one/evaluation/{path}", "FROM x\n")
    assert folder.problem().startswith(f"tasks/one/evaluation/{path}: a recipe below evaluation/")


def test_a_build_context_that_holds_gold_is_an_error(folder):
    folder.write("tasks/one/evaluation/truth.json", "{}")
    folder.write("tasks/one/Dockerfile", "FROM x\n")
    named(folder, "a: {dockerfile: Dockerfile}")
    assert "its folder is the build context and holds evaluation" in folder.problem()


def test_a_link_from_a_build_context_to_gold_is_an_error(folder):
    folder.write("tasks/one/evaluation/truth.json", "{}")
    folder.write("tasks/one/environment/evaluate/a/Dockerfile", "FROM x\nCOPY t /t\n")
    (folder.root / "tasks/one/environment/evaluate/a/t").symlink_to("../../../evaluation/truth.json")
    named(folder, "a: {dockerfile: environment/evaluate/a/Dockerfile}")
    assert "environment/evaluate/a/t: is a link that leaves" in folder.problem()


def test_the_evaluator_needs_an_environment_of_the_map_that_has_gold(folder):
    named(
        folder,
        "a: {docker_image: x}",
        "b: {docker_image: x, gold: false}",
        more="  evaluator_environment: b\n",
    )
    assert "`b` has `gold: false`, and the evaluator needs gold" in folder.problem()
    named(folder, "a: {docker_image: x}", more="  evaluator_environment: c\n")
    assert "no environment is called `c`. Declared are: `a`" in folder.problem()
    named(folder, "a: {docker_image: x}", more="  evaluator_environment: a\n")
    assert folder.load().tasks["one"].spec.evaluation.evaluator_environment == "a"


def test_scratch_space_beyond_memory_that_nobody_wrote_is_a_warning(folder):
    named(folder, "a: {docker_image: x, limits: {memory_mb: 64}}")
    assert folder.load().warnings == (
        "one: host `a`: 256 MiB of scratch space are more than the 64 MiB of memory that they count into",
    )


def test_a_user_of_the_tasks_own_is_a_warning(folder):
    named(folder, "a: {docker_image: x, user: 1000}")
    assert "gives up the host's own pair of users" in folder.load().warnings[0]


@pytest.mark.parametrize("text", ["evaluation", "solution", "nowhere", "../x"])
def test_shared_context_never_names_gold_or_solutions(folder, text):
    folder.write("tasks/one/evaluation/truth.json", "{}")
    folder.write("tasks/one/solution/artifacts/out.json", "{}")
    folder.task(f"evaluation:\n  shared_context: [{text}]\n")
    assert folder.problem().startswith("tasks/one/task.yaml:4:19: evaluation.shared_context:")


@pytest.mark.parametrize("text", ["tasks", "tasks/two", "link", "tasks/two/link"])
def test_shared_context_leads_to_no_gold_by_way_of_a_folder_above_it_or_a_link(folder, text):
    for name in ("one", "two"):
        folder.write(f"tasks/{name}/evaluation/truth.json", "{}")
        (folder.root / f"tasks/{name}/link").symlink_to("evaluation")
    folder.write("tasks/two/evaluator.py", "def evaluate(inputs):\n    return {'status': 'PASS'}\n")
    folder.task("", name="two")
    folder.task(f"evaluation:\n  shared_context: [{text}]\n")
    assert "gold and solutions may be in no image" in folder.problem()


def test_a_recipe_beside_the_gold_of_another_task_is_a_problem(folder):
    folder.write("tasks/two/Dockerfile", "FROM x\n")
    folder.write("tasks/two/evaluation/truth.json", "{}")
    folder.write("tasks/two/evaluator.py", "def evaluate(inputs):\n    return {'status': 'PASS'}\n")
    folder.task("", name="two")
    named(folder, "a: {dockerfile: tasks/two/Dockerfile, gold: false}")
    assert "its folder is the build context and holds evaluation" in folder.problem()


def test_shared_context_leads_to_folders_of_task_or_dataset(folder):
    folder.write("environment/tools/x", "")
    folder.task("evaluation:\n  shared_context: [environment/tools]\n")
    assert folder.load().tasks["one"].shared_context == {
        "environment/tools": folder.root / "environment/tools"
    }


@pytest.mark.parametrize(
    ("profiles", "says"),
    [
        ("evaluate_host: {isolated: false}", "evaluate_host.isolated: named environments need scoring"),
        ("evaluate_host: {isolated: false}", "containers of their own. Write `isolated: true`"),
        ("environment: local", "named environments need them. Write `environment: docker`"),
    ],
)
def test_profiles_that_named_environments_cannot_use_are_errors_that_say_what_to_set(folder, profiles, says):
    named(folder, "a: {docker_image: x}")
    folder.write("profiles.yaml", f"format: scorehost.profiles/1\n{profiles}\n")
    assert says in folder.problem()

"""The ageval layout is read as it is, and says in one warning what of it means nothing here."""

from __future__ import annotations

import pytest

from scorehost.spec.loading import load_task_dir

TASK = """\
format: ageval.task/1
task_id: one
agent_profiles:
  - id: solver
provenance: {source: somewhere}
limits: {wall_time_seconds: 60, environment_seconds: 600, agent_invocations: 0}
artifacts:
  publishable:
    - id: repo
      path: workspace
      kind: tree
      exclude: [target]
evaluation:
  inputs:
    - artifact: repo
      target: workspace
"""
MAP = "  environments:\n    audit: {docker_image: x}\n"
PROFILES = (
    "format: ageval.profiles/1\nenvironment: docker\nevaluate_host:\n  isolated: true\nagent_profiles: {}\n"
)


@pytest.fixture
def old(folder):
    (folder.root / "dataset.yaml").unlink()
    folder.write(
        "ageval.yaml",
        "format: ageval.dataset/1\ndataset_id: team/set\nversion: '1.0.0'\ntasks:\n  root: tasks\n",
    )
    folder.write("profiles.yaml", PROFILES)
    folder.write("tasks/one/task.yaml", TASK)
    return folder


def test_same_keys_have_the_same_meaning(old):
    dataset = old.load()
    spec = dataset.tasks["one"].spec
    assert (dataset.layout, dataset.dataset_id, dataset.version) == ("ageval", "team/set", "1.0.0")
    assert (spec.limits.wall_time_seconds, spec.limits.agent_invocations) == (60, 0)
    assert (spec.artifacts[0].path, spec.artifacts[0].exclude) == ("workspace", ("target",))
    assert spec.evaluation.output.score_range is None


def test_keys_that_mean_nothing_here_are_named_in_one_warning(old):
    (warning,) = old.load().warnings
    assert warning.startswith("these keys of the ageval layout have no meaning here: ")
    assert warning.endswith(": agent_profiles, limits.environment_seconds, provenance")


def test_without_evaluate_host_it_is_scored_isolated_and_the_warning_says_so(old):
    old.write("profiles.yaml", "environment: local\nagent_profiles: {}\n")
    dataset = old.load()
    assert dataset.profiles.evaluate_host.isolated is True
    assert len(dataset.warnings) == 1
    assert "scoring is isolated all the same" in dataset.warnings[0]
    assert "environment" in dataset.warnings[0]


def test_a_score_range_that_is_written_holds(old):
    old.write("tasks/one/task.yaml", TASK + "  output: {score_range: [0, 5]}\n")
    assert old.load().tasks["one"].spec.evaluation.output.score_range == (0.0, 5.0)


@pytest.mark.parametrize(
    ("profiles", "says"),
    [
        (
            PROFILES.replace("true", "false"),
            "evaluate_host.isolated: named environments need scoring containers",
        ),
        ("environment: docker\n", "Write `evaluate_host: {isolated: true}`"),
        (PROFILES.replace("environment: docker", "environment: local"), "Write `environment: docker`"),
    ],
)
def test_named_environments_without_isolation_or_docker_are_errors_that_say_what_to_set(old, profiles, says):
    old.write("tasks/one/task.yaml", TASK + MAP)
    old.write("profiles.yaml", profiles)
    assert any(says in problem for problem in old.problems())


def test_named_environments_with_isolation_and_docker_are_read(old):
    old.write("tasks/one/task.yaml", TASK + MAP)
    assert list(old.load().tasks["one"].spec.evaluation.environments) == ["audit"]


def test_misfits_are_told_as_in_our_own_layout(old):
    old.write("tasks/one/task.yaml", TASK.replace("agent_invocations: 0", "agent_invocations: none"))
    assert old.problem().startswith(
        "tasks/one/task.yaml:6:78: limits.agent_invocations: a whole number is wanted"
    )


def test_a_task_folder_alone_may_be_of_this_layout(old, tmp_path):
    (old.root / "tasks/one").rename(tmp_path / "one")
    dataset = load_task_dir(tmp_path / "one")
    assert dataset.layout == "ageval"
    assert dataset.tasks["one"].spec.evaluation.output.score_range is None


def test_a_role_that_is_bound_by_a_program_here_is_kept(old):
    old.write("adapters/solve.py", "print()\n")
    role = "{executor: command, command: [python3, adapters/solve.py], sandbox: strict}"
    old.write("profiles.yaml", PROFILES.replace("agent_profiles: {}", f"agent_profiles: {{solver: {role}}}"))
    dataset = old.load()
    assert [each.id for each in dataset.tasks["one"].spec.agent_profiles] == ["solver"]
    assert "agent_profiles.solver.sandbox" in dataset.warnings[0]


def test_a_role_for_another_program_stays_listed_without_a_binding_and_is_named_in_the_warning(old):
    old.write(
        "profiles.yaml", PROFILES.replace("agent_profiles: {}", "agent_profiles: {solver: {executor: other}}")
    )
    dataset = old.load()
    assert [each.id for each in dataset.tasks["one"].spec.agent_profiles] == ["solver"]
    assert dataset.profiles.agent_profiles == {}
    assert "agent_profiles" in dataset.warnings[0]

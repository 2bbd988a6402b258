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


def test_a_harness_as_producer_is_the_run_phase(old):
    old.write(
        "tasks/one/task.yaml", TASK.replace("      kind: tree", "      producer: harness\n      kind: tree")
    )
    dataset = old.load()
    assert dataset.tasks["one"].spec.artifacts[0].producer == "run"
    assert "producer" not in " ".join(dataset.warnings)


def test_an_executor_that_is_not_here_is_named_by_check_with_what_a_call_will_be(old):
    acp = "{solver: {executor: acp, options: {entry: codex}}}"
    old.write("profiles.yaml", PROFILES.replace("agent_profiles: {}", f"agent_profiles: {acp}"))
    (said,) = [each for each in old.load().warnings if "acp" in each]
    assert said.startswith("agent_profiles.solver: `executor: acp` is not here")
    assert "adapter_missing" in said


def test_the_role_for_all_binds_every_role_without_a_binding_of_its_own(old):
    old.write("adapters/solve.py", "print()\n")
    old.write("adapters/own.py", "print()\n")
    roles = (
        '{"*": {executor: command, command: [python3, adapters/solve.py]}, '
        "own: {executor: command, command: [python3, adapters/own.py]}}"
    )
    old.write("profiles.yaml", PROFILES.replace("agent_profiles: {}", f"agent_profiles: {roles}"))
    old.write("tasks/one/task.yaml", TASK.replace("- id: solver", "- id: solver\n  - id: own"))
    bound = old.load().profiles.agent_profiles
    assert {name: role.command[1] for name, role in bound.items()} == {
        "solver": "adapters/solve.py",
        "own": "adapters/own.py",
    }


def test_a_task_with_the_role_for_all_may_ask_every_role_that_is_bound(old):
    old.write("adapters/solve.py", "print()\n")
    role = "{executor: command, command: [python3, adapters/solve.py]}"
    old.write(
        "profiles.yaml", PROFILES.replace("agent_profiles: {}", f"agent_profiles: {{a: {role}, b: {role}}}")
    )
    old.write("tasks/one/task.yaml", TASK.replace("- id: solver", '- id: "*"'))
    assert [role.id for role in old.load().tasks["one"].spec.agent_profiles] == ["a", "b"]


def test_run_py_has_lib_and_shared_beside_it_in_this_layout_only(old):
    for path in ("tasks/one/run.py", "tasks/one/lib/a.py", "shared/b.py", "tasks/one/evaluation/gold.txt"):
        old.write(path, "x = 1\n")
    assert sorted(old.load().tasks["one"].run_code) == ["lib/a.py", "run.py", "shared/b.py"]


def test_a_setup_script_is_named_since_nothing_carries_it_out(old):
    old.write("tasks/one/environment/setup.sh", "true\n")
    assert any("environment/setup.sh is not carried out here" in each for each in old.load().warnings)


def test_defaults_of_the_dataset_lie_under_its_tasks(old):
    old.write(
        "ageval.yaml",
        "format: ageval.dataset/1\ndataset_id: team/set\nversion: '1.0.0'\ntasks: {root: tasks}\n"
        "defaults: {limits: {memory_mb: 77, wall_time_seconds: 5}, retries: 3}\n",
    )
    dataset = old.load()
    limits = dataset.tasks["one"].spec.limits
    assert (limits.memory_mb, limits.wall_time_seconds) == (77, 60)
    assert "defaults.retries" in dataset.warnings[-1]

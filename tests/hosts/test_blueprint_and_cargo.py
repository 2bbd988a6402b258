"""From a kind of host to its container, and what may be unpacked into it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from scorehost.engine.door import Image
from scorehost.files.tree import Entry, Tree
from scorehost.hosts.blueprint import Blueprint, Users
from scorehost.hosts.cargo import Cargo, tools
from scorehost.model.limits import MIB, Limits

USERS = Users(main=2_000_000, execs=2_000_001)


def blueprint(**values) -> Blueprint:
    given = {"name": "work", "image": "i", "limits": Limits(memory_mb=64, cpus=1.5, pids=32), "tmpfs_mb": 16}
    return Blueprint(**{**given, **values})


def container(host: Blueprint, *, volumes=(), env=None, workspace_bytes=0):
    image = Image("sha256:1", "i", (), "amd64", env or {}, tuple(volumes), {})
    return host.container(image=image, users=USERS, labels={}, workspace_bytes=workspace_bytes)


def places(spec) -> dict:
    return {place.target: place for place in spec.tmpfs}


def test_a_named_host_waits_and_the_evaluators_runs_the_runner():
    named, own = container(blueprint()), container(blueprint(name="evaluator", evaluator=True))
    assert named.command[0] == "sleep"
    assert not named.stdin
    assert own.command == ("python3", "-s", "/attempt/.scorehost/runner.py")
    assert own.stdin


def test_limits_arrive_in_bytes_and_counts():
    spec = container(blueprint(shm_mb=4))
    assert (spec.memory, spec.cpus, spec.pids, spec.shm) == (64 * MIB, 1.5, 32, 4 * MIB)


def test_writable_places_are_memory_with_a_size_inodes_and_no_right_to_execute():
    spec = container(blueprint(scratch=("/scratch/a",)))
    assert set(places(spec)) == {"/tmp", "/attempt/output", "/scratch/a"}
    for place in spec.tmpfs:
        assert (place.size, place.inodes, place.executable) == (16 * MIB, 16 * 256, False)
    assert all(place.executable for place in container(blueprint(tmpfs_exec=True)).tmpfs)


def test_output_belongs_to_whoever_works_in_the_host():
    named = places(container(blueprint()))["/attempt/output"]
    own = places(container(blueprint(evaluator=True)))["/attempt/output"]
    assert (named.uid, named.mode) == (USERS.execs, 0o700)
    assert (own.uid, own.mode) == (USERS.main, 0o755)


def test_a_copied_workspace_is_twice_its_size_and_at_least_the_scratch_size():
    small = places(container(blueprint(copy_workspace=True), workspace_bytes=10))["/attempt/workspace"]
    large = places(container(blueprint(copy_workspace=True), workspace_bytes=20 * MIB))["/attempt/workspace"]
    assert (small.size, large.size) == (16 * MIB, 40 * MIB)
    assert small.executable


@pytest.mark.parametrize(
    ("declared", "volumes", "memory"),
    [
        ("/data", ("/attempt",), "/data"),
        ("/data/", ("/attempt",), "/data"),
        ("//data/./x", ("/attempt",), "/data/x"),
        ("data", ("/attempt",), "/data"),
        ("/var/cache/../odd", ("/attempt",), "/var/odd"),
        ("/attempt/extra", ("/attempt",), "/attempt/extra"),
        ("/attempt/artifacts", ("/attempt", "/attempt/artifacts"), None),
        ("/x/../attempt/evaluation/deep", ("/attempt", "/attempt/evaluation/deep"), None),
        ("/attempt/.scorehost", ("/attempt", "/attempt/.scorehost"), None),
        ("/attempt", ("/attempt",), None),
        ("/tmp", ("/attempt",), None),
        ("/dev/shm", ("/attempt",), None),
        ("/attempt/output", ("/attempt",), None),
    ],
)
def test_a_volume_of_the_image_becomes_memory_or_a_volume_that_is_filled_by_scorehost(
    declared, volumes, memory
):
    spec = container(blueprint(), volumes=(declared,))
    assert spec.volumes == volumes
    assert set(places(spec)) - {"/tmp", "/attempt/output"} == ({memory} if memory else set())
    assert len(spec.tmpfs) == len(places(spec)), "no place is mounted twice"


def test_a_volume_under_a_scratch_path_or_twice_is_mounted_once():
    spec = container(blueprint(scratch=("/data",)), volumes=("/data", "/data/"))
    assert sorted(place.target for place in spec.tmpfs) == ["/attempt/output", "/data", "/tmp"]


def test_the_environment_is_fixed_and_the_images_dangerous_words_are_cleared():
    image = {
        "PATH": "/bin",
        "LD_PRELOAD": "x",
        "LD_LIBRARY_PATH": "x",
        "PYTHONPATH": "x",
        "PYTHONSTARTUP": "x",
        "BASH_ENV": "x",
        "HTTP_PROXY": "x",
        "https_proxy": "x",
        "no_proxy": "x",
        "LANG": "de",
    }
    spec = container(blueprint(env={"MINE": "1"}), env=image)
    assert set(spec.cleared_env) == set(image) - {"PATH", "LANG"}
    assert spec.env == {
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": "2",
        "OPENBLAS_NUM_THREADS": "2",
        "MKL_NUM_THREADS": "2",
        "USER": "scorehost",
        "LOGNAME": "scorehost",
        "ASAN_OPTIONS": "detect_leaks=0",
        "LSAN_OPTIONS": "detect_leaks=0",
        "MINE": "1",
    }


def test_every_host_has_its_own_pair_of_users_and_its_own_name():
    pairs = [Users.fresh() for _ in range(200)]
    assert all(pair.execs == pair.main + 1 and pair.main >= 1 << 20 for pair in pairs)
    assert len({pair.main for pair in pairs}) > 190
    assert Users.fresh(4321).execs == 4321
    assert container(blueprint()).name != container(blueprint()).name


def test_where_the_engine_maps_users_a_host_gets_a_pair_that_there_is():
    pairs = [Users.fresh(mapped=True) for _ in range(500)]
    assert all(10_000 <= pair.main < pair.execs == pair.main + 1 < 65_536 for pair in pairs)
    assert Users.fresh(4321, mapped=True).execs == 4321


def one(name: str) -> Tree:
    return Tree((Entry(name, Path(name), "0" * 64, 1),))


CARGO = Cargo(
    gold=one("gold"),
    code=one("evaluator.py"),
    tools=one("runner.py"),
    harness=one("harness.py"),
    artifacts=one("answer"),
    workspace=one("source"),
)


def loaded(host: Blueprint) -> dict[str, list[str]]:
    return {folder: [e.path for e in tree.entries] for folder, tree in CARGO.trees(host).items()}


def test_the_evaluators_host_gets_runner_gold_code_and_the_submission():
    assert loaded(blueprint(evaluator=True)) == {
        ".scorehost": ["runner.py"],
        "evaluation": ["gold"],
        "task": ["evaluator.py"],
        "artifacts": ["answer"],
        "workspace": ["source"],
    }


def test_a_host_without_gold_gets_no_gold_and_no_code():
    assert loaded(blueprint(gold=False)) == {
        ".scorehost": ["harness.py"],
        "artifacts": ["answer"],
        "workspace": ["source"],
    }


def test_a_host_without_artifacts_gets_none_of_the_submission():
    load = loaded(blueprint(artifacts=False))
    assert (load["artifacts"], load["workspace"]) == ([], [])
    assert load["evaluation"] == ["gold"]


def test_a_workspace_to_be_copied_is_unpacked_beside_its_place():
    load = loaded(blueprint(copy_workspace=True, gold=False))
    assert load == {
        ".scorehost": ["harness.py", "workspace/source"],
        "artifacts": ["answer"],
        "workspace": [],
    }


def test_a_workspace_to_be_copied_has_its_empty_folders_too():
    empty = Tree((Entry("source", Path("source"), "0" * 64, 1),), ("kept", "kept/empty", "logs"))
    load = replace(CARGO, workspace=empty).trees(blueprint(copy_workspace=True, gold=False))
    assert set(load[".scorehost"].all_folders) == {
        "workspace", "workspace/kept", "workspace/kept/empty", "workspace/logs",
    }  # fmt: skip


def test_a_host_without_gold_is_sent_what_runs_submitted_code_and_nothing_else_of_scorehost():
    own, harness = tools()
    assert [entry.path for entry in harness.entries] == ["harness.py", "shortage.py", "wire.py"]
    assert {"runner.py", "scorehost_sdk/__init__.py", "ageval_sdk/__init__.py"} <= {
        e.path for e in own.entries
    }
    assert all(entry.path.endswith(".py") for entry in own.entries)

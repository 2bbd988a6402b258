"""An engine that leaves out what it was asked for: the runner sees it before it takes gold; nothing runs."""

from __future__ import annotations

import pytest

from reports.memory_runner import memory_engine, scored_on
from scorehost.engine import docker_engine
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.engine.opening import open_engine
from scorehost.hosts.confinement import EVERYTHING, PROMISES, excused
from trial import IMAGE, score_one, write_submission, write_task

pytestmark = pytest.mark.anyio

LARGE = b"gold" * (1 << 19)  # is uploaded
EVALUATOR = "def evaluate(inputs):\n    return {'status': 'PASS'}\n"
LACKING = (
    "Your kernel does not support {} limit capabilities or the cgroup is not mounted. {}"  # Docker's words
)
SWAP = LACKING.format("swap", "Memory limited without swap.")
PIDS = LACKING.format("PIDs", "PIDs limit discarded.")
PORTS = "Published ports are discarded when using host network mode"


def test_each_promise_is_looked_for_unless_the_runtime_has_a_kernel_of_its_own():
    assert excused("runc", allow_unenforced=False) == frozenset()
    assert excused("runsc", allow_unenforced=False) == {"seccomp"}
    assert excused("runc", allow_unenforced=True) == EVERYTHING == {*PROMISES, "limits"}


async def sees_a_network(context):
    await MemoryRunner.greeted(context, unenforced=["network"])
    return 0


async def test_a_runner_that_sees_a_network_evaluates_nothing(tmp_path, job_id):
    root = write_task(tmp_path / "d", EVALUATOR)
    async with memory_engine() as engine:
        engine.program(IMAGE, sees_a_network)
        done = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
    assert (done.kind, done.result.error.blame, done.result.error.retryable) == (
        "start_failed",
        "environment",
        False,
    )
    assert "it has a network; nothing was run in it" in done.result.error.message
    assert "--allow-unenforced" in done.result.error.hint


@pytest.mark.parametrize(("said", "key"), [(SWAP, "memory_mb (swap is not limited)"), (PIDS, "pids")])
async def test_a_limit_that_the_engine_discards_as_it_makes_a_host_is_refused(tmp_path, job_id, said, key):
    root = write_task(tmp_path / "d", EVALUATOR)
    async with memory_engine() as engine:
        engine.warnings.append(said)
        done = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
    assert (done.kind, done.result.error.retryable) == ("start_failed", False)
    assert f"{key}: {said}" in done.result.error.message


async def test_what_else_an_engine_says_as_it_makes_a_host_is_a_warning_of_the_result(tmp_path, job_id):
    root = write_task(tmp_path / "d", EVALUATOR)
    async with memory_engine() as engine:
        engine.warnings.append(PORTS)
        done = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
    assert done.result.status == "PASS"
    assert f"the engine said of the host evaluator: {PORTS}" in done.result.warnings


def without(**left_out):
    real = docker_engine.container_config

    def config(spec, **facts):
        body = real(spec, **facts)
        body["HostConfig"].update(left_out.get("host", {}))
        body.update(left_out.get("body", {}))
        return body

    return config


@pytest.mark.docker
@pytest.mark.parametrize("gold", [b"small", LARGE], ids=["fed", "uploaded"])
async def test_an_engine_that_leaves_things_out_is_found_out_before_the_evaluator_runs(
    tmp_path, job_id, monkeypatch, gold
):
    """All at once, then the filter alone: that of the engine lets a call through which ours refuses."""
    root = write_task(tmp_path / "d", EVALUATOR, gold={"gold.txt": gold})
    free = {"SecurityOpt": ["seccomp=unconfined"], "CapDrop": [], "ReadonlyRootfs": False}
    free["NetworkMode"] = "bridge"
    cases = {
        "it has a network, its root file system is writable, scorehost's system call filter is not on, "
        "it may gain privileges (no-new-privileges is off), it has capabilities": {
            "host": free,
            "body": {"NetworkDisabled": False},
        },
        "scorehost's system call filter is not on": {"host": {"SecurityOpt": ["no-new-privileges"]}},
    }
    for number, (said, left_out) in enumerate(cases.items()):
        monkeypatch.setattr(docker_engine, "container_config", without(**left_out))
        async with open_engine() as engine:
            done = await score_one(
                engine, root, write_submission(tmp_path / f"s{number}"), job_id, tmp_path / f"runs{number}"
            )
        assert done.kind == "start_failed", done.log
        assert f"as it was asked to: {said}; nothing was run" in done.result.error.message
        monkeypatch.undo()

"""Rows of docs/reports.md that need a real engine."""

from __future__ import annotations

import subprocess
import time

import anyio
import pytest

from scorehost.attempt.score import score
from scorehost.attempt.work import Work
from scorehost.engine.opening import open_engine
from scorehost.hosts.labels import JOB, SLOT
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.spec.loading import load_dataset
from scorehost.submissions.sample import Sample
from trial import bench_for, score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

DEAF = """
    import signal, time
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    def evaluate(inputs):
        time.sleep(300)
    """
BY_REPEAT = """
    import time
    def evaluate(inputs):
        if inputs["task"]["repeat"] == 1:
            raise RuntimeError("on purpose")
        time.sleep(300)
    """
SMALL = {"memory_mb": 64, "evaluate_seconds": 300}


async def attempt(bench, runs, job_id, repeat, *, meet=lambda: None):
    (task,) = bench.dataset.tasks.values()
    key = AttemptKey(task_id=task.task_id, submission="s", repeat=repeat)

    def emit(kind, fields):
        if kind == "phase" and fields["phase"] == "evaluate":
            meet()

    folder = runs / job_id / "attempts" / key.folder
    return await score(bench, Order(key, Work(task, Sample())), folder, emit)


async def test_a3_eight_hosts_that_are_deaf_to_signals_are_gone_in_five_seconds(tmp_path, job_id):
    dataset = load_dataset(write_task(tmp_path / "d", DEAF, limits={**SMALL, "start_seconds": 120}))
    running = 0
    all_run = anyio.Event()

    def meet():
        nonlocal running
        running += 1
        if running == 8:
            all_run.set()

    async with open_engine() as engine, bench_for(engine, dataset, job_id, tmp_path / "runs") as bench:
        async with anyio.create_task_group() as group:
            for repeat in range(1, 9):
                group.start_soon(
                    lambda repeat=repeat: attempt(bench, tmp_path / "runs", job_id, repeat, meet=meet)
                )
            with anyio.fail_after(120):
                await all_run.wait()
            begun = time.monotonic()
            group.cancel_scope.cancel()
        assert time.monotonic() - begun < 5
        assert await engine.list_containers({JOB: job_id}) == []
        assert await engine.list_volumes({JOB: job_id}) == []
    assert not (tmp_path / "runs" / job_id / "attempts").exists() or not any(
        (tmp_path / "runs" / job_id / "attempts/t/s").iterdir()
    )


async def test_a5_what_an_error_leaves_goes_at_once_while_others_run_on(tmp_path, job_id):
    dataset = load_dataset(write_task(tmp_path / "d", BY_REPEAT, limits=SMALL))
    other_runs = anyio.Event()
    async with open_engine() as engine, bench_for(engine, dataset, job_id, tmp_path / "runs") as bench:
        async with anyio.create_task_group() as group:
            group.start_soon(lambda: attempt(bench, tmp_path / "runs", job_id, 2, meet=other_runs.set))
            with anyio.fail_after(60):
                await other_runs.wait()
            result = await attempt(bench, tmp_path / "runs", job_id, 1)
            # As soon as the failed one returns, only the other one's host is there.
            left = [row.labels[SLOT] for row in await engine.list_containers({JOB: job_id})]
            group.cancel_scope.cancel()
    assert result.error.kind == "evaluator_exception"
    assert left == ["t/s/1.2"]


def networks():
    words = ["docker", "network", "ls", "-q"]
    return sorted(subprocess.run(words, capture_output=True, text=True, check=True).stdout.split())


LIST = """
    import os
    def evaluate(inputs):
        found = []
        for folder, _, names in os.walk("/attempt"):
            found += [os.path.join(folder, name)[len("/attempt/"):] for name in names]
        sandbox = inputs["scoring"].exec("sandbox", ["sh", "-c", "cd /attempt && find . -type f"])
        return {"status": "PASS", "metrics": {"here": sorted(found), "there": sorted(sandbox.stdout.split())}}
    """


async def test_p7_hosts_hold_declared_files_and_nothing_that_lies_beside_them(tmp_path, job_id):
    root = write_task(
        tmp_path / "d",
        LIST,
        evaluation={"environments": {"sandbox": {"docker_image": "scorehost/python:3", "gold": False}}},
    )
    task = root / "tasks/t"
    for name in (".git/HEAD", "solution/artifacts/answer.txt", "README.md", "notes.txt", "data/x"):
        (task / name).parent.mkdir(parents=True, exist_ok=True)
        (task / name).write_text("x")
    files = {"artifacts/answer.txt": "42", ".git/HEAD": "x", "artifacts/other.txt": "x", "task.yaml": "x"}
    before = networks()
    async with open_engine() as engine:
        done = await score_one(
            engine, root, write_submission(tmp_path / "s", files), job_id, tmp_path / "runs"
        )
    assert done.result.status == "PASS", done.result.error
    here = [name for name in done.result.metrics["here"] if not name.startswith(".scorehost/")]
    assert here == ["artifacts/answer.txt", "evaluation/gold.txt", "task/evaluator.py"]
    own = {name.split("/")[1] for name in done.result.metrics["here"] if name.startswith(".scorehost/")}
    assert own == {"runner.py", "scorehost_sdk", "ageval_sdk"}
    harness = [f"./.scorehost/{name}.py" for name in ("harness", "shortage", "wire")]
    assert done.result.metrics["there"] == [*harness, "./artifacts/answer.txt"]
    # B1, B2, B4: no network is ever made, so no pool of addresses can run out.
    assert networks() == before


PRINTS = """
    import sys
    def evaluate(inputs):
        text = "é€😀" * 40_000
        sys.stdout.write(text)
        sys.stdout.flush()
        sys.stderr.write("only here\\n")
        return {"status": "PASS"}
    """


async def test_f7_f13_letters_of_several_bytes_and_what_only_stderr_has_are_in_the_log(tmp_path, job_id):
    root = write_task(tmp_path / "d", PRINTS)
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert done.result.status == "PASS"
    assert done.log.decode() == "é€😀" * 40_000 + "only here\n"


@pytest.mark.parametrize("start", [b"\xef\xbb\xbf", b""])
async def test_r7_an_evaluator_with_windows_line_ends_and_a_mark_runs(tmp_path, job_id, start):
    root = write_task(tmp_path / "d", "")
    source = start + b'def evaluate(inputs):\r\n    return {"status": "FAIL"}\r\n'
    (root / "tasks/t/evaluator.py").write_bytes(source)
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert done.result.status == "FAIL"


LIMITS = """
    def evaluate(inputs):
        script = ["python3", "-c", "x = bytearray(100 << 20); print(len(x))"]
        small = inputs["scoring"].exec("small", script)
        large = inputs["scoring"].exec("large", script)
        again = inputs["scoring"].exec("small", ["python3", "-c", "print(1)"])
        return {"status": "PASS", "metrics": {"small": small.ok, "large": large.ok, "again": again.ok}}
    """


async def test_e8_each_host_has_its_own_limits_and_none_sticks(tmp_path, job_id):
    image = "scorehost/python:3"
    environments = {
        "small": {"docker_image": image, "limits": {"memory_mb": 48}},
        "large": {"docker_image": image, "limits": {"memory_mb": 256}},
    }
    root = write_task(tmp_path / "d", LIMITS, evaluation={"environments": environments})
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert done.result.metrics == {"small": False, "large": True, "again": True}


SPARSE = """
    import os
    def evaluate(inputs):
        with open(os.path.join(inputs["output_dir"], "checks.json"), "wb") as file:
            file.truncate(50 << 30)
        with open(os.path.join(inputs["output_dir"], "result.json"), "w") as file:
            file.write('{"status": "PASS", "score": 1}')
        return {"status": "FAIL"}
    """


async def test_g14_g16_p1_files_that_an_evaluator_leaves_behind_are_not_collected(tmp_path, job_id):
    root = write_task(tmp_path / "d", SPARSE)
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert (done.result.status, done.result.score) == ("FAIL", 0.0)
    assert sum(path.stat().st_size for path in done.folder.rglob("*") if path.is_file()) < 100_000

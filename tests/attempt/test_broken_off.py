"""Attempts whose engine goes away, or that nobody wants any more."""

from __future__ import annotations

import gc
import tempfile
import time
from pathlib import Path

import anyio
import pytest
from attempts import attempt
from passage import passage

from scorehost.engine.endpoint import resolve
from scorehost.engine.opening import open_engine
from scorehost.errors import DiskFull
from scorehost.hosts.clean import clean_job
from scorehost.spec.loading import load_dataset
from trial import IMAGE, bench_for, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

SLEEPS = """
import time
def evaluate(inputs):
    inputs["scoring"].exec("work", ["sleep", "60"])
    return {"status": "PASS"}
"""


@pytest.fixture
def dataset(tmp_path):
    write_submission(tmp_path / "s")
    environments = {"work": {"docker_image": IMAGE}}
    return load_dataset(write_task(tmp_path / "d", SLEEPS, evaluation={"environments": environments}))


@pytest.fixture
def socket():
    """A short path: a socket's may have 107 bytes only."""
    with tempfile.TemporaryDirectory(prefix="sh-") as folder:
        yield Path(folder) / "e.sock"


async def hosts_of(engine, job_id) -> list[str]:
    return [row.name for row in await engine.list_containers({"scorehost.job": job_id})]


async def until(condition) -> None:
    with anyio.fail_after(20):
        while not await condition():  # noqa: ASYNC110 - the engine tells no event to a test
            await anyio.sleep(0.05)


# The docker SDK leaves the socket of a connection that was refused to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
@pytest.mark.parametrize("when", ["prepare", "start", "evaluate", "work"])
async def test_an_engine_that_goes_away_is_engine_lost_and_what_it_kept_can_be_removed(
    tmp_path, job_id, dataset, socket, when
):
    endpoint = resolve(None)
    if endpoint.kind != "unix":
        pytest.skip("the engine is not reached by a socket of this machine")
    folder = tmp_path / "runs" / job_id
    async with (
        open_engine() as direct,
        passage(socket, endpoint.address) as way,
        open_engine(way.host) as engine,
    ):
        try:
            async with (
                anyio.create_task_group() as group,
                bench_for(engine, dataset, job_id, tmp_path / "runs") as bench,
            ):

                def meet(phase: str) -> None:
                    if phase == when:
                        way.close()

                async def close_at_work() -> None:
                    await until(lambda: _two(direct, job_id))
                    await anyio.sleep(0.3)  # the exec runs by now
                    way.close()

                if when == "work":
                    group.start_soon(close_at_work)
                begun = time.monotonic()
                done = await attempt(bench, folder, tmp_path / "s", meet=meet)
                spent = time.monotonic() - begun
        finally:
            lost = await clean_job(direct, job_id)
        assert lost == []
        assert await hosts_of(direct, job_id) == []
    gc.collect()
    assert done.kind == "engine_lost", done.result
    assert done.result.error is not None
    assert (done.result.error.blame, done.result.error.retryable) == ("engine", True)
    assert spent < 20
    assert (done.folder / "manifest.json").exists()


async def _two(engine, job_id) -> bool:
    return len(await hosts_of(engine, job_id)) == 2


@pytest.mark.parametrize("when", ["prepare", "start", "evaluate", "work"])
async def test_a_cancelled_attempt_leaves_no_folder_and_nothing_on_the_engine_within_5_seconds(
    tmp_path, job_id, dataset, when
):
    folder = tmp_path / "runs" / job_id
    async with open_engine() as engine, bench_for(engine, dataset, job_id, tmp_path / "runs") as bench:
        cancelled_at = 0.0
        async with anyio.create_task_group() as group:

            def cancel() -> None:
                nonlocal cancelled_at
                cancelled_at = time.monotonic()
                group.cancel_scope.cancel()

            def meet(phase: str) -> None:
                if phase == when:
                    cancel()

            async def one() -> None:
                await attempt(bench, folder, tmp_path / "s", meet=meet)

            group.start_soon(one)
            if when == "work":
                await until(lambda: _two(engine, job_id))
                await anyio.sleep(0.3)
                cancel()
        assert group.cancel_scope.cancelled_caught
        assert time.monotonic() - cancelled_at < 5
        assert await hosts_of(engine, job_id) == []
        assert await engine.list_volumes({"scorehost.job": job_id}) == []
    assert [path for path in (folder / "attempts").rglob("*") if path.is_file()] == []
    assert not list((folder / "attempts").rglob("*1.1*"))
    incoming = tmp_path / "runs/.blobs/incoming"
    assert not incoming.exists() or list(incoming.iterdir()) == []


FILLS = """
def evaluate(inputs):
    for _ in range(3):
        inputs["scoring"].exec("work", ["head", "-c", "4000000", "/dev/zero"])
    return {"status": "PASS"}
"""


async def test_a_disk_that_fills_up_during_an_attempt_stops_the_job_and_leaves_nothing_half_done(
    tmp_path, job_id, small_disk
):
    root = write_task(
        tmp_path / "d",
        FILLS,
        limits={"output_bytes": 4_194_304},
        evaluation={"environments": {"work": {"docker_image": IMAGE}}},
    )
    submission = write_submission(tmp_path / "s", {})
    async with open_engine() as engine, bench_for(engine, load_dataset(root), job_id, small_disk) as bench:
        with pytest.raises(DiskFull, match=r"4000000 bytes were due, .* are missing"):
            await attempt(bench, small_disk / job_id, submission)
        assert await hosts_of(engine, job_id) == []
    assert [path for path in small_disk.rglob("*") if path.is_file()] == []

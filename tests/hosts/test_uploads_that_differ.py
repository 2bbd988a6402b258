"""A large upload that is not what was meant: the runner sees it, and whose fault it is is looked up then."""

from __future__ import annotations

import pytest

from reports.memory_runner import memory_engine, scored_on
from scorehost.files.tree import TRUSTED_BYTES
from trial import write_submission, write_task

pytestmark = pytest.mark.anyio

TREE = {"artifacts": {"publishable": [{"id": "a", "path": "artifacts", "kind": "tree"}]}}


def handed_in(tmp_path):
    folder = write_submission(tmp_path / "s")
    (folder / "artifacts" / "large.bin").write_bytes(b"a" * TRUSTED_BYTES)
    return folder


async def test_a_large_file_of_ours_that_changed_before_it_was_sent_is_a_changed_input(tmp_path, job_id):
    runs = tmp_path / "runs"

    def change(phase):
        if phase == "start":
            (blob,) = (
                path
                for path in runs.rglob("*")
                if path.is_file() and path.stat().st_size == TRUSTED_BYTES and ".blobs" in path.parts
            )
            blob.write_bytes(b"b" * TRUSTED_BYTES)

    root = write_task(tmp_path / "d", "", **TREE)
    async with memory_engine() as engine:
        scored = await scored_on(engine, root, handed_in(tmp_path), runs, job_id, meet=change)
    error = scored.result.error
    assert (error.kind, error.blame.value, error.retryable) == ("changed_input", "dataset", False)
    assert error.message == "artifacts/large.bin changed on disk while the job ran"


async def test_a_large_file_that_the_engine_damaged_is_the_engines_fault(tmp_path, job_id):
    root = write_task(tmp_path / "d", "", **TREE)
    async with memory_engine() as engine:
        real = engine.upload

        async def damaging(container, path, archive):
            await real(container, path, b"".join(archive).replace(b"a" * 1024, b"b" * 1024, 1))

        engine.upload = damaging
        scored = await scored_on(engine, root, handed_in(tmp_path), tmp_path / "runs", job_id)
    error = scored.result.error
    assert (error.kind, error.blame.value, error.retryable) == ("upload_damaged", "engine", True)

"""A runs folder on a file system that can do less: the next best is done; what cannot be done is said."""

from __future__ import annotations

import errno

import anyio
import pytest
from poor import like_exfat

from given import given
from reports.memory_runner import memory_engine
from scorehost import api
from trial import write_submission, write_task

ARTIFACTS = {
    "publishable": [
        {"id": "answer", "path": "artifacts/answer.txt"},
        {"id": "tree", "path": "artifacts/tree", "kind": "tree"},
    ]
}


def ran(tmp_path, *submissions, out="runs"):
    root = write_task(tmp_path / "d", "", artifacts=ARTIFACTS)
    asked, running = given(
        dataset=root, submissions=tuple(f"{s.name}={s}" for s in submissions), out=tmp_path / out
    )
    told = []

    async def main():
        return await api.run(asked, running, told.append, engine=lambda _host: memory_engine())

    return anyio.run(main), told


def plain(tmp_path, name="s", path="artifacts/tree/a b"):
    made = write_submission(tmp_path / name, {"artifacts/answer.txt": b"1", path: b"2"})
    (made / path).chmod(0o755)
    return made


@pytest.mark.parametrize("link", [errno.EIO, errno.EACCES, errno.EINVAL, errno.EPERM, errno.EOPNOTSUPP])
def test_what_cannot_be_linked_is_copied_and_modes_are_not_missed(tmp_path, monkeypatch, link):
    submission = plain(tmp_path)
    like_exfat(monkeypatch, tmp_path / "runs", link=link)
    outcome, told = ran(tmp_path, submission)
    assert [row.status for row in outcome.rows] == ["PASS"], outcome.message
    kept = outcome.folder / "attempts/t/s/1.1/artifacts"
    assert (kept / "tree/a b").read_bytes() == b"2"
    assert (kept / "answer.txt").read_bytes() == b"1"
    warned = [event.fields["text"] for event in told if event.kind == "warning"]
    assert warned == [f"{tmp_path}/runs/latest could not be set: Operation not permitted."]


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EOPNOTSUPP, errno.ENOSYS])
def test_where_folders_cannot_be_synced_files_are(tmp_path, monkeypatch, number):
    like_exfat(monkeypatch, tmp_path / "runs", folders=number)
    outcome, _ = ran(tmp_path, plain(tmp_path))
    assert [row.status for row in outcome.rows] == ["PASS"], outcome.message


def test_a_name_that_the_file_system_does_not_take_stops_the_job_and_says_which_and_where(
    tmp_path, monkeypatch
):
    submission = plain(tmp_path, path="artifacts/tree/12:30.txt")
    like_exfat(monkeypatch, tmp_path / "runs")
    outcome, _ = ran(tmp_path, submission)
    assert (outcome.status, outcome.exit_status) == ("incomplete", 2)
    assert "12:30.txt" in outcome.message
    assert "--out" in outcome.message

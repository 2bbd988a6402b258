"""A full disk: the job stops, says how much is missing, and loses nothing."""

from __future__ import annotations

import errno
import json
import os
import subprocess

import pytest
from scripted_jobs import Script, run, some_tasks

from scorehost.errors import DiskFull
from scorehost.files.atomic import disk_errors, write_atomic
from scorehost.runs.journal import FILE, read_history


def test_a_file_holds_the_old_bytes_until_it_holds_all_new_ones(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    write_atomic(path, b"old")
    assert path.stat().st_mode & 0o777 == 0o600

    def full(_descriptor, _data):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(DiskFull, match="3 bytes were due"):
        write_atomic(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.json"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_space_and_over_quota_are_a_full_disk(tmp_path, number):
    with pytest.raises(DiskFull, match="missing"), disk_errors(tmp_path, 10):
        raise OSError(number, "full")


def test_other_errors_are_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(PermissionError), disk_errors(tmp_path, 10):
        raise PermissionError(errno.EACCES, "no")


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 2 MiB."""
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def test_a_job_on_a_full_file_system_stops_and_goes_on_once_there_is_room(tmp_path, small_disk):
    dataset = some_tasks(tmp_path, *(f"t{n:02}" for n in range(40)))
    filler = small_disk / "filler"

    def verdict(order):
        if order.key.task_id == "t05":
            with filler.open("wb") as stream:
                try:
                    while True:
                        stream.write(b"\0" * 4096)
                        stream.flush()
                except OSError:
                    pass
        return {}

    first = run(small_disk, dataset, Script(verdict), submissions=("solution",))
    assert (first.status, first.exit_status) == ("incomplete", 2)
    assert "missing" in first.message
    assert len(first.rows) == 5
    for path in first.folder.rglob("*.json"):
        if ".new" not in str(path):  # the scripted stand-in's own unfinished folder
            json.loads(path.read_bytes())
    # Room was kept for the end of the job.
    assert json.loads((first.folder / "summary.json").read_bytes())["done"] == 5
    filler.unlink()
    second = run(small_disk, dataset, Script(), resume="latest")
    assert (second.status, second.exit_status, len(second.rows)) == ("complete", 0, 40)
    assert read_history(second.folder / FILE).broken is None

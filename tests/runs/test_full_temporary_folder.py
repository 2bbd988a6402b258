"""No room, or no right, in the folder for temporary files: told with its name, never as a defect."""

from __future__ import annotations

import errno
import os
import tempfile

import anyio
import pytest

from reports.memory_runner import memory_engine
from scorehost.adapters.folders import make_folders, translated
from scorehost.api import open_scorer
from scorehost.errors import DiskFull, DiskTrouble
from scorehost.files.scratch import scratch
from trial import write_task

ERRORS = [errno.ENOSPC, errno.EACCES, errno.EROFS, errno.EDQUOT]


@pytest.fixture(params=ERRORS, ids=[errno.errorcode[number] for number in ERRORS])
def refused(request, monkeypatch):
    """No folder can be made below the temporary one."""
    real, top = os.mkdir, tempfile.gettempdir()

    def mkdir(path, *given, **more):
        if os.fspath(path).startswith(f"{top}/scorehost-"):
            raise OSError(request.param, os.strerror(request.param), path)
        return real(path, *given, **more)

    monkeypatch.setattr(os, "mkdir", mkdir)
    return os.strerror(request.param)


def test_a_scorer_that_finds_no_room_says_which_folder_and_what_to_do(tmp_path, refused):
    root = write_task(tmp_path / "d", "")

    async def opened():
        async with open_scorer(root, engine=lambda _host: memory_engine()):
            pass

    with pytest.raises(DiskTrouble, match=f"in {tempfile.gettempdir()}: {refused}") as told:
        anyio.run(opened)
    assert "TMPDIR" in told.value.hint


def test_a_call_of_an_adapter_that_finds_no_room_is_the_adapters_place_missing(refused):
    with pytest.raises(OSError, match=refused) as raised:
        make_folders(None)
    fault = translated(raised.value).fault
    assert fault.kind == "adapter_missing"
    assert f"{tempfile.gettempdir()}: {refused}" in fault.message
    assert "TMPDIR" in fault.message


def test_what_fills_the_folder_while_it_is_written_is_told_by_its_name():
    def fill():
        with scratch("context") as place:
            raise OSError(errno.ENOSPC, "No space left on device", place / "context.tar")

    with pytest.raises(DiskFull, match=f"{tempfile.gettempdir()}, is full") as told:
        fill()
    assert "TMPDIR" in told.value.hint


def test_other_errors_of_what_is_written_there_pass():
    with pytest.raises(FileNotFoundError), scratch("context") as place:
        (place / "not-there").read_bytes()

"""No room, no right or no place among the temporary files: a fault of the call, not a defect of scorehost."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from adapter_scripts import SESSION

from scorehost.adapters import folders
from scorehost.adapters.requests import BehaviorRequest

pytestmark = pytest.mark.anyio
SOUND = "say(reply())"


def failing(number):
    def fail(*_args, **_options):
        raise OSError(number, os.strerror(number))

    return fail


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES, errno.EDQUOT, errno.EROFS, errno.EMFILE])
async def test_folders_that_cannot_be_made_are_a_fault_that_says_why(bench, monkeypatch, number):
    async with bench.open(SOUND) as roles:
        with monkeypatch.context() as broken:
            broken.setattr(folders.tempfile, "mkdtemp", failing(number))
            call = await roles.call("judge", SESSION)
        after = await roles.call("judge", SESSION)
    assert (call.fault.kind, os.strerror(number) in call.fault.message) == ("adapter_missing", True)
    assert "TMPDIR" in call.fault.message
    assert after.fault is None


async def test_no_place_for_temporary_files_at_all_is_a_fault_too(bench, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_get_default_tempdir", failing(errno.ENOENT))
    async with bench.open(SOUND) as roles:
        call = await roles.call("judge", SESSION)
    assert call.fault.kind == "adapter_missing"


async def test_a_plugin_that_finds_no_room_is_a_fault_and_leaves_no_folder(bench, monkeypatch):
    monkeypatch.setattr(Path, "write_bytes", failing(errno.ENOSPC))
    request = BehaviorRequest(condition="treatment", prompt="do", plugin_archive=b"zip")
    async with bench.open(role=bench.role(SOUND, modes=("behavior",))) as roles:
        call = await roles.call("judge", request)
    assert call.fault.kind == "adapter_missing"

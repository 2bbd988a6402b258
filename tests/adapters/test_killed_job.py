"""A controller that is killed leaves processes and folders of calls; the next one ends and removes them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from adapter_scripts import SESSION

from scorehost.adapters.abandoned import remove_abandoned
from scorehost.adapters.folders import make_folders, own_mark, remove_folders
from scorehost.api import diagnosis
from scorehost.engine.memory import MemoryEngine
from scorehost.files.lease import start_ticks

CONTROLLER = """
import sys, anyio, tempfile
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from adapter_scripts import SESSION, Bench
tempfile.tempdir = sys.argv[3]
async def main():
    code = f"open({sys.argv[4]!r}, 'w').write(str(os.getpid()))\\ntime.sleep(600)"
    async with Bench(Path(sys.argv[2])).open(code) as roles:
        await roles.call("judge", SESSION)
anyio.run(main)
"""


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.anyio
async def test_what_a_killed_job_left_goes_when_the_next_one_opens_its_roles(bench, tmp_path):
    note = tmp_path / "pid"
    words = [sys.executable, "-c", CONTROLLER, str(Path(__file__).parent), str(bench.folder)]
    controller = subprocess.Popen([*words, tempfile.gettempdir(), str(note)])  # noqa: ASYNC220
    wait_for(lambda: note.exists() and note.read_text())
    adapter = int(note.read_text())
    assert remove_abandoned() == 0, "a living job's call was touched"
    controller.send_signal(signal.SIGKILL)
    controller.wait()
    assert start_ticks(adapter) is not None
    async with bench.open("say(reply())") as roles:
        assert start_ticks(adapter) is None
        assert (await roles.call("judge", SESSION)).fault is None


def test_folders_of_other_namespaces_and_of_no_owner_are_left_alone(bench):
    folders = make_folders(None)
    namespace, pid, ticks, _ = folders.root.name.removeprefix("scorehost-call-").split("-", 3)
    assert (int(pid), int(ticks)) == (os.getpid(), start_ticks(os.getpid()))
    others = [
        f"scorehost-call-1-{pid}-1-x",
        "scorehost-call-x",
        "scorehost-call-",
        f"scorehost-call-{namespace}-x-y",
    ]
    places = [Path(tempfile.gettempdir(), name) for name in others]
    for place in places:
        place.mkdir()
    dead = Path(tempfile.gettempdir(), f"scorehost-call-{namespace}-{pid}-{int(ticks) + 1}-x")
    dead.mkdir()
    assert remove_abandoned() == 1
    assert not dead.exists()
    assert all(place.exists() for place in [*places, folders.root])
    for place in places:
        place.rmdir()
    remove_folders(folders)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "away", ["setsid env -i sleep 300", "setsid env -i sh -c 'cd ../tmp && exec sleep 300'"]
)
async def test_what_leaves_its_group_and_clears_its_environment_is_found_by_where_it_stands(bench, away):
    note = bench.folder / "pid"
    code = f"""
found = subprocess.Popen(["sh", "-c", {away!r} + " & echo $!"], stdout=subprocess.PIPE)
open({str(note)!r}, "w").write(found.stdout.readline().decode())
say(reply())
"""
    async with bench.open(code) as roles:
        await roles.call("judge", SESSION)
    assert start_ticks(int(note.read_text())) is None


@pytest.mark.anyio
async def test_doctor_sees_and_clean_removes_what_calls_of_killed_jobs_left(bench):
    folders = make_folders(None)
    mark = own_mark()
    dead = folders.root.with_name(folders.root.name.replace(mark, f"{mark.split('-')[0]}-{2**22 + 1}-1"))
    folders.root.rename(dead)

    @asynccontextmanager
    async def engine(_host):
        async with MemoryEngine() as opened:
            yield opened

    found = await diagnosis.doctor(engine=engine)
    assert any(str(dead) in one.text and one.level == "warning" for one in found)
    assert (await diagnosis.clean(job="20261201-000000-0000", engine=engine)).calls == 0
    assert (await diagnosis.clean(engine=engine)).calls == 1
    assert not dead.exists()

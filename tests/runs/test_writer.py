"""One thread writes, in order; one round of syncs serves all that wait; the event loop waits for no disk."""

from __future__ import annotations

import asyncio
import errno
import os
import threading
import time
from pathlib import Path

import anyio
import pytest

from scorehost.errors import DiskFull, DiskTrouble
from scorehost.runs import writer as writing
from scorehost.runs.writer import open_writer

pytestmark = pytest.mark.anyio


async def test_what_is_asked_is_done_in_its_order_by_one_thread_that_is_not_the_loops(tmp_path):
    done, threads = [], set()

    def note(number):
        done.append(number)
        threads.add(threading.get_ident())

    async with open_writer(tmp_path) as writer:
        for number in range(100):
            writer.post(lambda number=number: note(number), print, lazy=bool(number % 3))
        await writer.do(lambda: note(100))
        assert done == list(range(101))
    assert len(threads) == 1
    assert threading.get_ident() not in threads


async def test_what_nobody_waits_for_is_written_when_the_block_has_ended(tmp_path):
    done = []
    async with open_writer(tmp_path) as writer:
        writer.post(lambda: done.append(1), print, lazy=True)
    assert done == [1]


async def test_all_that_wait_at_once_share_one_round_of_syncs(tmp_path, monkeypatch):
    rounds, begun = [], threading.Event()

    def synced(paths):
        rounds.append(sorted(map(str, paths)))
        return {}

    monkeypatch.setattr(writing, "durable_or_not", synced)

    def steps(number):
        yield [f"file-{number}"]
        yield ["shared"]
        return number

    came = []

    async def one(number):
        came.append(await writer.durable(steps(number)))

    async with open_writer(tmp_path) as writer:
        writer.post(begun.wait, print)  # all eight come while the thread is busy
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(one, number)
            await anyio.wait_all_tasks_blocked()
            begun.set()
    assert sorted(came) == list(range(8))
    assert rounds == [[f"file-{number}" for number in range(8)], ["shared"] * 8]


async def test_a_file_that_the_disk_lost_fails_its_own_work_alone_and_is_not_tried_twice(
    tmp_path, monkeypatch
):
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.touch()
    bad.touch()
    fsync, tried = os.fsync, []

    def failing(descriptor):
        path = str(Path(f"/proc/self/fd/{descriptor}").readlink())
        tried.append(path)
        if path == str(bad) and tried.count(path) == 1:
            raise OSError(errno.EIO, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    told = {}

    async def one(path):
        def steps():
            yield [str(path)]
            return "durable"

        try:
            told[path.name] = await writer.durable(steps())
        except DiskTrouble as error:
            told[path.name] = str(error)

    begun = threading.Event()
    async with open_writer(tmp_path) as writer:
        writer.post(begun.wait, print)
        async with anyio.create_task_group() as group:
            group.start_soon(one, bad)
            group.start_soon(one, good)
            await anyio.wait_all_tasks_blocked()
            begun.set()
    assert told["good"] == "durable"
    assert "Input/output error (EIO)" in told["bad"]
    assert tried.count(str(bad)) == 1


@pytest.mark.parametrize(
    ("number", "kind", "said"),
    [
        (errno.ENOSPC, DiskFull, "is full"),
        (errno.EIO, DiskTrouble, "/x/y could not be written: Input/output error"),
        (errno.EACCES, DiskTrouble, "/x/y could not be written: Permission denied"),
        (errno.EINVAL, DiskTrouble, "/x/y could not be written: Invalid argument"),
    ],
)
async def test_a_disk_that_fails_is_told_with_what_and_where(tmp_path, number, kind, said):
    def fails():
        raise OSError(number, os.strerror(number), "/x/y")

    async with open_writer(tmp_path) as writer:
        with pytest.raises(DiskTrouble, match=said) as raised:
            await writer.do(fails)
    assert type(raised.value) is kind
    assert "--resume" in raised.value.hint


async def test_a_post_that_fails_is_told_in_the_loop_and_the_next_is_done(tmp_path):
    told, done = [], []
    loop = threading.get_ident()
    async with open_writer(tmp_path) as writer:
        writer.post(lambda: 1 / 0, lambda error: told.append((type(error), threading.get_ident())))
        writer.post(lambda: done.append(1), print)
        await writer.do(lambda: None)
        await anyio.lowlevel.checkpoint()
    assert told == [(ZeroDivisionError, loop)]
    assert done == [1]


async def test_a_cancel_leaves_what_was_asked_to_the_thread_which_does_it_whole(tmp_path):
    begun, go, done = threading.Event(), threading.Event(), []

    def steps():
        begun.set()
        go.wait()
        yield [str(tmp_path)]
        done.append("whole")

    async with open_writer(tmp_path) as writer:
        async with anyio.create_task_group() as group:
            group.start_soon(writer.durable, steps())
            while not begun.is_set():
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
        go.set()
    assert done == ["whole"]


async def test_a_disk_that_hangs_holds_no_other_task_up(tmp_path):
    go, ticks = threading.Event(), 0
    async with open_writer(tmp_path) as writer:
        writer.post(go.wait, print)
        async with anyio.create_task_group() as group:
            group.start_soon(writer.do, lambda: None)
            begun = time.monotonic()
            while ticks < 1000:
                await anyio.lowlevel.checkpoint()
                ticks += 1
            assert time.monotonic() - begun < 10
            go.set()


async def test_what_nobody_waits_for_wakes_the_loop_only_when_it_fails(tmp_path, monkeypatch):
    def refuse():
        raise OSError(errno.EIO, "lost")

    told, woken = [], []
    async with open_writer(tmp_path) as writer:
        loop = asyncio.get_running_loop()
        wake = loop.call_soon_threadsafe
        monkeypatch.setattr(loop, "call_soon_threadsafe", lambda *call: woken.append(call) or wake(*call))
        for _ in range(5):
            writer.post(lambda: None, told.append)
        await writer.do(lambda: None)
        assert (told, len(woken)) == ([], 1)  # by what was waited for
        writer.post(refuse, told.append)
        await writer.do(lambda: None)
    assert [type(error) for error in told] == [DiskTrouble]


async def test_a_defect_in_the_thread_is_told_to_all_that_wait_and_the_thread_goes_on(tmp_path, monkeypatch):
    def steps():
        yield [str(tmp_path)]

    async with open_writer(tmp_path) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(writing, "durable_or_not", lambda _paths: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await writer.durable(steps())
        assert await writer.do(lambda: "goes on") == "goes on"

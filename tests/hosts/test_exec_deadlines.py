"""Who was too late is asked of the engine, never of a clock that may be late itself."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import asynccontextmanager

import anyio
import pytest

from hosts.exec_places import one_host, sleeps
from scorehost.engine.frames import Demultiplexer
from scorehost.engine.unix_stream import UnixStream
from scorehost.hosts.execs import ExecOrder, run_exec
from scorehost.hosts.memory_watch import watch_memory
from scorehost.hosts.processes import Process

pytestmark = pytest.mark.anyio
ORDER = ExecOrder(("work",), seconds=0.4, keep=1000)
OK = b"\1\0\0\0\0\0\0\3ok\n"


class Socket:
    """A stream of the door over a socket that a thread writes to: as in a container, nobody waits for us."""

    def __init__(self, ours):
        self._stream, self._frames, self._ready = UnixStream(ours), Demultiplexer(), []

    async def send(self, _data):
        return

    async def close_stdin(self):
        return

    async def receive(self):
        while not self._ready:
            try:
                self._ready += self._frames.feed(await self._stream.receive())
            except anyio.EndOfStream:
                return None
        return self._ready.pop(0)


@asynccontextmanager
async def outside(host, *, prints_after, ends_after=0.0, answers_after=0.0):
    """Programs of the host run in threads: each prints and closes its output at `prints_after` seconds, is
    known to have ended at `ends_after`, and the engine takes `answers_after` to say so.
    """
    ours, theirs = socket.socketpair()
    ours.settimeout(0)
    begun = time.monotonic()

    def program():
        time.sleep(prints_after)
        theirs.sendall(OK)
        theirs.close()

    thread = threading.Thread(target=program)

    @asynccontextmanager
    async def exec_start(_exec_id):
        thread.start()
        yield Socket(ours)

    async def exit_code(_exec_id):
        await anyio.sleep(answers_after)
        return 0 if time.monotonic() - begun >= ends_after else None

    host.engine.exec_start, host.engine.exec_exit_code = exec_start, exit_code
    try:
        yield
    finally:
        thread.join()
        ours.close()


async def ran(host, *, loop_held=0.0):
    """The result of an exec during which this process does nothing else for a while; and who was killed."""
    killed = []

    async def on_deadline():
        killed.append("killed")
        await host.end("timed_out")

    async def held():
        await anyio.sleep(0.05)
        time.sleep(loop_held)  # noqa: ASYNC251 - that is what is tried

    async with anyio.create_task_group() as group:
        group.start_soon(held)
        return await run_exec(host, ORDER, on_deadline), killed


async def test_a_program_that_ended_in_time_is_not_timed_out_when_the_controller_looks_late():
    async with one_host(sleeps) as host, outside(host, prints_after=0.1):
        done, killed = await ran(host, loop_held=0.8)
    assert (done.exit_code, done.stdout, done.timed_out, done.reason, killed) == (0, b"ok\n", False, "", [])


async def test_a_program_that_ended_in_time_is_not_timed_out_when_the_engine_hands_its_output_on_late():
    async with one_host(sleeps) as host, outside(host, prints_after=0.9, ends_after=0.2):
        done, killed = await ran(host)
    assert (done.exit_code, done.stdout, done.timed_out, killed) == (0, b"ok\n", False, [])


async def test_an_engine_that_is_held_up_is_asked_again_before_a_program_is_killed():
    async with one_host(sleeps) as host, outside(host, prints_after=1.3, ends_after=1.2, answers_after=0.6):
        done, killed = await ran(host)
    assert (done.exit_code, done.timed_out, killed) == (0, False, [])


async def test_a_program_that_runs_at_its_deadline_is_killed_and_told():
    async with one_host(sleeps) as host:
        done, killed = await ran(host)
    assert (done.exit_code, done.timed_out, done.host_lost, done.reason) == (124, True, False, "timed_out")
    assert killed == ["killed"]


async def test_a_program_that_ended_late_by_the_engines_own_times_is_timed_out_however_late_anybody_looks():
    async with one_host(sleeps) as host, outside(host, prints_after=0.1):

        async def exec_seconds(_container, _exec_id):
            return ORDER.seconds + 1.1  # more than the tolerance of a second

        host.memory.exec_seconds = exec_seconds
        done, killed = await ran(host, loop_held=0.8)
    assert (done.exit_code, done.timed_out, killed) == (124, True, ["killed"])


async def test_the_time_for_which_the_engine_stood_still_is_not_the_programs():
    """The engine's own times have that in them: it noted the end when it went on."""
    async with one_host(sleeps) as host, outside(host, prints_after=1.6, answers_after=1.4):

        async def exec_seconds(_container, _exec_id):
            return ORDER.seconds + 1.3

        host.memory.exec_seconds = exec_seconds
        done, killed = await ran(host)
    assert (done.exit_code, done.stdout, done.timed_out, killed) == (0, b"ok\n", False, [])


async def test_the_time_of_an_exec_is_that_between_the_engines_events():
    async def takes_a_while(context):
        await context.sleep(0.3)

    async with one_host(takes_a_while) as host, watch_memory(host.engine, "j") as watch:
        await anyio.sleep(0.01)
        await run_exec(host, ExecOrder(("work",), seconds=5, keep=10), host.engine.info)
        (exec_id,) = host.engine._containers[host.container].execs
        assert 0.3 <= await watch.exec_seconds(host.container, exec_id) < 1
        assert await watch.exec_seconds(host.container, "another") is None
        watch.forget(host.container)
        assert await watch.exec_seconds(host.container, exec_id) is None


async def test_what_a_process_printed_in_time_is_received_when_the_controller_looks_late():
    async with one_host(sleeps) as host, outside(host, prints_after=0.1), anyio.create_task_group() as group:
        process = Process(host, ORDER, host.engine.info)
        await group.start(process.run)

        async def held():
            await anyio.sleep(0.05)
            time.sleep(0.6)  # noqa: ASYNC251 - that is what is tried

        group.start_soon(held)
        out, _, _ = await process.receive(0.3)
        end = await process.wait(0)
    assert out == b"ok\n"
    assert end is not None
    assert end.exit_code == 0

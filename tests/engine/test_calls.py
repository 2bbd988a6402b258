"""What is asked again and what never is; and what a cancel leaves."""

from __future__ import annotations

import json
import time
from pathlib import Path

import anyio
import pytest
from contract_kit import tar_of
from fake_daemon import (
    GONE,
    INFO,
    VERSION,
    UnixListener,
    answer,
    background,
    daemon,
    proxy,
    read_request,
)

import scorehost
from scorehost.engine.container_config import container_config
from scorehost.engine.door import ContainerSpec
from scorehost.engine.endpoint import resolve
from scorehost.engine.opening import open_engine
from scorehost.errors import Conflict, EngineRefused, EngineUnreachable

pytestmark = pytest.mark.anyio

SPEC = ContainerSpec(
    name="one",
    image="sha256:0",
    command=("sleep", "1"),
    user=1000,
    labels={"scorehost.job": "j"},
    env={},
    cleared_env=(),
    workdir="/",
    memory=64 << 20,
    cpus=0.5,
    pids=16,
    shm=1 << 20,
    runtime="runc",
)
STATE = {
    "Id": "c1",
    "State": {"Status": "created", "Running": False, "ExitCode": 0},
    "Config": {"Labels": {}},
}
MINE = {**STATE, "Config": {"Labels": {"scorehost.job": "j"}}}
BUSY = answer(500, {"message": "busy"})


class Script:
    """Answers each kind of request from its own list; the last answer stays."""

    def __init__(self, **answers):
        self.answers = {
            "info": [answer(200, INFO)],
            "version": [answer(200, VERSION)],
            **answers,
        }
        self.seen = []

    def __call__(self, _method, target):
        kind = target.partition("?")[0].rpartition("/")[2]
        self.seen.append(kind)
        rows = self.answers[kind]
        return rows.pop(0) if len(rows) > 1 else rows[0]


async def ask(tmp_path, script, work):
    path = tmp_path / "s"
    async with daemon(path, script), open_engine(f"unix://{path}") as engine:
        return await work(engine)


async def test_a_machine_without_ipv6_says_so_once_and_is_then_not_asked_for_it(tmp_path):
    words = "open /proc/sys/net/ipv6/conf/all/disable_ipv6: no such file or directory"
    bodies = []

    async def serve(stream):
        async with stream:
            method, target, body = await read_request(stream)
            if target.partition("?")[0].endswith("/containers/create"):
                bodies.append(json.loads(body)["HostConfig"]["Sysctls"])
            script = Script(create=[answer(201, {"Id": "c"})], start=[answer(500, {"message": words})])
            await stream.send(script(method, target))

    spec = ContainerSpec("n", "i", ("true",), 1, {}, {}, (), "/", 1, 1, 1, 1)
    async with (
        UnixListener(tmp_path / "s") as listener,
        background(listener.serve, serve),
        open_engine(f"unix://{tmp_path}/s") as engine,
    ):
        for _ in range(2):
            await engine.create(spec)
            with pytest.raises(EngineRefused) as caught:
                await engine.start("c")
            assert "no IPv6; the next container is made without it" in caught.value.message
    assert bodies == [{"net.ipv6.conf.all.disable_ipv6": "0"}, {}]


@pytest.mark.parametrize("trouble", [None, BUSY, answer(503, {"message": "starting"})])
async def test_an_inspect_is_asked_again_after_a_brief_trouble(tmp_path, trouble):
    script = Script(json=[trouble, answer(200, STATE)])
    state = await ask(tmp_path, script, lambda engine: engine.inspect("c1"))
    assert state.status == "created"
    assert script.seen.count("json") == 2


async def test_it_gives_up_after_three_tries_with_the_engines_words(tmp_path):
    script = Script(json=[BUSY])
    with pytest.raises(EngineRefused, match="busy"):
        await ask(tmp_path, script, lambda engine: engine.inspect("c1"))
    assert script.seen.count("json") == 3


async def test_a_refusal_that_will_stay_is_not_asked_again(tmp_path):
    script = Script(json=[answer(400, {"message": "bad"})])
    with pytest.raises(EngineRefused):
        await ask(tmp_path, script, lambda engine: engine.inspect("c1"))
    assert script.seen.count("json") == 1


@pytest.mark.parametrize("trouble", [None, BUSY])
async def test_a_start_and_an_upload_are_never_asked_twice(tmp_path, trouble):
    script = Script(start=[trouble], archive=[trouble])
    works = {
        "start": lambda engine: engine.start("c1"),
        "archive": lambda engine: engine.upload("c1", "/attempt", tar_of({})),
    }
    for number, (kind, work) in enumerate(works.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        with pytest.raises((EngineRefused, EngineUnreachable)):
            await ask(folder, script, work)
        assert script.seen.count(kind) == 1


@pytest.mark.parametrize("trouble", [None, BUSY])
async def test_a_process_that_is_prepared_is_asked_for_again(tmp_path, trouble):
    script = Script(exec=[trouble, answer(201, {"Id": "e1"})])
    made = await ask(
        tmp_path,
        script,
        lambda engine: engine.exec_create("c1", ["x"], user=1, env={}, workdir="/", stdin=False),
    )
    assert made == "e1"


async def started_process(engine):
    async with engine.exec_start("e1") as stream:
        return await stream.receive()


UPGRADED = b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n\x01\0\0\0\0\0\0\x01x"


async def test_a_process_that_the_engine_never_tried_to_start_is_started_again(tmp_path):
    untouched = answer(200, {"Running": False, "ExitCode": None})
    script = Script(start=[BUSY, UPGRADED], json=[untouched])
    assert (await ask(tmp_path, script, started_process)).data == b"x"
    assert script.seen.count("start") == 2


@pytest.mark.parametrize("known", [{"Running": True, "ExitCode": None}, {"Running": False, "ExitCode": 126}])
async def test_a_process_that_the_engine_tried_to_start_is_not_started_again(tmp_path, known):
    script = Script(start=[BUSY], json=[answer(200, known)])
    with pytest.raises(EngineRefused):
        await ask(tmp_path, script, started_process)
    assert script.seen.count("start") == 1


async def test_a_process_that_began_after_all_is_refused_with_the_first_words_and_is_no_lost_host(tmp_path):
    untouched = answer(200, {"Running": False, "ExitCode": None})
    script = Script(start=[BUSY, answer(409, {"message": "has already run"})], json=[untouched])
    with pytest.raises(EngineRefused, match="busy") as refused:
        await ask(tmp_path, script, started_process)
    assert refused.value.status == 500


async def test_a_create_that_fails_once_with_500_is_asked_again(tmp_path):
    script = Script(create=[BUSY, answer(201, {"Id": "c1"})])
    assert await ask(tmp_path, script, lambda engine: engine.create(SPEC)) == "c1"


async def test_a_create_whose_answer_was_lost_gives_the_container_that_it_made(tmp_path):
    taken = answer(409, {"message": "The container name is already in use"})
    script = Script(create=[None, taken], json=[answer(200, MINE)])
    assert await ask(tmp_path, script, lambda engine: engine.create(SPEC)) == "c1"


async def test_a_name_in_use_by_a_container_with_other_labels_stays_a_conflict(tmp_path):
    script = Script(create=[answer(409, {"message": "in use"})], json=[answer(200, STATE)])
    with pytest.raises(Conflict):
        await ask(tmp_path, script, lambda engine: engine.create(SPEC))


@pytest.mark.docker
async def test_one_container_is_made_when_the_real_engines_answer_to_a_create_is_lost(
    docker_engine, make_real_spec, tmp_path
):
    lost = []

    async def lose_the_first_create(source, sink):
        while True:
            data = await source.receive()
            if b"201 Created" in data and not lost:
                lost.append(data)
                return
            await sink.send(data)

    spec = make_real_spec()
    path = tmp_path / "s"
    async with (
        proxy(resolve(None).address, UnixListener(path), lose_the_first_create),
        open_engine(f"unix://{path}") as behind,
    ):
        made = await behind.create(spec)
    assert len(lost) == 1
    assert [row.id for row in await docker_engine.list_containers(dict(spec.labels))] == [made]
    await docker_engine.remove(made)


@pytest.mark.docker
@pytest.mark.parametrize("delay", [0.0, 0.002, 0.005, 0.01, 0.02])
async def test_a_cancelled_create_takes_back_what_it_made(docker_engine, make_real_spec, delay):
    await docker_engine.info()
    spec = make_real_spec()
    with anyio.move_on_after(delay):
        await docker_engine.create(spec)
        await anyio.sleep_forever()
    await anyio.sleep(0.1)
    for row in await docker_engine.list_containers(dict(spec.labels)):
        # Made in time, so the caller had its id before the cancel: the only way that one may stand.
        pytest.fail(f"left: {row.name}") if delay == 0.0 else await docker_engine.remove(row.id)


async def test_a_create_cancelled_while_its_answer_is_under_way_removes_the_container(tmp_path):
    removed = []

    def script(method, target):
        if target.endswith("/version"):
            return answer(200, VERSION)
        if "/create" in target:
            time.sleep(0.3)  # the daemon is slow; the cancel comes in between
            return answer(201, {"Id": "c1"})
        if target == "/_ping":  # whether the engine hangs
            return answer(200, b"OK")
        removed.append((method, target.partition("?")[0]))
        return answer(204, b"")

    path = tmp_path / "s"
    async with daemon(path, script), open_engine(f"unix://{path}") as engine:
        with anyio.move_on_after(0.1) as scope:
            await engine.create(SPEC)
        assert scope.cancelled_caught
    assert removed == [("DELETE", "/v1.41/containers/c1")]


async def test_an_engine_that_is_given_up_holds_nobody_up_any_more_not_even_behind_a_shield(tmp_path):
    path = tmp_path / "engine.sock"

    async def serve(stream):
        async with stream:
            if b"/version" in await stream.receive():
                await stream.send(answer(200, VERSION))
            else:
                await anyio.sleep_forever()

    refused = []
    async with UnixListener(path) as listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        async with open_engine(f"unix://{path}") as engine:

            async def shielded():
                with anyio.CancelScope(shield=True):
                    try:
                        await engine.remove("c1")
                    except EngineUnreachable as error:
                        refused.append(error)

            async with anyio.create_task_group() as waiting:
                waiting.start_soon(shielded)
                await anyio.sleep(0.3)
                begun = time.monotonic()
                engine.give_up()
            with pytest.raises(EngineUnreachable, match="given up"):
                await engine.list_containers({})
        assert time.monotonic() - begun < 1
        group.cancel_scope.cancel()
    assert len(refused) == 1


async def test_a_cancelled_call_returns_at_once_though_the_engine_hangs(tmp_path):
    path = tmp_path / "s"
    listening = UnixListener(path)
    release = anyio.Event()

    async def serve(stream):
        async with stream:
            data = await stream.receive()
            if b"/version" in data:
                await stream.send(answer(200, VERSION))
                return
            with anyio.CancelScope(shield=True):
                await release.wait()
                try:
                    await stream.send(answer(200, STATE))
                except GONE:
                    return

    async with listening, anyio.create_task_group() as group:
        group.start_soon(listening.serve, serve)
        async with open_engine(f"unix://{path}") as engine:
            begun = time.monotonic()
            with anyio.move_on_after(0.2) as scope:
                await engine.inspect("c1")
            assert scope.cancelled_caught
            assert time.monotonic() - begun < 0.5
            release.set()
            await anyio.sleep(0.1)
        group.cancel_scope.cancel()


def test_one_function_is_the_only_caller_of_anyio_threads():
    source = Path(scorehost.__file__).parent
    callers = [
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if "to_thread.run" in path.read_text() or "run_in_executor" in path.read_text()
    ]
    assert callers == ["aio/threads.py"]
    assert (source / "aio/threads.py").read_text().count("run_sync(") == 1


def test_a_variable_that_cannot_be_set_is_refused_without_its_value():
    spec = ContainerSpec(**{**{f: getattr(SPEC, f) for f in SPEC.__slots__}, "env": {"A=B": "hunter2"}})
    with pytest.raises(EngineRefused) as refused:
        container_config(spec, default_runtime="runc")
    assert "hunter2" not in str(refused.value)

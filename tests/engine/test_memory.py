"""What the in-memory engine offers beyond the door: scripts, files, planned failures."""

from __future__ import annotations

import anyio
import pytest
from contract_kit import IMAGE, MIB, USER, read_all, tar_of

from scorehost.engine.door import ContainerSpec, Tmpfs
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.errors import EngineRefused, EngineUnreachable, NotFound

pytestmark = pytest.mark.anyio


@pytest.fixture
def engine(memory):
    return memory


async def test_a_planned_failure_meets_exactly_the_call_that_it_names(engine, make_spec):
    engine.fail("create", EngineUnreachable("gone"), call=2)
    await engine.create(make_spec())
    with pytest.raises(EngineUnreachable, match="gone"):
        await engine.create(make_spec())
    await engine.create(make_spec())
    assert engine.calls["create"] == 3


async def test_a_failure_planned_after_the_work_loses_only_the_answer(engine, make_spec):
    spec = make_spec()
    engine.fail("create", EngineUnreachable("answer lost"), after=True)
    with pytest.raises(EngineUnreachable):
        await engine.create(spec)
    (left,) = await engine.list_containers(dict(spec.labels))
    assert await engine.create(spec) == left.id


async def test_a_program_speaks_frames_with_whoever_is_attached(engine, make_spec):
    async def echo_frames(context):
        while True:
            try:
                size = int.from_bytes(await context.read_exactly(4), "big")
            except EOFError:
                return 0
            await context.write(size.to_bytes(4, "big") + (await context.read_exactly(size)).upper())

    engine.program(lambda launch: launch.main and launch.argv[0] == "runner", echo_frames)
    container = await engine.create(make_spec("runner", stdin=True))
    async with engine.attach(container) as stream:
        await engine.start(container)
        await stream.send(b"\0\0\0\5he")
        await stream.send(b"llo\0\0\0\1x")
        await stream.close_stdin()
        assert (await read_all(stream))["stdout"] == b"\0\0\0\5HELLO\0\0\0\1X"
    assert (await engine.wait(container)).exit_code == 0


async def test_a_program_is_chosen_by_image_or_predicate_and_the_newest_wins(engine, make_spec):
    async def three(_context):
        return 3

    async def four(context):
        context.exit(4)

    engine.program(IMAGE, three)
    first = await engine.create(make_spec("anything"))
    await engine.start(first)
    assert (await engine.wait(first)).exit_code == 3
    engine.program(lambda launch: launch.argv == ("special",), four)
    second = await engine.create(make_spec("special"))
    await engine.start(second)
    assert (await engine.wait(second)).exit_code == 4
    assert [launch.argv for launch in engine.launches] == [("anything",), ("special",)]


async def test_running_out_of_memory_is_an_event_before_the_end_and_a_state_after_it(engine, make_spec):
    async def greedy(context):
        context.run_out_of_memory()

    engine.program(lambda launch: launch.argv == ("greedy",), greedy)
    spec = make_spec("greedy")
    seen = []
    async with engine.events(dict(spec.labels)) as events:
        container = await engine.create(spec)
        await engine.start(container)
        state = await engine.wait(container)
        async for event in events:
            seen.append(event.action)
            if event.action == "die":
                break
    assert seen == ["create", "start", "oom", "die"]
    assert (state.oom_killed, state.exit_code) == (True, 137)


async def test_files_are_read_where_the_archive_put_them_and_written_only_in_memory_places(engine, make_spec):
    seen = {}

    async def look(context):
        seen["below"] = context.files.below("/attempt")
        seen["mode"] = oct(context.files.node("/attempt/a/b").mode)
        context.files.write("/tmp/out", b"kept", uid=USER)
        for path in ("/attempt/x", "/elsewhere", "/tmp"):
            with pytest.raises(PermissionError):
                context.files.write(path, b"", uid=USER)
        with pytest.raises(FileNotFoundError):
            context.files.read("/attempt/none")
        await context.write(context.files.read("/tmp/out"))

    engine.program(lambda launch: launch.argv == ("look",), look)
    container = await engine.create(make_spec("look", tmpfs=(Tmpfs("/tmp", MIB, 64),)))
    await engine.upload(container, "/attempt", tar_of({"a/b": b"1", "c": b"2"}))
    async with engine.attach(container) as stream:
        await engine.start(container)
        assert (await read_all(stream))["stdout"] == b"kept"
    assert seen == {"below": ["/attempt/a/b", "/attempt/c"], "mode": "0o644"}


async def test_an_archive_may_not_leave_its_folder(engine, make_spec):
    container = await engine.create(make_spec())
    with pytest.raises(EngineRefused):
        await engine.upload(container, "/attempt", tar_of({"../../tmp/x": b""}))


async def test_a_writer_waits_while_nobody_reads(engine, make_spec):
    written = []

    async def flood(context):
        for number in range(1000):
            await context.write(bytes(1000))
            written.append(number)

    engine.program(lambda launch: launch.argv == ("flood",), flood)
    container = await engine.create(make_spec("flood"))
    async with engine.attach(container) as stream:
        await engine.start(container)
        await anyio.sleep(0.05)
        assert 0 < len(written) < 1000
        assert len((await read_all(stream))["stdout"]) == 1_000_000
    assert (await engine.wait(container)).exit_code == 0


async def test_an_image_is_pulled_only_when_it_was_said_to_be_pullable(engine):
    engine.images.add("far/image:1", pullable=True)
    with pytest.raises(NotFound):
        await engine.image("far/image:1")
    await engine.pull("far/image:1")
    assert (await engine.image("far/image:1")).reference == "far/image:1"
    with pytest.raises(EngineRefused):
        await engine.pull("far/image:2")


async def test_a_build_reads_the_recipe_and_fails_where_it_is_told_to(engine, tmp_path):
    recipe = f"# a comment\nFROM {IMAGE}\nENV A=1\nLABEL l=v\nVOLUME /data\nRUN make\n"
    context = tmp_path / "context.tar"
    context.write_bytes(tar_of({"Dockerfile": recipe.encode()}))
    log = tmp_path / "log"

    async def build(dockerfile):
        await engine.build(context, dockerfile=dockerfile, tag="t:1", labels={"k": "w"}, log=log, timeout=1)

    await build("Dockerfile")
    image = await engine.image("t:1")
    assert (dict(image.env), image.volumes, dict(image.labels)) == (
        {"A": "1"},
        ("/data",),
        {"l": "v", "k": "w"},
    )
    engine.images.failing_run = lambda line: 2 if line == "make" else 0
    with pytest.raises(EngineRefused, match="non-zero code: 2"):
        await build("Dockerfile")
    assert "non-zero code: 2" in log.read_text()
    with pytest.raises(EngineRefused, match="no Other"):
        await build("Other")


async def test_a_defect_of_a_program_comes_out_of_the_engine():
    async def broken(_context):
        raise LookupError("defect of the script")

    with pytest.raises(ExceptionGroup) as group:
        async with MemoryEngine() as engine:
            image = engine.images.add(IMAGE)
            engine.program(IMAGE, broken)
            await engine.start(await engine.create(small(image.id)))
            await anyio.sleep(1)
    assert group.group_contains(LookupError)


@pytest.mark.parametrize("sent", [b"", b"\0\0", b"\0\0\0\x09{"])
async def test_a_runner_whose_standard_input_ends_before_the_evaluation_exits_with_status_3(
    engine, make_spec, sent
):
    engine.program(lambda launch: launch.main, MemoryRunner.greeted)
    container = await engine.create(make_spec(("main",), stdin=True))
    async with engine.attach(container) as stream:
        await engine.start(container)
        if sent:
            await stream.send(sent)
        await stream.close_stdin()
    assert (await engine.wait(container)).exit_code == 3


async def test_an_error_of_the_caller_leaves_the_engine_as_it_is():
    with pytest.raises(LookupError):
        async with MemoryEngine():
            raise LookupError


def small(image):
    return ContainerSpec("n", image, ("x",), USER, {}, {}, (), "/", MIB, 1.0, 8, MIB)

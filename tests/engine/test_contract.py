"""The promises of the door, kept by the real engine and by its in-memory twin."""

from __future__ import annotations

import anyio
import pytest
from contract_kit import BOTH_STREAMS, FLOOD, IMAGE, PRINT_ENV, SHOW_FILE, USER, exit_code, read_all, tar_of

from scorehost.engine.door import Place
from scorehost.errors import Conflict, EngineRefused, EngineUnreachable, NotFound

pytestmark = pytest.mark.anyio


async def run_exec(engine, container, *argv, stdin=None, env=None, user=USER):
    made = await engine.exec_create(
        container, argv, user=user, env=env or {}, workdir="/attempt", stdin=stdin is not None
    )
    async with engine.exec_start(made) as stream:
        if stdin is not None:
            await stream.send(stdin)
            await stream.close_stdin()
        output = await read_all(stream)
    return await exit_code(engine, made), output


async def started(engine, spec):
    container = await engine.create(spec)
    await engine.start(container)
    return container


async def test_info_names_the_runtime_that_is_taken_when_none_is_asked_for(engine):
    info = await engine.info()
    assert info.default_runtime in info.runtimes
    assert info.memory_bytes > 0
    assert info.cpus >= 1


async def test_an_image_resolves_to_one_id_by_its_tag_and_by_that_id(engine):
    by_tag = await engine.image(IMAGE)
    assert by_tag.id.startswith("sha256:")
    assert (await engine.image(by_tag.id)).id == by_tag.id


async def test_an_image_that_is_not_present_is_not_found(engine):
    with pytest.raises(NotFound):
        await engine.image("scorehost/no-such-image:0")


async def test_a_container_goes_from_created_to_running_to_exited_with_its_code(engine, make_spec):
    container = await engine.create(make_spec("sh", "-c", BOTH_STREAMS))
    before = await engine.inspect(container)
    assert (before.status, before.running, before.exit_code) == ("created", False, None)
    await engine.start(container)
    with anyio.fail_after(20):
        after = await engine.wait(container)
    assert (after.status, after.running, after.exit_code) == ("exited", False, 3)
    assert after.oom_killed is False


async def test_creating_the_same_name_again_gives_the_same_container(engine, make_spec):
    spec = make_spec()
    assert await engine.create(spec) == await engine.create(spec)
    assert len(await engine.list_containers(dict(spec.labels))) == 1


async def test_a_name_that_somebody_else_has_is_a_conflict(engine, make_spec):
    spec = make_spec()
    await engine.create(spec)
    with pytest.raises(Conflict):
        await engine.create(make_spec(name=spec.name, labels={**spec.labels, "other": "yes"}))


async def test_attached_before_the_start_nothing_of_the_output_is_missed(engine, make_spec):
    container = await engine.create(make_spec("sh", "-c", BOTH_STREAMS))
    async with engine.attach(container) as stream:
        await engine.start(container)
        with anyio.fail_after(20):
            assert await read_all(stream) == {"stdout": b"out\n", "stderr": b"err\n"}


async def test_stdin_reaches_the_main_process_and_its_end_too(engine, make_spec):
    container = await engine.create(make_spec("cat", stdin=True))
    data = bytes(range(256)) * 2000
    async with engine.attach(container) as stream:
        await engine.start(container)
        output = {}

        async def collect():
            output.update(await read_all(stream))

        with anyio.fail_after(30):
            async with anyio.create_task_group() as group:
                group.start_soon(collect)
                await stream.send(data)
                await stream.close_stdin()
                await stream.close_stdin()
    assert output["stdout"] == data
    assert (await engine.wait(container)).exit_code == 0


async def test_a_main_program_that_does_not_exist_exits_127_and_is_named_on_stderr(engine, make_spec):
    container = await engine.create(make_spec("no-such-program"))
    async with engine.attach(container) as stream:
        await engine.start(container)
        output = await read_all(stream)
    assert (await engine.wait(container)).exit_code == 127
    assert b"no-such-program" in output["stderr"]


async def test_an_exec_gives_both_streams_and_its_exit_code(engine, make_spec):
    container = await started(engine, make_spec())
    code, output = await run_exec(engine, container, "sh", "-c", BOTH_STREAMS)
    assert code == 3
    assert output == {"stdout": b"out\n", "stderr": b"err\n"}


async def test_an_exec_reads_stdin_to_its_end(engine, make_spec):
    container = await started(engine, make_spec())
    assert await run_exec(engine, container, "cat", stdin=b"\x00\xffdata") == (
        0,
        {"stdout": b"\x00\xffdata", "stderr": b""},
    )


async def test_long_output_arrives_whole_in_pieces_of_at_most_64_kib(engine, make_spec):
    container = await started(engine, make_spec())
    code, output = await run_exec(engine, container, "sh", "-c", FLOOD)
    assert code == 0
    assert output["stdout"] == bytes(3_000_000) + b"end\n"


async def test_a_program_that_an_exec_cannot_find_exits_126(engine, make_spec):
    container = await started(engine, make_spec())
    code, _ = await run_exec(engine, container, "no-such-program")
    assert code == 126


@pytest.mark.parametrize(("argv", "ran"), [(("no-such-program",), False), (("sh", "-c", FLOOD), True)])
async def test_an_engine_knows_after_the_end_whether_there_ever_was_a_process(engine, make_spec, argv, ran):
    container = await started(engine, make_spec())
    made = await engine.exec_create(container, argv, user=USER, env={}, workdir="/", stdin=False)
    async with engine.exec_start(made) as stream:
        await read_all(stream)
    await exit_code(engine, made)
    assert await engine.exec_ran(made) is ran


async def test_events_give_the_time_from_the_start_of_an_exec_to_its_end(engine, make_spec):
    spec = make_spec()
    container = await started(engine, spec)
    times = {}
    async with engine.events(spec.labels) as events:
        made = await engine.exec_create(container, ["cat"], user=USER, env={}, workdir="/", stdin=True)
        async with engine.exec_start(made) as stream:
            await anyio.sleep(0.3)
            await stream.close_stdin()
            await read_all(stream)
        with anyio.fail_after(10):
            async for event in events:
                if event.attributes.get("execID") == made:
                    times[event.action.partition(":")[0]] = event.at
                if event.action == "exec_die":
                    break
    assert 0.25 <= times["exec_die"] - times["exec_start"] < 5


async def test_an_exec_has_no_exit_code_while_it_runs_and_137_after_a_kill(engine, make_spec):
    container = await started(engine, make_spec())
    made = await engine.exec_create(container, ["cat"], user=USER, env={}, workdir="/attempt", stdin=True)
    async with engine.exec_start(made) as stream:
        await stream.send(b"alive")
        assert (await stream.receive()).data == b"alive"
        assert await engine.exec_exit_code(made) is None
        await engine.kill(container)
        with anyio.fail_after(10):
            await read_all(stream)
    assert await exit_code(engine, made) == 137


async def test_an_exec_in_a_container_that_does_not_run_is_a_conflict(engine, make_spec):
    container = await engine.create(make_spec())
    with pytest.raises(Conflict):
        await engine.exec_create(container, ["cat"], user=USER, env={}, workdir="/", stdin=False)


async def test_the_environment_is_what_was_given_and_an_exec_adds_its_own(engine, make_spec):
    container = await started(engine, make_spec(env={"GIVEN": "a=b c"}))
    _, output = await run_exec(engine, container, "sh", "-c", PRINT_ENV, env={"MORE": "2"})
    lines = output["stdout"].decode().splitlines()
    assert "GIVEN=a=b c" in lines
    assert "MORE=2" in lines


@pytest.mark.parametrize("shape", ["bytes", "file", "pieces"])
async def test_an_archive_unpacks_into_the_volume_whatever_carries_it(engine, make_spec, tmp_path, shape):
    content = b"gold\x00" * 100_000
    data = tar_of({"given/file": content})
    if shape == "file":
        (tmp_path / "a.tar").write_bytes(data)
    pieces = [data[start : start + 50_001] for start in range(0, len(data), 50_001)]
    archive = {"bytes": data, "file": tmp_path / "a.tar", "pieces": [b"", *pieces]}[shape]
    container = await engine.create(make_spec())
    await engine.upload(container, "/attempt", archive)
    await engine.start(container)
    _, output = await run_exec(engine, container, "sh", "-c", SHOW_FILE)
    assert output["stdout"] == content


async def test_what_lies_at_a_path_is_told_at_once_also_when_it_is_nothing(engine, make_spec):
    container = await engine.create(make_spec())
    await engine.upload(container, "/attempt", tar_of({"given/file": b"x"}))
    with anyio.fail_after(5):  # an answer without a body is not waited for
        assert await engine.place(container, "/attempt/given") == Place("folder", 0o755)
        assert await engine.place(container, "/attempt/given/file") == Place("file", 0o644)
        assert await engine.place(container, "/not-there") is None


async def test_an_image_without_a_recipe_is_not_listed_and_one_that_is_gone_is_removed_quietly(engine):
    listed = await engine.list_images({"scorehost.recipe": None})
    assert IMAGE not in {row.name for row in listed}
    assert {row.kind for row in listed} <= {"image"}
    await engine.remove_image("scorehost/no-such-image:0")


async def test_an_error_while_pieces_are_made_comes_out_as_it_is(engine, make_spec):
    def pieces():
        yield tar_of({"given/file": b"x"})[:600]
        raise LookupError("changed")

    container = await engine.create(make_spec())
    with pytest.raises(LookupError):
        await engine.upload(container, "/attempt", pieces())


async def test_an_archive_outside_every_volume_is_refused(engine, make_spec):
    container = await started(engine, make_spec())
    with pytest.raises(EngineRefused):
        await engine.upload(container, "/tmp", tar_of({"x": b""}))


@pytest.mark.parametrize("method", ["inspect", "start", "wait"])
async def test_an_unknown_container_is_not_found(engine, method):
    with pytest.raises(NotFound):
        await getattr(engine, method)("scorehost-test-no-such-container")


async def test_attach_upload_and_exec_on_an_unknown_container_are_not_found(engine):
    unknown = "scorehost-test-no-such-container"
    with pytest.raises(NotFound):
        async with engine.attach(unknown):
            pass
    with pytest.raises(NotFound):
        await engine.upload(unknown, "/attempt", tar_of({}))
    with pytest.raises(NotFound):
        await engine.exec_create(unknown, ["cat"], user=USER, env={}, workdir="/", stdin=False)


async def test_kill_and_remove_are_quiet_about_what_has_gone(engine, make_spec):
    container = await started(engine, make_spec())
    await engine.kill(container)
    assert (await engine.wait(container)).exit_code == 137
    await engine.kill(container)
    await engine.remove(container)
    await engine.remove(container)
    await engine.kill(container)
    with pytest.raises(NotFound):
        await engine.inspect(container)


async def test_a_container_that_was_killed_starts_anew_with_its_volume(engine, make_spec):
    container = await engine.create(make_spec("sh", "-c", SHOW_FILE, volumes=("/attempt",)))
    await engine.upload(container, "/attempt", tar_of({"given/file": b"kept"}))
    for _ in range(2):
        async with engine.attach(container) as stream:
            await engine.start(container)
            with anyio.fail_after(20):
                assert (await read_all(stream))["stdout"] == b"kept"
                state = await engine.wait(container)
        assert (state.status, state.exit_code) == ("exited", 0)


async def test_a_removed_container_takes_its_volumes_along(engine, make_spec):
    spec = make_spec(volumes=("/attempt", "/more"))
    container = await started(engine, spec)
    volumes = await engine.list_volumes({"scorehost.job": spec.labels["scorehost.job"]})
    assert [(row.kind, dict(row.labels)) for row in volumes] == [("volume", dict(spec.labels))] * 2
    await engine.remove(container)
    assert await engine.list_volumes(dict(spec.labels)) == []
    assert await engine.list_containers(dict(spec.labels)) == []


async def test_a_volume_in_use_is_a_conflict_and_one_that_has_gone_is_quiet(engine, make_spec):
    spec = make_spec()
    container = await engine.create(spec)
    (volume,) = await engine.list_volumes(dict(spec.labels))
    with pytest.raises(Conflict):
        await engine.remove_volume(volume.id)
    await engine.remove(container)
    await engine.remove_volume(volume.id)


async def test_lists_take_a_label_with_a_value_or_by_its_key_alone(engine, make_spec, job_id):
    first = make_spec(labels={"scorehost.job": job_id, "scorehost.slot": "one"})
    second = make_spec(labels={"scorehost.job": job_id})
    ids = {await engine.create(first), await engine.create(second)}
    found = await engine.list_containers({"scorehost.job": job_id})
    assert {row.id for row in found} == ids
    (only,) = await engine.list_containers({"scorehost.job": job_id, "scorehost.slot": None})
    assert (only.name, only.kind, only.running) == (first.name, "container", False)
    assert only.created > 1_500_000_000
    assert await engine.list_containers({"scorehost.job": job_id, "scorehost.slot": "two"}) == []


async def test_events_of_the_labels_arrive_in_order_and_no_others(engine, make_spec, job_id):
    ours = make_spec("sh", "-c", BOTH_STREAMS, labels={"scorehost.job": job_id, "scorehost.slot": "one"})
    other = make_spec()
    seen = []
    async with engine.events({"scorehost.slot": "one", "scorehost.job": job_id}) as events:
        await engine.create(other)
        container = await started(engine, ours)
        await engine.wait(container)
        await engine.remove(container)
        with anyio.fail_after(10):
            async for event in events:
                assert event.container == container
                assert event.attributes["scorehost.slot"] == "one"
                seen.append(event.action)
                if event.action == "die":
                    assert event.attributes["exitCode"] == "3"
                if event.action == "destroy":
                    break
    kept = [action for action in seen if action in {"create", "start", "die", "destroy"}]
    assert kept == ["create", "start", "die", "destroy"]


async def test_leaving_events_while_nothing_happens_takes_no_time(engine, job_id):
    with anyio.fail_after(2):
        async with engine.events({"scorehost.job": job_id}) as events:
            with anyio.move_on_after(0.1) as scope:
                await anext(aiter(events))
    assert scope.cancelled_caught


async def test_a_cancelled_wait_returns_at_once_and_leaves_the_container(engine, make_spec):
    container = await started(engine, make_spec())
    with anyio.fail_after(1), anyio.move_on_after(0.2) as scope:
        await engine.wait(container)
    assert scope.cancelled_caught
    assert (await engine.inspect(container)).running


async def test_a_wait_ends_when_the_container_is_removed(engine, make_spec):
    container = await started(engine, make_spec())
    outcome = []

    async def waiting():
        try:
            outcome.append((await engine.wait(container)).exit_code)
        except NotFound:
            outcome.append("not found")

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(waiting)
            await anyio.sleep(0.1)
            await engine.remove(container)
    assert outcome in ([137], ["not found"])


async def test_a_send_that_nobody_reads_fails_when_the_process_ends(engine, make_spec):
    container = await engine.create(make_spec("sleep", "1000", stdin=True))
    async with engine.attach(container) as stream:
        await engine.start(container)
        failed = []

        async def send_for_ever():
            with pytest.raises(EngineUnreachable):
                while True:
                    await stream.send(b"x" * 100_000)
            failed.append(True)

        with anyio.fail_after(10):
            async with anyio.create_task_group() as group:
                group.start_soon(send_for_ever)
                await anyio.sleep(0.3)
                assert not failed
                await engine.kill(container)
                assert await stream.receive() is None
        with pytest.raises(EngineUnreachable):
            await stream.send(b"x")
        await stream.close_stdin()

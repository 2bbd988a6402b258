"""The Python API over the in-memory engine: what it refuses, what it finds, how a job ends without Docker."""

from __future__ import annotations

import gzip
import tarfile
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import anyio
import pytest
import yaml

from given import given
from scorehost import api
from scorehost.api import running
from scorehost.api.running import submission_word
from scorehost.attempt.fitting import room_for
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.memory_state import INFO
from scorehost.errors import EngineHangs, EngineUnreachable, Interrupted, UsageError
from scorehost.hosts.labels import JOB
from scorehost.spec.loading import load_dataset

GIB = 1024**3
BASE = "scorehost/python:3"


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "data"
    api.init(folder)
    return folder


def opener(info=INFO, images=(), seen=None):
    """What stands in for `open_engine`: an in-memory engine with these images."""

    @asynccontextmanager
    async def opened(host):
        async with MemoryEngine(info) as engine:
            for image in images:
                engine.images.add(image)
            if seen is not None:
                seen.append((host, engine))
            yield engine

    return opened


@asynccontextmanager
async def unreachable(host):
    raise EngineUnreachable("Nothing answers.", hint="Start it.")
    yield


def quiet(event):
    """A watch that looks at nothing."""


def options(dataset, **more):
    return given(**{"dataset": dataset, "submissions": ("solution",), "out": dataset / "runs", **more})


def ran(asked, engine, stop=None):
    async def main():
        return await api.run(*asked, quiet, stop, engine=engine)

    return anyio.run(main)


LIMITLESS = replace(INFO, warnings=("WARNING: No swap limit support",))


def test_an_engine_that_cannot_enforce_a_limit_is_refused_and_no_job_is_made(dataset):
    with pytest.raises(UsageError, match="No swap limit support") as refused:
        ran(options(dataset), opener(LIMITLESS, [BASE]))
    assert "--allow-unenforced" in refused.value.hint
    assert not (dataset / "runs").exists()


def test_what_a_job_leaves_is_removed_also_when_its_engine_seems_to_hang_for_a_moment_at_the_end(dataset):
    """An engine that has just started on a busy machine answers after seconds."""
    asked = []

    @asynccontextmanager
    async def restarted(_host):
        async with MemoryEngine(INFO) as engine:
            listed = engine.list_containers

            async def late(labels):
                if labels.get(JOB) is None:
                    return await listed(labels)
                asked.append(labels)
                if len(asked) < 3:
                    raise EngineHangs("It did not answer when asked to list containers.")
                return await listed(labels)

            engine.list_containers = late
            yield engine

    outcome = ran(options(dataset), restarted)
    assert len(asked) == 3
    assert not [one.text for one in outcome.warnings if "clean --job" in one.text]


def test_allow_unenforced_lets_such_an_engine_be_used(dataset):
    outcome = ran(options(dataset, allow_unenforced=True), opener(LIMITLESS))
    assert outcome.summary["errors"][0]["kind"] == "image_missing"
    # Also after the job it is known that it ran so.
    (told,) = [one.text for one in outcome.warnings if "No swap limit support" in one.text]
    assert told.endswith("attempts run all the same (--allow-unenforced)")


def test_a_task_whose_hosts_can_never_fit_is_refused_before_a_job_is_made(dataset):
    # 80 % of 256 MiB are 204 MiB; the task asks for 256.
    small = replace(INFO, memory_bytes=GIB // 4)
    with pytest.raises(UsageError, match=r"count-words needs 256 MiB .* has 204"):
        ran(options(dataset), opener(small, [BASE]))
    assert not (dataset / "runs").exists()


def test_a_user_that_an_engine_with_mapped_users_does_not_have_is_refused_before_a_job_is_made(dataset):
    path = dataset / "tasks/count-words/task.yaml"
    task = yaml.safe_load(path.read_text())
    task.setdefault("evaluation", {})["environments"] = {"work": {"docker_image": "i", "user": 2_000_000}}
    path.write_text(yaml.safe_dump(task))
    with pytest.raises(
        UsageError, match=r"count-words names user 2000000 for work, and this engine maps users"
    ):
        ran(options(dataset), opener(replace(INFO, security=("seccomp", "userns")), [BASE]))
    assert not (dataset / "runs").exists()


def test_a_host_that_asks_for_more_cores_than_there_are_is_refused_before_a_job_is_made(dataset):
    task = dataset / "tasks/count-words/task.yaml"
    document = yaml.safe_load(task.read_text())
    document["limits"]["cpus"] = 16
    task.write_text(yaml.safe_dump(document))
    with pytest.raises(UsageError, match=r"count-words asks for 16 cpus for its host evaluator, .* has 2"):
        ran(options(dataset), opener(replace(INFO, cpus=2), [BASE]))
    assert not (dataset / "runs").exists()


def test_a_job_goes_on_with_its_dataset_where_that_lies_now(dataset, tmp_path):
    first = ran(given(dataset=dataset, submissions=("solution",), out=tmp_path / "runs"), opener())
    moved = dataset.rename(tmp_path / "elsewhere")
    again = ran(given(dataset=moved, out=tmp_path / "runs", resume="latest"), opener())
    assert (again.job_id, again.status) == (first.job_id, "complete")
    (moved / "tasks/count-words/solution/artifacts/counts.json").write_text("{}")
    with pytest.raises(UsageError, match="the submission solution"):
        ran(given(dataset=moved, out=tmp_path / "runs", resume="latest"), opener())


@pytest.mark.parametrize(
    ("cpus", "memory", "at_a_time"),
    [
        (4, 16 * GIB, 4),  # cores decide
        (64, 16 * GIB, 51),  # 80 % of 16384 MiB are 13107, which is 51 hosts of 256
        (4, GIB // 2, 1),  # 409 MiB: one
        (4, GIB // 4, 1),  # less than one is refused elsewhere
    ],
)
def test_cores_and_memory_of_the_engine_decide_how_many_run_at_a_time(dataset, cpus, memory, at_a_time):
    found = load_dataset(dataset)
    info = replace(INFO, cpus=cpus, memory_bytes=memory)
    assert room_for(found.tasks.values(), found, info) == at_a_time


def test_a_missing_image_is_an_error_of_the_environment_and_exit_2(dataset):
    outcome = ran(options(dataset), opener())
    assert outcome.exit_status == 2
    assert [(row.status, row.error.kind) for row in outcome.rows] == [("ERROR", "image_missing")]


def test_a_job_that_is_stopped_while_it_scores_is_interrupted_and_stays_to_be_resumed(dataset):
    async def main():
        stop = anyio.Event()

        def watch(event):
            if event.kind == "attempt_started":
                stop.set()

        return await api.run(*options(dataset), watch, stop, engine=opener(images=[BASE]))

    outcome = anyio.run(main)
    assert (outcome.status, outcome.exit_status, outcome.rows) == ("interrupted", 130, ())
    assert "--resume" in outcome.message
    assert (outcome.folder / "summary.json").exists()


def test_a_job_of_a_lone_task_is_planned_and_resumed_as_any_other(dataset, tmp_path):
    alone = tmp_path / "count-words"
    (dataset / "tasks" / "count-words").rename(alone)
    out = tmp_path / "runs"

    async def main():
        return await api.score(alone, "solution", quiet, out=out, engine=opener())

    first = anyio.run(main)
    again = api.Running(out=out, resume="latest", rerun="error")
    assert [str(one.key) for one in api.plan(None, again).planned] == ["count-words/solution/1.1"]
    again = ran((None, again), opener())
    assert (again.job_id, again.status) == (first.job_id, "complete")


def test_an_engine_that_hangs_does_not_hold_up_a_person_who_wants_out(dataset):
    @asynccontextmanager
    async def hanging(host):
        await anyio.sleep_forever()
        yield

    async def main():
        stop = anyio.Event()
        stop.set()
        with anyio.fail_after(5):
            await api.run(*options(dataset), quiet, stop, engine=hanging)

    with pytest.raises(Interrupted) as end:
        anyio.run(main)
    assert end.value.exit_status == 130
    assert not (dataset / "runs").exists()


def test_a_job_whose_engine_hangs_when_it_is_stopped_ends_after_its_grace(dataset, monkeypatch):
    monkeypatch.setattr(running, "GRACE_SECONDS", 0.2)

    class Hanging(MemoryEngine):
        async def list_containers(self, labels):  # noqa: ARG002 - the door's
            self.stop.set()
            await anyio.sleep_forever()

    @asynccontextmanager
    async def opened(host):
        async with Hanging() as engine:
            engine.stop = stop
            yield engine

    async def main():
        nonlocal stop
        stop = anyio.Event()
        with anyio.fail_after(5):
            await api.run(*options(dataset), quiet, stop, engine=opened)

    stop = None
    with pytest.raises(Interrupted, match="scorehost clean --job"):
        anyio.run(main)


def test_a_signal_while_a_job_is_planned_ends_it_before_it_begins(dataset):
    archive = dataset.parent / "large.tar.gz"
    with gzip.open(archive, "wb", compresslevel=1) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        member = tarfile.TarInfo("count-words/artifacts/zeros")
        member.size = 256 * 1024**2  # takes a good while to unpack and to hash
        with Path("/dev/zero").open("rb") as zeros:
            tar.addfile(member, zeros)
    told = []

    async def main():
        stop = anyio.Event()
        asked = options(dataset, submissions=(str(archive),))
        async with anyio.create_task_group() as group:

            async def signalled():
                for _ in range(5):
                    await anyio.sleep(0.01)
                stop.set()

            group.start_soon(signalled)
            await api.run(*asked, told.append, stop, engine=opener(images=[BASE]))

    with pytest.raises(BaseExceptionGroup) as end:
        anyio.run(main)
    assert [type(error) for error in end.value.exceptions] == [Interrupted]
    assert [event.kind for event in told] == []
    assert not (dataset / "runs").exists()


def test_what_was_typed_wrongly_makes_no_job_and_starts_nothing(dataset):
    seen = []
    with pytest.raises(UsageError, match="nosuch"):
        ran(options(dataset, tasks=("nosuch",)), opener(images=[BASE], seen=seen))
    assert not (dataset / "runs").exists()
    assert seen == []  # not even an engine was asked for


def test_the_engine_is_the_one_that_the_profiles_name(dataset):
    profiles = dataset / "profiles.yaml"
    profiles.write_text(profiles.read_text() + "engine: {host: 'unix:///elsewhere.sock'}\n")
    seen = []
    ran(options(dataset), opener(seen=seen))
    assert seen[0][0] == "unix:///elsewhere.sock"
    assert api.engine_host(dataset) == "unix:///elsewhere.sock"


def test_a_folder_without_a_sound_dataset_names_no_engine(dataset, tmp_path):
    assert api.engine_host(tmp_path) is None
    (dataset / "profiles.yaml").write_text("nosuch: 1\n")
    assert api.engine_host(dataset) is None


def test_the_doctor_counts_an_engine_that_does_not_answer_as_a_finding():
    findings = anyio.run(lambda: api.doctor(engine=unreachable))
    assert [(one.text, one.hint) for one in findings if one.level == "problem"] == [
        ("Nothing answers.", "Start it.")
    ]


def test_the_doctor_says_which_limit_and_which_image_is_missing():
    findings = anyio.run(lambda: api.doctor(engine=opener(LIMITLESS)))
    problems = [one for one in findings if one.level == "problem"]
    assert len(problems) == 2
    assert "No swap limit support" in problems[0].text
    assert (BASE in problems[1].text, problems[1].hint) == (True, "Run `make images` once.")


def test_the_doctor_has_no_problem_with_a_sound_engine():
    findings = anyio.run(lambda: api.doctor(engine=opener(images=[BASE])))
    assert not [one for one in findings if one.level == "problem"]


def test_probe_names_each_image_once_and_says_what_a_pull_would_bring(dataset):
    task = dataset / "tasks" / "count-words" / "task.yaml"
    more = "  environments: {one: {docker_image: a/b:1}, two: {docker_image: a/b:1}}\n"
    task.write_text(task.read_text() + more)
    findings = anyio.run(lambda: api.probe(dataset, engine=opener(images=[BASE])))
    assert [one.level for one in findings] == ["ok", "ok", "warning"]
    assert findings[2].text == (
        "image a/b:1 (for count-words/one and 1 more) is not on the engine: a job will pull it"
    )


def test_probe_refuses_a_runtime_that_the_engine_does_not_know(dataset):
    profiles = dataset / "profiles.yaml"
    profiles.write_text(profiles.read_text() + "  runtime: runsc\n")
    findings = anyio.run(lambda: api.probe(dataset, engine=opener(images=[BASE])))
    assert [one.text for one in findings if one.level == "problem"] == [
        "the engine does not know the runtime runsc"
    ]


def test_a_plan_tells_what_each_attempt_would_be_handed(dataset):
    made = api.plan(*options(dataset, repeat=2))
    assert [(str(one.key), one.artifacts, one.missing) for one in made.planned] == [
        ("count-words/solution/1.1", ("counts",), ()),
        ("count-words/solution/1.2", ("counts",), ()),
    ]
    assert not (dataset / "runs").exists()


def test_a_plan_tells_which_hand_in_would_be_refused(dataset, tmp_path):
    bad = tmp_path / "bad" / "count-words" / "artifacts"
    bad.mkdir(parents=True)
    (bad / "counts.json").symlink_to("/etc/passwd")
    made = api.plan(*options(dataset, submissions=(str(tmp_path / "bad"), "empty")))
    (refused, empty) = made.planned
    assert refused.problem.kind == "invalid_submission"
    assert "a link" in refused.problem.message
    assert (empty.artifacts, empty.missing, empty.problem) == ((), ("counts",), None)


@pytest.mark.parametrize(
    ("folder", "word"),
    [
        ("alice", "alice={}"),
        ("solution", "submission={}"),
        ("a b", "submission={}"),
        ("x" * 65, "submission={}"),
    ],
)
def test_a_folder_is_named_after_itself_where_that_is_a_name(tmp_path, folder, word):
    path = tmp_path / folder
    path.mkdir()
    assert submission_word(str(path)) == word.format(path)


def test_every_public_name_is_what_it_says_and_no_module_of_the_same_name():
    for name in api.__all__:
        assert not isinstance(getattr(api, name), ModuleType)


@pytest.mark.parametrize("word", ["solution", "empty", "wrong:one-off"])
def test_reserved_words_stay_as_they_are(word):
    assert submission_word(word) == word

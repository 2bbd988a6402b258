"""Rows of docs/reports.md that need no engine: what went wrong in comparable tools does not go wrong here."""

from __future__ import annotations

import json
import os
from contextlib import asynccontextmanager

import anyio
import pytest
from memory_runner import PASS, Runner, memory_engine, scored_on

from given import given
from scorehost import api
from scorehost.engine.docker_images import pull_hint
from scorehost.engine.memory import MemoryEngine
from scorehost.errors import AttemptFailed, EngineRefused, EngineTimeout
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.intake import take_in
from scorehost.submissions.sample import Sample
from trial import IMAGE, write_submission, write_task

EVALUATOR = 'def evaluate(inputs):\n    return {"status": "PASS"}\n'
TREE = TaskSpec(task_id="t", artifacts=(Artifact(id="a", path="workspace/code", kind="tree"),))


@pytest.fixture
def place(tmp_path):
    write_task(tmp_path / "d", EVALUATOR, limits={"evaluate_seconds": 1})
    # A host is made for each attempt, so that the second create is the second attempt's.
    (tmp_path / "d/profiles.yaml").write_text(
        "format: scorehost.profiles/1\nenvironment: docker\nevaluate_host: {warm: 0}\n"
    )
    write_submission(tmp_path / "s")
    return tmp_path


def ran(place, program, *, fail=(), **more):
    """The outcome of a job over five submissions on an in-memory engine whose hosts run `program`."""
    words = []
    for name in ("one", "two", "three", "four", "five"):
        write_submission(place / name, {"artifacts/answer.txt": name})
        words.append(f"{name}={place / name}")

    async def main():
        async with MemoryEngine() as engine:
            engine.images.add(IMAGE)
            engine.program(lambda launch: launch.main, program)
            for method, call, error in fail:
                engine.fail(method, error, call=call)

            @asynccontextmanager
            async def opened(_host):
                yield engine

            options = {"retry_errors": 0, "concurrency": 1, **more}
            asked = given(dataset=place / "d", submissions=tuple(words), out=place / "runs", **options)
            return await api.run(*asked, lambda _event: None, engine=opened)

    return anyio.run(main)


async def by_answer(context):
    """A right answer passes; `two` never ends."""

    async def work():
        if context.files.read("/attempt/artifacts/answer.txt") == b"two":
            await anyio.sleep_forever()

    return await Runner(work=work)(context)


def test_c10_a_submission_that_never_ends_costs_the_others_nothing(place):
    outcome = ran(place, by_answer)
    by_name = {row.key.submission: row for row in outcome.rows}
    assert by_name["two"].error.kind == "evaluator_timeout"
    assert [by_name[name].status for name in ("one", "three", "four", "five")] == ["PASS"] * 4
    assert outcome.exit_status == 3  # says that it is not complete success


def test_h14_a_host_that_cannot_be_made_is_in_no_mean_and_no_zero(place):
    refused = EngineRefused("no space left on the engine's disk", status=500)
    outcome = ran(place, by_answer_all_right, fail=[("create", 2, refused)])
    assert outcome.summary["counts"] == {"PASS": 4, "FAIL": 0, "ERROR": 1}
    # 4 of 4 that were scored; had the lost one counted, it would be 0.8, which is what the lower bound says.
    assert (outcome.summary["mean_score"], outcome.summary["n"]) == (1.0, 4)
    assert outcome.summary["bounds"] == {"lower": 0.8, "upper": 1.0}
    assert outcome.summary["errors"] == [
        {"kind": "start_failed", "blame": "environment", "count": 1, "as_lowest": 0}
    ]


async def by_answer_all_right(context):
    return await Runner()(context)


@pytest.mark.anyio
async def test_a6_a8_a_removal_that_fails_changes_no_verdict_and_names_the_command(place, job_id):
    # A host that has served leaves beside the job; what is refused then is tried again at the job's end.
    said = []
    async with memory_engine() as engine:
        late = EngineTimeout("The engine did not answer in time.", hint="Wait.")
        for call in (1, 2):
            engine.fail("remove", late, call=call)
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id, say=said.append)
    assert (done.result.status, done.result.score) == ("PASS", 1.0)
    (warning,) = said
    assert f"scorehost clean --job {job_id}" in warning


@pytest.mark.anyio
async def test_a_removal_that_fails_once_leaves_nothing_behind(place, job_id):
    async with memory_engine() as engine:
        engine.fail("remove", EngineTimeout("The engine did not answer in time.", hint="Wait."))
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)
        assert await engine.list_containers({"scorehost.job": job_id}) == []
    assert (done.result.status, done.result.warnings) == ("PASS", ())


@pytest.mark.anyio
async def test_h12_an_end_without_a_result_says_so_and_keeps_the_log(place, job_id):
    async def silent(context):
        await Runner(work=lambda: context.exit(0), log=(b"the log\n",))(context)

    async with memory_engine(silent) as engine:
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)
    assert done.kind == "evaluator_exit"
    assert "exit status 0" in done.result.error.message
    assert done.log == b"the log\n"


def test_g6_hard_links_are_handed_in_as_the_files_that_they_are(tmp_path):
    folder = tmp_path / "s/workspace/code"
    folder.mkdir(parents=True)
    (folder / "a").write_bytes(b"same")
    os.link(folder / "a", folder / "b")
    tree = take_in(TREE, Sample(tmp_path / "s"), Blobs(tmp_path / "blobs")).artifacts["a"]
    assert {entry.path: entry.source.read_bytes() for entry in tree.entries} == {"a": b"same", "b": b"same"}


def test_g11_a_folder_that_becomes_a_link_while_it_is_copied_leads_nowhere(tmp_path):
    secret = tmp_path / "outside"
    secret.mkdir()
    (secret / "x").write_bytes(b"outside")
    code = tmp_path / "s/workspace/code"
    (code / "late").mkdir(parents=True)
    (code / "early").write_bytes(b"1")
    (code / "late/x").write_bytes(b"inside")

    def exchange():
        # Asked before each file: by then the names of `code` have been read.
        if not (code / "late").is_symlink():
            (code / "late").rename(tmp_path / "moved")
            (code / "late").symlink_to(secret)
        return False

    with pytest.raises(AttemptFailed) as caught:
        take_in(TREE, Sample(tmp_path / "s"), Blobs(tmp_path / "blobs"), exchange)
    assert "late is a link" in caught.value.failure.message
    blobs = [path.read_bytes() for path in (tmp_path / "blobs").rglob("*") if path.is_file()]
    assert b"outside" not in blobs


def test_g17_what_only_its_owner_may_read_is_taken_and_kept_readable(tmp_path):
    folder = tmp_path / "s/workspace/code/locked"
    folder.mkdir(parents=True)
    (folder / "x").write_bytes(b"x")
    (folder / "x").chmod(0o400)
    folder.chmod(0o555)
    tree = take_in(TREE, Sample(tmp_path / "s"), Blobs(tmp_path / "blobs")).artifacts["a"]
    (entry,) = tree.entries
    assert entry.source.read_bytes() == b"x"
    assert entry.source.stat().st_mode & 0o600 == 0o600
    folder.chmod(0o755)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("toomanyrequests: You have reached your pull rate limit.", "docker login"),
        ("received unexpected HTTP status: 429 Too Many Requests", "limits how often"),
        ("pull access denied for x, repository does not exist", "needs `docker login"),
        ("Get https://registry.test/v2/: dial tcp: lookup registry.test: no such host", "does not reach"),
        ("manifest for x:9 not found", "docker pull registry.test/x:9"),
    ],
)
def test_l1_a_refused_pull_says_what_to_do_about_it(words, hint):
    assert hint in pull_hint(words, "registry.test/x:9")


def test_l1_l4_an_image_that_cannot_be_pulled_scores_nothing_and_says_so(place):
    (place / "d/profiles.yaml").write_text(
        "format: scorehost.profiles/1\nenvironment: docker\n"
        "evaluate_host: {docker_image: 'registry.test/x:9'}\n"
    )
    outcome = ran(place, by_answer_all_right)
    assert outcome.exit_status == 2
    assert outcome.summary["counts"] == {"PASS": 0, "FAIL": 0, "ERROR": 5}
    assert outcome.summary["mean_score"] is None
    assert outcome.message.startswith("Nothing was scored")


@pytest.mark.anyio
async def test_h1_h3_no_file_of_an_attempt_holds_a_number_that_json_has_not(place, job_id):
    check = {"id": "a", "status": "PASS", "details": [1, {"x": 2.5}]}
    value = {**PASS, "metrics": {"x": 1e308, "y": [0.1]}, "checks": [check]}
    async with memory_engine(Runner(value=value)) as engine:
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)

    def refuse(name):
        raise AssertionError(name)

    for path in done.folder.rglob("*.json"):
        json.loads(path.read_bytes(), parse_constant=refuse)
    assert done.result.metrics == {"x": 1e308, "y": [0.1]}
    assert done.checks[0]["details"] == [1, {"x": 2.5}]


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.anyio
async def test_h1_a_number_that_is_none_on_the_channel_is_no_result(place, job_id, text):
    async with memory_engine(Runner(value={**PASS, "score": float(text)})) as engine:
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)
    assert done.result.score is None
    assert done.kind == "channel_violation"

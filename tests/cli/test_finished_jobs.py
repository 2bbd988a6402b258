"""Commands over finished jobs: rescore, compare, report, logs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from scorehost import api
from scorehost.cli.root import root

sys.path.insert(0, str(Path(__file__).parents[1] / "jobs"))

from archived import Archiving, hand_in
from scripted_jobs import run, some_tasks

NOISE = b"plain\n\x1b[2Jcleared\r\xff \xe2\x82\xac" + b"x" * 65_530 + b"\xe2\x82\xac no newline"


def invoke(capsysbinary, *words):
    with pytest.raises(SystemExit) as ended:
        root.main([str(word) for word in words], prog_name="scorehost")
    found = capsysbinary.readouterr()
    return ended.value.code, found.out, found.err.decode()


@pytest.fixture
def jobs(tmp_path):
    """Two jobs of one submission over two tasks; in the second, b fails."""
    dataset = some_tasks(tmp_path, "a", "b")
    word = hand_in(tmp_path, "one", a="1", b="2")

    def passes(_order, _files):
        return {"logs": {"evaluator.log": NOISE, "audit.1.stdout.log": b"from audit\n"}}

    def fails(order, _files):
        check = {"id": "hidden", "status": "FAIL", "message": "gold is 17"}
        return {"status": "FAIL", "checks": [check]} if order.key.task_id == "b" else {}

    return [
        run(tmp_path, dataset, Archiving(script), submissions=(word,)).job_id for script in (passes, fails)
    ]


def test_compare_says_what_moved_and_fails_on_a_regression_when_asked(tmp_path, jobs, capsysbinary):
    runs = ("--out", tmp_path / "runs")
    status, out, _ = invoke(capsysbinary, "compare", *jobs, *runs)
    text = out.decode()
    assert status == 0
    assert "difference -0.5 (n 2 pairs, 2 tasks)" in text
    assert "1 of 2 pairs moved" in text
    assert invoke(capsysbinary, "compare", *jobs, *runs, "--fail-on-regression")[0] == 1
    assert invoke(capsysbinary, "compare", *reversed(jobs), *runs, "--fail-on-regression")[0] == 0


def test_compare_refuses_a_ranking_of_different_inputs_with_2(tmp_path, jobs, capsysbinary):
    runs = ("--out", tmp_path / "runs")
    (tmp_path / "tasks/a/evaluator.py").write_text("# other\n")
    other = run(tmp_path, some_tasks_as_they_are(tmp_path), Archiving(), submissions=(str(tmp_path / "one"),))
    status, out, _ = invoke(capsysbinary, "compare", jobs[0], other.job_id, *runs, "--fail-on-regression")
    assert (status, b"No ranking" in out, b"mean A" in out) == (2, True, False)
    status, out, _ = invoke(
        capsysbinary, "compare", jobs[0], other.job_id, *runs, "--allow-mismatch", "--json"
    )
    document = json.loads(out)
    assert (status, document["mismatch_allowed"], document["comparable"]) == (0, True, False)
    assert document["figures"]["n_pairs"] == 2
    status, out, _ = invoke(
        capsysbinary, "compare", jobs[0], other.job_id, *runs, "--allow-mismatch", "--format", "md"
    )
    assert b"MISMATCH ALLOWED" in out


def some_tasks_as_they_are(root_folder):
    """The dataset of `jobs` without its evaluators written anew."""
    text = (root_folder / "tasks/a/evaluator.py").read_text()
    dataset = some_tasks(root_folder, "a", "b")
    (root_folder / "tasks/a/evaluator.py").write_text(text)
    return dataset


@pytest.mark.parametrize(
    "words", [("--pair", "x"), ("--pair", "=x"), ("--pair", "a=b", "--pair", "a=c"), ("--format", "xml")]
)
def test_compare_refuses_words_that_it_does_not_know(tmp_path, jobs, capsysbinary, words):
    status, _, err = invoke(capsysbinary, "compare", *jobs, "--out", tmp_path / "runs", *words)
    assert (status, words[0].encode() in err.encode()) == (2, True)


@pytest.mark.parametrize(
    ("kind", "beginning"),
    [("junit", b"<?xml"), ("json", b"{"), ("md", b"# "), ("csv", b"job_id,"), ("html", b"<!doctype html>")],
)
def test_report_writes_each_format_to_stdout_or_a_file(tmp_path, jobs, capsysbinary, kind, beginning):
    words = ("report", jobs[1], "--out", tmp_path / "runs", "--format", kind)
    status, out, _ = invoke(capsysbinary, *words)
    assert (status, out.startswith(beginning), b"gold is 17" in out) == (0, True, False)
    status, nothing, _ = invoke(capsysbinary, *words, "--output", tmp_path / "report")
    assert (status, nothing, (tmp_path / "report").read_bytes()) == (0, b"", out)


def test_report_shows_private_text_only_when_asked(tmp_path, jobs, capsysbinary):
    words = ("report", jobs[1], "--out", tmp_path / "runs", "--format", "md", "--private")
    assert b"hidden: gold is 17" in invoke(capsysbinary, *words)[1]


def test_report_to_a_place_that_is_not_there_says_so(tmp_path, jobs, capsysbinary):
    words = ("report", jobs[1], "--out", tmp_path / "runs", "--format", "md", "--output", tmp_path / "no/x")
    status, _, err = invoke(capsysbinary, *words)
    assert (status, "No such file or directory" in err) == (2, True)


def test_logs_are_safe_on_a_terminal_and_whole_with_raw(tmp_path, jobs, capsysbinary):
    words = ("logs", jobs[0], "a", "--out", tmp_path / "runs", "--host", "evaluator")
    status, out, _ = invoke(capsysbinary, *words)
    assert status == 0
    assert out.decode() == ("plain\n\\x1b[2Jcleared\\x0d\\xff €" + "x" * 65_530 + "€ no newline\n")
    assert invoke(capsysbinary, *words, "--raw")[1] == NOISE


def test_logs_name_each_file_when_there_are_several(tmp_path, jobs, capsysbinary):
    _, out, _ = invoke(capsysbinary, "logs", jobs[0], "a", "--out", tmp_path / "runs")
    heads = [line for line in out.decode().splitlines() if line.startswith("==>")]
    assert heads == ["==> logs/evaluator.log <==", "==> logs/audit.1.stdout.log <=="]


def test_logs_of_an_attempt_that_printed_nothing_say_so(tmp_path, jobs, capsysbinary):
    status, out, err = invoke(capsysbinary, "logs", jobs[1], "a", "--out", tmp_path / "runs")
    assert (status, out, err) == (0, b"", "nothing was printed in this attempt\n")


@pytest.mark.parametrize(
    "words", [("report", "--format", "md"), ("logs", "a"), ("compare", "latest"), ("rescore",)]
)
def test_a_job_that_is_not_there_is_2_and_says_so(tmp_path, capsysbinary, words):
    status, out, err = invoke(capsysbinary, words[0], "nope", *words[1:], "--out", tmp_path / "runs")
    assert (status, out) == (2, b"")
    assert "There is no job 'nope'" in err or "--out" in err


def test_every_option_of_rescore_reaches_the_api(tmp_path, monkeypatch, capsysbinary):
    seen = {}

    async def stopping(job, asked, running, watch):
        seen.update(job=job, asked=asked, running=running)
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "rescore", stopping, raising=False)
    (tmp_path / "gold").mkdir()
    (tmp_path / "p.yaml").write_text("")
    words = ["--changed", "--dataset", tmp_path, "--task", "a*", "--gold", tmp_path / "gold"]
    words += ["--profiles", tmp_path / "p.yaml", "--concurrency", 3, "--out", tmp_path / "o", "--name", "n"]
    words += ["--retry-errors", 0, "--fail-fast", "--exit-on", "error", "--fail-under", 0.5]
    words += ["--allow-unenforced", "--private"]
    assert invoke(capsysbinary, "rescore", "J", *words)[0] == 130
    assert seen["job"] == "J"
    assert seen["asked"] == api.ScoreAsked(
        dataset=tmp_path,
        tasks=("a*",),
        gold=tmp_path / "gold",
        profiles=tmp_path / "p.yaml",
        name="n",
        changed=True,
    )
    assert seen["running"] == api.Running(
        concurrency=3,
        out=tmp_path / "o",
        retry_errors=0,
        fail_fast=True,
        exit_on="error",
        fail_under=0.5,
        allow_unenforced=True,
        private=True,
    )

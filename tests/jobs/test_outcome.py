"""Exit statuses, reasons, and what is written at the end."""

from __future__ import annotations

import hashlib
import json

import pytest
from scripted_jobs import Script, make_result, run, some_tasks

from scorehost.attempt.work import Work
from scorehost.errors import UsageError
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.runs.folder import new_folder
from scorehost.runs.journal import FILE
from scorehost.runs.reader import read_checks
from scorehost.runs.reason import reason
from scorehost.runs.scored import scored
from scorehost.submissions.sample import Sample

FAIL = {"status": "FAIL", "score": 0.4}
FAULT = {"kind": "submission_fault"}


@pytest.mark.parametrize(
    ("verdicts", "options", "expected"),
    [
        ([{}, {}], {}, 0),
        ([{}, FAIL], {}, 1),
        ([FAIL, FAULT], {}, 3),
        ([{}, {"kind": "image_missing"}], {}, 3),
        ([{"kind": "image_missing"}, {"kind": "image_pull_failed"}], {}, 2),
        ([{"kind": "image_missing"}, {"kind": "image_pull_failed"}], {"exit_on": "never"}, 2),
        ([{"kind": "image_missing"}, FAULT], {}, 3),
        ([FAIL, FAIL], {"exit_on": "error"}, 0),
        ([FAIL, FAULT], {"exit_on": "error"}, 3),
        ([FAIL, FAULT], {"exit_on": "never"}, 0),
        ([{}, FAIL], {"exit_on": "error", "fail_under": 0.71}, 1),
        ([{}, FAIL], {"exit_on": "error", "fail_under": 0.7}, 0),
        ([{"score": 0.5}, {"score": 0.5}], {"fail_under": 0.6}, 1),
    ],
)
def test_the_first_rule_that_applies_gives_the_exit_status(tmp_path, verdicts, options, expected):
    dataset = some_tasks(tmp_path, "a", "b")
    given = dict(zip("ab", verdicts, strict=True))
    script = Script(lambda order: given[order.key.task_id])
    outcome = run(tmp_path, dataset, script, submissions=("solution",), **options)
    assert (outcome.exit_status, outcome.status) == (expected, "complete")


@pytest.mark.parametrize("place", ["a-file", "a-file/below", "/proc/runs"])
def test_a_folder_for_jobs_that_cannot_be_made_is_bad_input(tmp_path, place):
    (tmp_path / "a-file").write_text("")
    with pytest.raises(UsageError, match="No job can be put into"), new_folder(tmp_path / place):
        pass


def test_nothing_scored_for_want_of_an_image_says_so(tmp_path):
    script = Script(lambda _order: {"kind": "image_missing"})
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), script, submissions=("solution",))
    assert "Nothing was scored" in outcome.message


def the_reason(tmp_path, checks, *, private=False, **given):
    task = some_tasks(tmp_path, "a").tasks["a"]
    order = Order(AttemptKey(task_id="a", submission="s"), Work(task, Sample()))
    (tmp_path / "evaluation").mkdir()
    (tmp_path / "evaluation/checks.json").write_text(json.dumps({"checks": checks}))
    return reason(scored(make_result(order, **given), ()), lambda: read_checks(tmp_path), private=private)


PRIVATE = {"id": "c2", "status": "FAIL", "message": "gold was 17", "visibility": "private"}
PUBLIC = {"id": "c2", "status": "FAIL", "message": "off by\none", "visibility": "public"}
PASSED = {"id": "c1", "status": "PASS"}


def test_a_pass_needs_no_reason(tmp_path):
    assert the_reason(tmp_path, [PRIVATE]) == ""


def test_a_fail_names_its_first_fail_check_and_no_private_text(tmp_path):
    assert the_reason(tmp_path, [PASSED, PRIVATE, PUBLIC], status="FAIL") == "c2"


def test_private_text_is_shown_when_asked(tmp_path):
    assert the_reason(tmp_path, [PRIVATE], private=True, status="FAIL") == "c2: gold was 17"


def test_public_text_is_shown_on_one_line(tmp_path):
    assert the_reason(tmp_path, [PUBLIC], status="FAIL") == "c2: off by one"


def test_control_characters_of_a_check_reach_no_terminal(tmp_path):
    shown = the_reason(tmp_path, [{**PUBLIC, "message": "\x1b[2J" + "x" * 500}], status="FAIL")
    assert "\x1b" not in shown
    assert len(shown) == 200


def test_a_fail_without_a_check_says_that(tmp_path):
    assert the_reason(tmp_path, [PASSED], status="FAIL") == "no check says why"


def test_an_error_gives_kind_and_message(tmp_path):
    assert the_reason(tmp_path, [], kind="evaluator_oom") == "evaluator_oom: evaluator_oom happened"


def test_the_root_hash_binds_job_results_and_summary(tmp_path):
    outcome = run(tmp_path, some_tasks(tmp_path, "a"), submissions=("solution",))
    lines = (outcome.folder / FILE).read_bytes().splitlines()
    assert hashlib.sha256(lines[-1]).hexdigest() == outcome.root_hash
    events = {event["kind"]: event for event in map(json.loads, lines)}

    def digest(path):
        return hashlib.sha256((outcome.folder / path).read_bytes()).hexdigest()

    assert events["job_started"]["job"] == digest("job.json")
    assert events["attempt_finished"]["result"] == digest("attempts/a/solution/1.1/result.json")
    assert events["attempt_finished"]["manifest"] == digest("attempts/a/solution/1.1/manifest.json")
    assert events["job_finished"]["summary"] == digest("summary.json")
    assert json.loads((outcome.folder / "summary.json").read_bytes()) == outcome.summary

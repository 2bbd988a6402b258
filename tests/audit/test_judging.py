"""What an audit makes of verdicts: defects, errors and warnings, told apart."""

from __future__ import annotations

import itertools

import pytest
from scripted_jobs import Script, make_dataset, make_task, run

from scorehost.audit.asking import with_made_up
from scorehost.audit.report import report_of
from scorehost.audit.staging import read_kit
from scorehost.errors import UsageError
from scorehost.model.failure import Phase
from scorehost.scoring.asked import ScoreAsked
from scorehost.scoring.choosing import choose
from scorehost.spec.dataset import Expectation

FAIL = {"status": "FAIL"}


def honest(order):
    """PASS for the solution alone."""
    return {} if order.key.submission == "solution" else FAIL


@pytest.fixture
def dataset(tmp_path):
    return with_task(tmp_path)


def with_task(root, *, expected=None, answer="41\n17\n", path="artifacts/answer.txt"):
    wrong = ("off",)
    task = make_task(root, "t", wrong=wrong, artifacts=(("answer", path),))
    for folder in (task.solution, *task.wrong.values()):
        (folder / path).parent.mkdir(parents=True)
        (folder / path).write_text(answer)
    return make_dataset(root, task.model_copy(update={"expected": {"off": expected} if expected else {}}))


def audited(root, dataset, verdict, *, attacks=True, repeat=2):
    chosen = choose(ScoreAsked(dataset=dataset.root, repeat=repeat), dataset)
    chosen = with_made_up(chosen, root / "runs", attacks=attacks)
    asked = chosen.asked
    script = Script(verdict)
    outcome = run(
        root, dataset, script, submissions=asked.submissions, staged=asked.staged, repeat=repeat, name="audit"
    )
    return report_of(outcome, chosen, seconds=1.0), script


def kinds(report, level="defect"):
    return {(one.kind, one.submission) for one in report.findings if one.level == level}


def test_a_task_that_passes_its_solution_alone_is_sound(tmp_path, dataset):
    report, script = audited(tmp_path, dataset, honest)
    assert (report.exit_status, report.findings, report.passed) == (0, (), ())
    assert report.attempts == len(script.orders) > 10


def test_only_what_the_author_made_is_repeated(tmp_path, dataset):
    _report, script = audited(tmp_path, dataset, honest, repeat=3)
    times = dict.fromkeys({order.key.submission for order in script.orders}, 0)
    for order in script.orders:
        times[order.key.submission] += 1
    assert {name: times.pop(name) for name in ("solution", "empty", "wrong-off")} == {
        "solution": 3,
        "empty": 3,
        "wrong-off": 3,
    }
    assert set(times.values()) == {1}


def test_whatever_passes_that_must_not_is_a_defect_with_the_command_that_shows_it(
    tmp_path, dataset, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    report, _ = audited(tmp_path, dataset, lambda _order: {})
    assert report.exit_status == 1
    assert {
        ("empty-passes", "empty"),
        ("wrong-passes", "wrong-off"),
        ("attack-passes", "empty-file"),
    } <= kinds(report)
    assert report.unsound == ("t",)
    commands = {one.submission: one.command for one in report.findings}
    assert commands["empty"] == "scorehost score tasks/t empty"
    assert commands["wrong-off"] == "scorehost score tasks/t wrong:off"
    (place,) = (tmp_path / "runs" / "audits").iterdir()
    assert commands["empty-file"] == f"scorehost score tasks/t runs/audits/{place.name}/empty-file/t"
    assert (place / "empty-file" / "t" / "artifacts" / "answer.txt").read_bytes() == b""


def test_a_mutant_that_survives_is_a_warning_that_says_what_was_done(tmp_path, dataset):
    def lenient(order):
        return {} if order.key.submission.startswith(("solution", "mutant")) else FAIL

    report, _ = audited(tmp_path, dataset, lenient)
    assert report.exit_status == 0
    assert report.survivors == report.mutants == len(kinds(report, "warning")) > 3
    assert any("line 1 dropped" in one.text or "line 2 dropped" in one.text for one in report.findings)


def test_a_solution_that_does_not_pass_is_a_defect(tmp_path, dataset):
    report, _ = audited(tmp_path, dataset, lambda _order: FAIL)
    assert (report.exit_status, kinds(report)) == (1, {("solution-fails", "solution")})


def test_an_evaluator_that_raises_on_its_solution_is_a_defect(tmp_path, dataset):
    report, _ = audited(tmp_path, dataset, lambda _order: {"kind": "evaluator_exception"})
    assert kinds(report) == {("solution-fails", "solution")}
    assert kinds(report, "warning") == {("empty-errs", "empty")}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({}, FAIL),
        ({"score": 1.0}, {"score": 0.5}),
        ({"metrics": {"rmse": 1}}, {"metrics": {"rmse": 2}}),
        ({}, {"kind": "evaluator_exception"}),
    ],
)
def test_repeats_that_differ_in_verdict_score_or_metric_are_a_defect(tmp_path, dataset, first, second):
    turns = itertools.cycle([first, second])
    report, _ = audited(
        tmp_path, dataset, lambda order: next(turns) if order.key.submission == "solution" else FAIL
    )
    assert kinds(report) == {("repeats-differ", "solution")}


def test_machinery_that_fails_is_an_error_and_no_defect(tmp_path, dataset):
    report, _ = audited(tmp_path, dataset, lambda _order: {"kind": "image_missing", "phase": Phase.PREPARE})
    assert report.exit_status == 2  # nothing was scored for want of an image
    assert (kinds(report), kinds(report, "error")) == (set(), {("not-scored", "solution")})


def test_one_attempt_that_the_engine_lost_leaves_the_audit_with_status_3(tmp_path, dataset):
    def lost(order):
        return {"kind": "engine_lost"} if order.key.submission == "empty" else honest(order)

    report, _ = audited(tmp_path, dataset, lost)
    assert (report.exit_status, kinds(report), kinds(report, "error")) == (
        3,
        set(),
        {("not-scored", "empty")},
    )


def test_an_attack_whose_error_leaves_the_mean_is_a_defect(tmp_path, dataset):
    def destroyed(order):
        return {"kind": "host_lost"} if order.key.submission == "attack-huge-answer" else honest(order)

    report, _ = audited(tmp_path, dataset, destroyed)
    assert kinds(report) == {("attack-leaves-mean", "attack-huge-answer")}


def test_an_attack_whose_error_counts_as_the_lowest_score_gains_nothing(tmp_path, dataset):
    def broken(order):
        attack = order.key.submission.startswith("attack")
        return {"kind": "evaluator_oom"} if attack else honest(order)

    report, _ = audited(tmp_path, dataset, broken)
    assert (report.exit_status, report.findings) == (0, ())


@pytest.mark.parametrize(
    ("expected", "verdict", "sound"),
    [
        (Expectation(status="FAIL", check="sum", max_score=0.5), {"status": "FAIL", "score": 0.5}, True),
        (Expectation(max_score=0.4), {"status": "FAIL", "score": 0.5}, False),
        (Expectation(check="other"), {"status": "FAIL"}, False),
        (Expectation(status="ERROR"), {"status": "FAIL"}, False),
        (Expectation(status="FAIL"), {"kind": "evaluator_exception"}, False),
        (Expectation(status="ERROR"), {"kind": "evaluator_exception"}, True),
    ],
)
def test_a_wrong_solution_must_fail_as_its_expect_file_says(tmp_path, expected, verdict, sound):
    dataset = with_task(tmp_path, expected=expected)

    def judged(order):
        if order.key.submission != "wrong-off":
            return honest(order)
        return {**verdict, "checks": [{"id": "form", "status": "PASS"}, {"id": "sum", "status": "FAIL"}]}

    report, _ = audited(tmp_path, dataset, judged)
    assert kinds(report) == (set() if sound else {("wrong-unexpected", "wrong-off")})


@pytest.mark.parametrize(
    ("verdict", "told"),
    [
        (
            lambda order: {"score": 0.0} if order.key.submission == "solution" else FAIL,
            "PASS with the worst score",
        ),
        (
            lambda order: {} if order.key.submission == "solution" else {**FAIL, "score": 1.0},
            "FAIL with the best score",
        ),
        (
            lambda order: (
                {"checks": [{"id": "a", "status": "FAIL"}]} if order.key.submission == "solution" else FAIL
            ),
            "PASS though its only check failed",
        ),
    ],
)
def test_verdicts_that_contradict_their_score_or_checks_are_a_defect(tmp_path, dataset, verdict, told):
    report, _ = audited(tmp_path, dataset, verdict)
    found = [one for one in report.findings if one.kind == "contradicts-itself"]
    assert report.exit_status == 1
    assert [one.level for one in found] == ["defect"]
    assert found[0].text.startswith(told)


def test_what_must_not_pass_must_not_have_the_score_of_the_solution_either(tmp_path, dataset):
    def generous(order):
        if order.key.submission == "solution":
            return {"score": 0.8}
        return {**FAIL, "score": {"empty": 0.8, "wrong-off": 0.9}.get(order.key.submission, 0.1)}

    report, _ = audited(tmp_path, dataset, generous)
    assert kinds(report) == {("full-score", "empty"), ("full-score", "wrong-off")}
    texts = {one.submission: one.text for one in report.findings}
    assert texts["empty"] == "nothing at all is as good as its solution: score 0.8, its solution has 0.8"
    assert "is better than its solution: score 0.9, its solution has 0.8" in texts["wrong-off"]


def test_nothing_is_held_to_a_solution_whose_repeats_differ(tmp_path, dataset):
    turns = itertools.cycle([0.9, 0.0])

    def drawn(order):
        return {"score": next(turns)} if order.key.submission == "solution" else FAIL

    report, _ = audited(tmp_path, dataset, drawn)
    assert {kind for kind, _ in kinds(report)} == {"repeats-differ", "contradicts-itself"}


def test_a_mutant_whose_score_fell_was_noticed_and_one_that_is_better_is_told(tmp_path, dataset):
    def graded(order):
        name = order.key.submission
        if name == "mutant-1":
            return {"score": 0.95}
        return (
            {"score": 0.918 if name.startswith("mutant") else 0.93}
            if name != "empty" and not name.startswith(("wrong", "attack", "empty"))
            else FAIL
        )

    report, _ = audited(tmp_path, dataset, graded)
    assert (report.exit_status, report.survivors, report.mutants > 3) == (0, 0, True)
    assert kinds(report, "warning") == {("mutant-is-better", "mutant-1")}


def test_an_evaluator_that_raises_for_what_is_merely_wrong_is_a_defect(tmp_path, dataset):
    def brittle(order):
        mutant = order.key.submission.startswith("mutant")
        return {"kind": "evaluator_exception"} if mutant else honest(order)

    report, _ = audited(tmp_path, dataset, brittle)
    assert (report.exit_status, kinds(report)) == (1, {("evaluator-raises", "mutant-1")})
    (one,) = report.findings
    assert one.text.startswith(f"the evaluator raises for {report.mutants} of {report.mutants + 2} hand-ins")


def test_without_attacks_none_is_handed_in(tmp_path, dataset):
    _report, script = audited(tmp_path, dataset, honest, attacks=False)
    assert not any(order.key.submission.startswith("attack") for order in script.orders)


def test_an_audit_that_is_taken_up_again_hands_in_the_same(tmp_path, dataset):
    chosen = choose(ScoreAsked(dataset=dataset.root), dataset)
    asked = with_made_up(chosen, tmp_path / "runs", attacks=True).asked
    words = {"submissions": asked.submissions, "staged": asked.staged}
    script = Script(honest)
    first = run(tmp_path, dataset, script, **words)
    again = run(tmp_path, dataset, Script(honest), resume=first.job_id)
    assert len(again.rows) == len(script.orders)
    assert len(read_kit(asked.staged).hand_ins) == len(script.orders) - 3


def test_a_kit_that_is_gone_is_said_and_not_guessed(tmp_path):
    with pytest.raises(UsageError, match=r"kit\.json cannot be read"):
        read_kit(tmp_path)


@pytest.mark.parametrize(
    ("direction", "solution", "worse", "as_good"),
    [("maximize", 0.8, 0.7, 0.8), ("minimize", 0.2, 0.3, 0.2)],
)
def test_of_a_score_alone_what_is_no_worse_than_the_solutions_is_a_defect(
    tmp_path, direction, solution, worse, as_good
):
    task = make_task(tmp_path, "t", wrong=("off",), direction=direction, verdict="none")
    for folder in (task.solution, *task.wrong.values()):
        (folder / "artifacts").mkdir(parents=True)
        (folder / "artifacts/answer.txt").write_text("41\n")
    dataset = make_dataset(tmp_path, task)
    scores = {"solution": solution, "wrong-off": as_good}

    def verdict(order):
        return {"status": "SCORED", "score": scores.get(order.key.submission, worse)}

    report, _ = audited(tmp_path, dataset, verdict, attacks=False)
    assert kinds(report) == {("wrong-passes", "wrong-off")}
    assert (
        f"scores {as_good:g}, which is no worse than its solution's {solution:g}" in report.findings[0].text
    )

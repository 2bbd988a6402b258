"""Two jobs against each other: what is matched, what is told to differ, when numbers are refused."""

from __future__ import annotations

import functools
import json
import shutil

import anyio
import pytest
from archived import host
from scripted_jobs import Script, make_dataset, make_task, run, scoring_digests, some_tasks

from scorehost.compare.comparison import compare_jobs as compared
from scorehost.compare.markdown import comparison_markdown
from scorehost.compare.scoring_inputs import scoring_differences
from scorehost.compare.wording import comparison_words
from scorehost.errors import UsageError
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job

SAME = scoring_digests()
compare_jobs = functools.partial(compared, must_agree=scoring_differences)


def job(root, dataset, verdicts=None, *, words=("solution",), default=None, **options):
    """A finished job; `verdicts` by `task/submission/sample.repeat` or task id."""
    given = verdicts or {}

    def verdict(order):
        found = given.get(str(order.key), given.get(order.key.task_id, default or {}))
        return {"digests": SAME, **found}

    outcome = run(root, dataset, Script(verdict), submissions=words, **options)
    return read_job(JobFolder(outcome.folder))


FAIL = {"status": "FAIL"}


@pytest.fixture
def dataset(tmp_path):
    return some_tasks(tmp_path, *"abcd")


def test_two_equal_jobs_differ_in_nothing(tmp_path, dataset):
    one, two = job(tmp_path, dataset), job(tmp_path, dataset)
    found = compare_jobs(one, two)
    assert (found.comparable, found.differences, found.changes, found.n_pairs) == (True, (), (), 4)
    assert (found.figures.difference, found.figures.mcnemar.p_value) == (0.0, None)
    assert not found.regressions.any


def test_means_are_over_the_same_pairs_and_their_difference_is_of_b_against_a(tmp_path, dataset):
    one = job(tmp_path, dataset, {"a": {"score": 0.5}, "b": FAIL, "c": FAIL})
    two = job(tmp_path, dataset, {"a": {"score": 0.75}, "b": {}, "c": FAIL, "d": FAIL})
    figures = compare_jobs(one, two).figures
    # A: 0.5, 0, 0, 1; B: 0.75, 1, 0, 0
    assert (figures.mean_a, figures.mean_b) == (pytest.approx(0.375), pytest.approx(0.4375))
    assert figures.difference == pytest.approx(0.0625)
    assert (figures.n_pairs, figures.n_tasks) == (4, 4)
    # a passes in both, c in neither, d in A alone, b in B alone
    test = figures.mcnemar
    assert (test.both, test.neither, test.only_a, test.only_b, test.n) == (1, 1, 1, 1, 4)
    assert test.p_value == 1.0


def test_repeats_and_samples_are_averaged_within_a_task_and_tasks_by_weight(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a"), make_task(tmp_path, "b", weight=3.0))
    one = job(tmp_path, dataset, repeat=2)
    two = job(tmp_path, dataset, {"a/solution/1.2": {"status": "FAIL", "score": 0.5}}, repeat=2)
    found = compare_jobs(one, two)
    # a: 1 -> 0.75, b: 1 -> 1; weighted by 1 and 3
    assert found.figures.difference == pytest.approx(-0.25 / 4)
    assert [(task.task_id, task.n, task.difference) for task in found.tasks] == [
        ("a", 2, pytest.approx(-0.25)),
        ("b", 2, 0.0),
    ]
    # of a sample with two repeats, one of which fails, nobody says that it passes
    assert (found.figures.mcnemar.n, found.figures.mcnemar.only_a) == (2, 1)


def test_errors_count_as_in_the_mean_and_are_shown(tmp_path, dataset):
    one = job(tmp_path, dataset, {"a": {"kind": "host_lost", "digests": SAME}})
    two = job(tmp_path, dataset, {"b": {"kind": "submission_fault", "digests": SAME}})
    figures = compare_jobs(one, two).figures
    # a leaves, since A's ERROR says nothing of it; b is 1 and then the lowest, 0; c and d are 1 and 1
    assert (figures.n_pairs, figures.left_out) == (3, 1)
    assert (figures.errors_as_lowest_a, figures.errors_as_lowest_b) == (0, 1)
    assert figures.difference == pytest.approx(-1 / 3)
    text = "\n".join(comparison_words(compare_jobs(one, two)).figures)
    assert "0 in A, 1 in B; pairs left out for any other ERROR: 1" in text


def test_an_error_in_an_open_range_is_no_better_than_the_worst_of_both_jobs(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", score_range=None), make_task(tmp_path, "b"))
    one = job(tmp_path, dataset, {"a": {"status": "FAIL", "score": -8.0}})
    two = job(tmp_path, dataset, {"a": {"kind": "submission_fault", "digests": SAME}})
    (task, _) = compare_jobs(one, two).tasks
    assert (task.mean_a, task.mean_b) == (-8.0, -8.0)


def test_an_error_is_the_lowest_of_the_range_that_its_own_job_had(tmp_path):
    fault = {"a": {"kind": "submission_fault", "digests": SAME}}
    read = [
        job(tmp_path, make_dataset(tmp_path, make_task(tmp_path, "a", score_range=bounds)), fault)
        for bounds in ((0.0, 1.0), (0.25, 1.0))
    ]
    (task,) = compare_jobs(*read, allow_mismatch=True).tasks
    assert (task.mean_a, task.mean_b) == (0.0, 0.25)


def test_an_attempt_of_another_job_is_no_part_of_this_one(tmp_path, dataset):
    one, two = job(tmp_path, dataset, tasks=("a",)), job(tmp_path, dataset, tasks=("b",))
    shutil.copytree(two.folder.path / "attempts/b", one.folder.path / "attempts/b")
    found = read_job(one.folder)
    assert [str(attempt.key) for attempt in found.attempts] == ["a/solution/1.1"]
    assert found.damaged == ("b/solution/1.1: result.json is another attempt's",)


def test_nothing_that_counts_is_undefined_and_no_number(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    lost = {"a": {"kind": "host_lost", "digests": SAME}}
    found = compare_jobs(job(tmp_path, dataset, lost), job(tmp_path, dataset, lost))
    figures = found.figures
    assert (figures.mean_a, figures.mean_b, figures.difference) == (None, None, None)
    assert (figures.interval.lower, figures.mcnemar.p_value, figures.n_pairs) == (None, None, 0)
    assert "difference undefined (n 0 pairs, 0 tasks)" in "\n".join(comparison_words(found).figures)


@pytest.mark.parametrize("part", ["task", "evaluator", "gold", "limits", "sdk"])
def test_other_scoring_inputs_are_named_with_their_tasks_and_refuse_a_ranking(tmp_path, dataset, part):
    one = job(tmp_path, dataset)
    two = job(tmp_path, dataset, {"b": {"digests": scoring_digests(**{part: "other"})}, "a": FAIL})
    found = compare_jobs(one, two)
    assert (found.comparable, found.figures, found.regressions.mean_fell) == (False, None, None)
    assert [(d.what, d.kind, d.tasks) for d in found.differences] == [(part, "scoring", ("b",))]
    assert found.differences[0].text.endswith((" differs", " differ"))
    assert [change.task_id for change in found.changes] == ["a"]


def test_a_mismatch_that_is_allowed_is_said_in_every_output(tmp_path, dataset):
    one = job(tmp_path, dataset)
    two = job(tmp_path, dataset, default={"digests": scoring_digests(gold="other")})
    found = compare_jobs(one, two, allow_mismatch=True)
    assert found.figures is not None
    assert json.loads(found.model_dump_json())["mismatch_allowed"] is True
    assert "MISMATCH ALLOWED" in comparison_words(found).verdict
    assert "MISMATCH ALLOWED" in comparison_markdown(found)


def images(tmp_path, dataset, first, second):
    """The differences of images between two jobs whose hosts are `{name: (id, recipe)}`."""
    read = []
    for hosts in (first, second):
        outcome = run(tmp_path, dataset, Script(lambda _o: {"digests": SAME}), submissions=("solution",))
        for path in outcome.folder.glob("attempts/*/*/*/result.json"):
            content = json.loads(path.read_bytes())
            content["digests"]["scoring"]["images"] = {name: one for name, (one, _) in hosts.items()}
            content["hosts"] = [
                host(one, name, recipe=recipe).model_dump() for name, (one, recipe) in hosts.items()
            ]
            path.write_text(json.dumps(content))
        (outcome.folder / "events.jsonl").unlink()
        read.append(read_job(JobFolder(outcome.folder)))
    found = compare_jobs(*read)
    return found.comparable, [(d.kind, d.text) for d in found.differences]


REBUILT = "the image of host evaluator was built anew from the same recipe"
ANOTHER = "the image of host evaluator is another one"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"evaluator": ("1", None)}, {"evaluator": ("1", None)}, (True, [])),
        ({"evaluator": ("1", "r")}, {"evaluator": ("2", "r")}, (True, [("rebuilt", REBUILT)])),
        ({"evaluator": ("1", "r")}, {"evaluator": ("2", "s")}, (False, [("scoring", ANOTHER)])),
        ({"evaluator": ("1", None)}, {"evaluator": ("2", None)}, (False, [("scoring", ANOTHER)])),
        ({"evaluator": ("1", "r")}, {"evaluator": ("2", None)}, (False, [("scoring", ANOTHER)])),
        # A host that one job never came to start is no difference.
        ({"evaluator": ("1", None), "audit": ("3", None)}, {"evaluator": ("1", None)}, (True, [])),
    ],
)
def test_images_are_the_same_rebuilt_or_different(tmp_path, first, second, expected):
    assert images(tmp_path, some_tasks(tmp_path, "a"), first, second) == expected


def test_settings_and_what_was_handed_in_are_told_and_refuse_nothing(tmp_path, dataset):
    one, two = job(tmp_path, dataset), job(tmp_path, dataset)
    path = two.folder.path / "attempts/a/solution/1.1/result.json"
    content = json.loads(path.read_bytes())
    content["versions"].update(engine="27.0", architecture="aarch64")
    content["digests"]["submission"] = "sha256:2"
    path.write_text(json.dumps(content))
    path = one.folder.path / "attempts/a/solution/1.1/result.json"
    content = json.loads(path.read_bytes())
    content["digests"]["submission"] = "sha256:1"
    path.write_text(json.dumps(content))
    for each in (one, two):
        (each.folder.path / "events.jsonl").unlink()
    found = compare_jobs(read_job(one.folder), read_job(two.folder))
    assert found.comparable
    assert [(d.what, d.kind) for d in found.differences] == [
        ("engine", "setting"),
        ("architecture", "setting"),
        ("submission", "subject"),
    ]


def test_an_invalidated_job_refuses_a_ranking(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    mixed = {"a/solution/1.2": {"digests": scoring_digests(gold="other")}}
    one, two = (job(tmp_path, dataset, mixed, repeat=2) for _ in range(2))
    found = compare_jobs(one, two)
    assert (found.comparable, [d.what for d in found.differences]) == (False, ["job", "job"])


def test_inputs_that_no_attempt_could_tell_are_noted(tmp_path):
    dataset = some_tasks(tmp_path, "a", "b")
    one = job(tmp_path, dataset)
    two = job(tmp_path, dataset, {"a": {"kind": "image_missing", "digests": None}})
    found = compare_jobs(one, two)
    assert found.comparable
    assert any("unknown in one of the jobs for 1 task: a" in note for note in found.notes)


def test_attempts_without_a_partner_are_listed(tmp_path, dataset):
    one = job(tmp_path, dataset, repeat=2)
    two = job(tmp_path, dataset, tasks=("a", "b"))
    found = compare_jobs(one, two)
    assert (found.n_pairs, len(found.only_in_a), found.only_in_b) == (2, 6, ())
    assert "c/solution/1.1" in found.only_in_a


def test_submissions_of_other_names_are_paired_when_asked(tmp_path, dataset):
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    one = job(tmp_path, dataset, words=(str(tmp_path / "old"),), default=FAIL)
    two = job(tmp_path, dataset, words=(str(tmp_path / "new"), "solution"))
    with pytest.raises(UsageError, match="No attempt of the one job has a partner") as raised:
        compare_jobs(one, two)
    assert "--pair old=new" in raised.value.hint
    found = compare_jobs(one, two, renamed={"old": "new"})
    assert (found.n_pairs, found.figures.difference, found.only_in_b) == (4, 1.0, ())
    assert found.changes[0].submission_b == "new"
    with pytest.raises(UsageError, match="has no submission nwe"):
        compare_jobs(one, two, renamed={"old": "nwe"})


def test_tasks_can_be_chosen(tmp_path, dataset):
    found = compare_jobs(job(tmp_path, dataset), job(tmp_path, dataset, {"b": FAIL}), tasks=("a", "c*"))
    assert ([task.task_id for task in found.tasks], found.figures.difference) == (["a", "c"], 0.0)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({}, {"a": FAIL}, (("a/solution/1.1: PASS, then FAIL",), True)),
        (
            {},
            {"a": {"kind": "host_lost", "digests": SAME}},
            (("a/solution/1.1: PASS, then ERROR",), False),
        ),
        ({"a": FAIL}, {}, ((), False)),
        ({}, {"a": {"score": 0.9}}, ((), True)),
        ({"a": FAIL}, {"b": FAIL}, (("b/solution/1.1: PASS, then FAIL",), False)),
    ],
)
def test_a_lost_pass_or_a_lower_mean_is_a_regression(tmp_path, dataset, before, after, expected):
    found = compare_jobs(job(tmp_path, dataset, before), job(tmp_path, dataset, after)).regressions
    assert (found.lost, found.mean_fell) == expected
    assert found.any == (expected != ((), False))


def test_what_an_unfinished_job_never_came_to_is_lost(tmp_path, dataset):
    one = job(tmp_path, dataset, {"c": FAIL})
    two = job(tmp_path, dataset, {"a": FAIL}, fail_fast=True, concurrency=1)
    found = compare_jobs(one, two)
    assert found.regressions.lost == (
        "a/solution/1.1: PASS, then FAIL",
        "b/solution/1.1: PASS, not finished in B",
        "d/solution/1.1: PASS, not finished in B",  # c was no PASS that could be lost
    )
    assert any(note.startswith("B is incomplete: ") for note in found.notes)


def test_a_job_without_a_finished_attempt_is_said_to_be_one(tmp_path, dataset):
    stop = anyio.Event()
    stop.set()
    with pytest.raises(UsageError, match=r"B \(.*\) is interrupted and has no finished attempt"):
        compare_jobs(job(tmp_path, dataset), job(tmp_path, dataset, stop=stop))


def test_another_version_of_the_dataset_is_told_and_alone_forbids_no_ranking(tmp_path, dataset):
    later = dataset.model_copy(update={"version": "2"})
    found = compare_jobs(job(tmp_path, dataset), job(tmp_path, later))
    assert [one.text for one in found.differences] == ["the datasets are demo 1 and demo 2"]
    assert found.figures is not None


def test_a_damaged_attempt_is_left_out_and_told(tmp_path, dataset):
    one, two = job(tmp_path, dataset), job(tmp_path, dataset)
    path = two.folder.path / "attempts/a/solution/1.1/result.json"
    path.write_text(path.read_text().replace('"score": 1.0', '"score": 0.5'))
    found = compare_jobs(one, read_job(two.folder))
    assert found.n_pairs == 3
    assert any("a/solution/1.1: result.json is not what the journal says" in note for note in found.notes)


def test_markdown_escapes_what_a_reason_holds(tmp_path, dataset):
    two = job(
        tmp_path,
        dataset,
        {
            "a": {
                **FAIL,
                "checks": [
                    {"id": "x|y", "status": "FAIL", "visibility": "public", "message": "<b>![](u)</b> `c`"}
                ],
            }
        },
    )
    text = comparison_markdown(compare_jobs(job(tmp_path, dataset), two))
    assert r"x\|y: \<b\>!\[\](u)\</b\> \`c\`" in text


def test_checks_that_moved_are_told_by_id_where_no_verdict_moved(tmp_path, dataset):
    def rows(**statuses):
        return {"status": "FAIL", "checks": [{"id": k, "status": v} for k, v in statuses.items()]}

    one = job(tmp_path, dataset, default=rows(x="PASS", y="FAIL", z="PASS"))
    two = job(
        tmp_path,
        dataset,
        {"d": rows(x="PASS", y="FAIL", w="SKIP")},
        default=rows(x="FAIL", y="PASS", z="PASS"),
    )
    found = compare_jobs(one, two)
    assert found.changes == ()
    told = [(c.task_id, c.id, c.status_a, c.status_b, c.count) for c in found.checks]
    swapped = [("x", "PASS", "FAIL"), ("y", "FAIL", "PASS")]
    assert told == [
        *((task, *moved, 1) for task in "abc" for moved in swapped),
        ("d", "w", None, "SKIP", 1),
        ("d", "z", "PASS", None, 1),
    ]
    assert (
        "check x of a: PASS, then FAIL, in 1 pair, such as a/solution/1.1" in comparison_words(found).checks
    )
    assert "check x of a" in comparison_markdown(found)


def test_a_check_that_moved_in_many_repeats_is_told_once(tmp_path):
    dataset = some_tasks(tmp_path, "a")
    first, then = ({"checks": [{"id": "x", "status": status}]} for status in ("PASS", "SKIP"))
    one, two = (job(tmp_path, dataset, default=rows, repeat=5) for rows in (first, then))
    (moved,) = compare_jobs(one, two).checks
    assert (moved.count, moved.attempts) == (5, ("a/solution/1.1", "a/solution/1.2", "a/solution/1.3"))


def test_declared_metrics_are_compared_over_the_pairs_in_which_both_have_a_number(tmp_path):
    dataset = make_dataset(
        tmp_path, *(make_task(tmp_path, name, metrics=(("m", "mean"),)) for name in "abcd")
    )

    def metrics(**values):
        return {name: {"metrics": {"m": value}} for name, value in values.items()}

    one = job(tmp_path, dataset, metrics(a=1, b=2, c=3, d="text"))
    two = job(tmp_path, dataset, metrics(a=2, b=4, d=9))
    found = compare_jobs(one, two)
    (row,) = found.metrics
    assert (row.id, row.n, row.left_out) == ("m", 2, 2)
    assert (row.value_a, row.value_b, row.difference) == (1.5, 3.0, 1.5)
    line = (
        "metric m (mean, maximize): A 1.5, B 3, difference +1.5 (n 2 pairs; left out for want of a number: 2)"
    )
    assert line in comparison_words(found).figures


def test_metrics_of_jobs_that_cannot_be_compared_are_not_told(tmp_path):
    dataset = make_dataset(tmp_path, make_task(tmp_path, "a", metrics=(("m", "mean"),)))
    one = job(tmp_path, dataset, default={"metrics": {"m": 1}})
    two = job(tmp_path, dataset, default={"metrics": {"m": 1}, "digests": scoring_digests(gold="other")})
    assert compare_jobs(one, two).metrics == ()

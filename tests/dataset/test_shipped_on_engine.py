"""The shipped dataset on a real engine: verdicts, and which hosts there were."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import anyio
import pytest
import yaml

from given import given
from scorehost import api

pytestmark = pytest.mark.docker

ROOT = Path(__file__).parents[2]
TASKS = sorted(path.name for path in (ROOT / "tasks").iterdir())


def run(out: Path, dataset: Path = ROOT, **options):
    return anyio.run(api.run, *given(dataset=dataset, out=out, **options), lambda _: None)


def attempt(outcome, row):
    folder = outcome.folder / "attempts" / row.key.folder
    result = json.loads((folder / "result.json").read_text())
    checks = json.loads((folder / "evaluation" / "checks.json").read_text())
    return result, checks["checks"]


def test_the_shipped_solutions_all_pass(tmp_path):
    outcome = run(tmp_path, submissions=("solution",))
    assert {(row.key.task_id, row.status) for row in outcome.rows} == {(task, "PASS") for task in TASKS}
    assert outcome.exit_status == 0


def test_empty_hand_ins_are_fails_and_no_errors(tmp_path):
    outcome = run(tmp_path, submissions=("empty",))
    assert {(row.key.task_id, row.status) for row in outcome.rows} == {(task, "FAIL") for task in TASKS}
    assert outcome.exit_status == 1


@pytest.mark.parametrize(
    ("task", "name"),
    sorted((path.parts[-3], path.name) for path in ROOT.glob("tasks/*/solution-wrong/*")),
)
def test_a_wrong_solution_fails_as_its_expectation_says(task, name, tmp_path):
    outcome = run(tmp_path, tasks=(task,), submissions=(f"wrong:{name}",))
    (row,) = outcome.rows
    folder = ROOT / "tasks" / task / "solution-wrong" / name
    expected = yaml.safe_load((folder / "expect.yaml").read_text())
    _, checks = attempt(outcome, row)
    failed = [check["id"] for check in checks if check["status"] == "FAIL"]
    assert (row.status, failed[0]) == (expected["status"], expected["check"])
    assert row.score <= expected["max_score"]


def test_without_a_submission_the_run_phase_makes_one_and_nothing_else_is_scored(tmp_path):
    outcome = run(tmp_path)
    (row,) = outcome.rows
    assert (str(row.key), row.status) == ("shift-hours/run/1.1", "PASS")
    result, _ = attempt(outcome, row)
    # one call for each of the three names in shifts.csv
    assert (result["agent_invocations"], result["limit"]) == (3, None)
    assert outcome.summary["usage"]["solver"]["calls"] == 3


def test_the_judge_says_what_is_wrong_and_its_work_is_on_record(tmp_path):
    outcome = run(tmp_path, tasks=("session-audit",), submissions=("wrong:wrong-claim",))
    _, checks = attempt(outcome, outcome.rows[0])
    assert checks[1]["message"] == "closing: the command ended with 1"
    folder = outcome.folder / "attempts" / outcome.rows[0].key.folder
    lines = (folder / "evaluation/observation.jsonl").read_text().splitlines()
    worked, answered = map(json.loads, lines)
    assert worked["output"]["exec"]["argv"][0] == "claim-verify"
    assert answered["output"]["failed"] == ["closing"]
    # vouchers.txt was sold on account: 42.00 belong to receivable, and the wrong books put them into cash
    assert (folder / "logs/verification.1.stdout.log").read_text().splitlines() == [
        "cash: books say 8250, vouchers say 4050",
        "receivable: books say None, vouchers say 4200",
    ]


def hosts(result):
    return {host["name"]: host["image_id"] for host in result["hosts"]}


def test_both_stages_of_the_audit_run_in_hosts_of_different_images(tmp_path):
    outcome = run(tmp_path, tasks=("session-audit",), submissions=("solution",))
    result, _ = attempt(outcome, outcome.rows[0])
    found = hosts(result)
    assert set(found) == {"evaluator", "audit", "verification"}
    assert len(set(found.values())) == 3


def test_the_second_stage_is_not_reached_when_the_first_fails(tmp_path):
    outcome = run(tmp_path, tasks=("session-audit",), submissions=("wrong:unbalanced",))
    result, checks = attempt(outcome, outcome.rows[0])
    assert set(hosts(result)) == {"evaluator", "audit"}
    (check,) = checks
    assert (check["id"], check["status"], check["exec"]["exit_code"]) == ("audit", "FAIL", 1)
    # flour was booked at 31.20 and paid for with 32.10
    assert check["exec"]["stdout"] == "debits and credits differ by 90 cents\n"


LOOK = """
def evaluate(inputs):
    found = {}
    for host in ("audit", "verification"):
        for program in ("ledger-audit", "claim-verify"):
            result = inputs["scoring"].exec(host, ["sh", "-c", f"command -v {program}"])
            found[f"{host} {program}"] = result.exit_code
        gold = inputs["scoring"].exec(host, ["sh", "-c", "ls /attempt/evaluation"])
        found[f"{host} gold"] = gold.stdout.split()
    return {"status": "PASS", "metrics": {"found": found}}
"""


def test_each_stage_calls_a_program_that_the_other_image_lacks(tmp_path):
    dataset = copied(tmp_path, "session-audit")
    (dataset / "tasks" / "session-audit" / "evaluator.py").write_text(LOOK)
    outcome = run(tmp_path / "runs", dataset, submissions=("solution",))
    result, _ = attempt(outcome, outcome.rows[0])
    assert result["metrics"]["found"] == {
        "audit ledger-audit": 0,
        "audit claim-verify": 127,
        "audit gold": [],
        "verification ledger-audit": 127,
        "verification claim-verify": 0,
        "verification gold": ["canary.txt", "claims.json"],
    }


NOSUCH = """
def evaluate(inputs):
    inputs["scoring"].exec("nosuch", ["true"])
    return {"status": "PASS"}
"""


def test_a_host_that_the_task_does_not_name_is_an_error_and_starts_nothing(tmp_path):
    dataset = copied(tmp_path, "session-audit")
    (dataset / "tasks" / "session-audit" / "evaluator.py").write_text(NOSUCH)
    outcome = run(tmp_path / "runs", dataset, submissions=("solution",))
    result, _ = attempt(outcome, outcome.rows[0])
    assert (result["status"], result["error"]["kind"]) == ("ERROR", "unknown_environment")
    assert set(hosts(result)) == {"evaluator"}


def copied(tmp_path, task):
    dataset = tmp_path / "dataset"
    for name in ("dataset.yaml", "profiles.yaml"):
        (dataset / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, dataset / name)
    shutil.copytree(ROOT / "shared", dataset / "shared", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "evaluation", dataset / "evaluation")
    shutil.copytree(ROOT / "examples", dataset / "examples")
    shutil.copytree(ROOT / "tasks" / task, dataset / "tasks" / task)
    return dataset

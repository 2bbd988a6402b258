"""A dataset in the ageval layout, with all that its run.py files and evaluators use, runs unchanged."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import anyio
import pytest

from given import given
from scorehost import api

pytestmark = [pytest.mark.docker, pytest.mark.timeout(600)]
DATASET = Path(__file__).parents[2] / "examples" / "ageval"


FILE = """
from ageval_sdk import RunContext, RunTerminal
async def run(ctx: RunContext) -> RunTerminal:
    made = ctx.workspace_root / "elsewhere.json"
    made.write_text('{"item": "item_lamp_black"}')
    ctx.publish_file("final-state", made)
    return RunTerminal.completed("done")
"""
TREE = """
from ageval_sdk import RunContext, RunTerminal
async def run(ctx: RunContext) -> RunTerminal:
    made = ctx.workspace_root / "elsewhere"
    made.mkdir()
    (made / "main.py").write_text("print('hello')\\n")
    ctx.publish_tree("repo", made)
    (made / "main.py").write_text("print('too late')\\n")
    return RunTerminal.completed("done")
"""


def job(tmp_path, *, dataset=DATASET, **options):
    asked = given(dataset=dataset, out=tmp_path / "runs", **options)
    return anyio.run(api.run, *asked, lambda _: None)


def results(outcome):
    found = {}
    for row in outcome.rows:
        folder = outcome.folder / "attempts" / row.key.folder
        found[row.key.task_id, row.key.submission] = json.loads((folder / "result.json").read_text())
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One job in which run.py makes what is scored."""
    return job(tmp_path_factory.mktemp("run"))


def log(outcome, task):
    return (outcome.folder / "attempts" / task / "run" / "1.1" / "logs" / "run.log").read_text()


def test_run_py_converses_by_a_rule_adapter_and_its_artifact_passes(made):
    result = results(made)["dialog", "run"]
    assert (result["status"], result["agent_invocations"]) == ("PASS", 2), log(made, "dialog")
    assert result["metrics"] == {"same": 1}  # read from Path(__file__).parent / "evaluation"


def test_what_a_tool_gave_and_what_is_no_artifact_stands_in_the_log(made):
    lines = log(made, "dialog").splitlines()
    assert json.loads(lines[0])["observation"] == "call-1"
    assert lines[1] == "ageval_sdk: 'trace' is no artifact of the task, and is not scored"


def test_a_folder_of_the_workspace_that_was_not_published_is_handed_over_at_the_end(made):
    result = results(made)["tree", "run"]
    assert result["status"] == "PASS", (
        result["error"],
        log(made, "tree"),
    )  # and without a map of environments


def test_an_executor_that_is_not_here_is_the_adapters_fault_and_no_fail(made):
    error = results(made)["elsewhere", "run"]["error"]
    assert (error["kind"], error["blame"]) == ("adapter_missing", "adapter")


def test_a_file_and_a_folder_that_run_py_publishes_from_elsewhere_are_taken_as_they_were_then(tmp_path):
    dataset = tmp_path / "d"
    shutil.copytree(DATASET, dataset)
    (dataset / "tasks/dialog/run.py").write_text(FILE)
    (dataset / "tasks/tree/run.py").write_text(TREE)
    outcome = job(tmp_path, dataset=dataset, tasks=("dialog", "tree"))
    statuses = {task: result["status"] for (task, _), result in results(outcome).items()}
    assert statuses == {"dialog": "PASS", "tree": "PASS"}, (log(outcome, "dialog"), log(outcome, "tree"))


def test_solutions_pass_and_what_is_wrong_or_empty_fails(tmp_path):
    outcome = job(tmp_path, submissions=("solution", "empty", "wrong:other-item"), tasks=("dialog", "tree"))
    statuses = {key: result["status"] for key, result in results(outcome).items()}
    assert statuses == {
        ("dialog", "solution"): "PASS",
        ("dialog", "empty"): "FAIL",
        ("dialog", "wrong-other-item"): "FAIL",
        ("tree", "solution"): "PASS",
        ("tree", "empty"): "FAIL",
    }


def test_an_audit_calls_it_sound(tmp_path):
    async def main():
        asked = api.ScoreAsked(dataset=DATASET, repeat=2)
        return await api.audit(asked, api.Running(out=tmp_path / "runs"), lambda _event: None)

    report = anyio.run(main)
    assert [one.text for one in report.findings if one.level in ("defect", "error")] == []
    assert report.exit_status == 0

"""An author tests an evaluator without an engine, and gets what a real host would give."""

import asyncio
import math
import pickle
import sys

import pytest

import scorehost_sdk
from scorehost.attempt.binding import bind
from scorehost.errors import AttemptFailed
from scorehost.spec.task import Output
from scorehost_sdk import ScoringError, SubmissionFault, UnknownEnvironment, UnknownRole, evaluation_check
from scorehost_sdk.testing import InvalidResult, run_evaluator


@pytest.fixture
def task(tmp_path):
    folder = tmp_path / "tasks" / "adds"
    (folder / "evaluation").mkdir(parents=True)
    (folder / "evaluation" / "expected.txt").write_text("42")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "exact.py").write_text("def same(a, b): return a.strip() == b.strip()\n")

    def write(source):
        (folder / "evaluator.py").write_text(source)
        return folder

    return write


COMPARES = """
import os
from shared.exact import same
def evaluate(inputs):
    if "answer" not in inputs["artifacts"]:
        return {"status": "FAIL"}
    with open(inputs["artifacts"]["answer"]) as mine:
        with open(os.path.join(inputs["evaluation_dir"], "expected.txt")) as gold:
            right = same(mine.read(), gold.read())
    return {"status": "PASS" if right else "FAIL", "metrics": inputs["parameters"]}
"""


@pytest.mark.parametrize(
    ("artifacts", "status"), [({"answer": "42\n"}, "PASS"), ({"answer": b"41"}, "FAIL"), ({}, "FAIL")]
)
def test_an_evaluator_judges_artifacts_against_its_gold(task, artifacts, status):
    assert run_evaluator(task(COMPARES), artifacts)["status"] == status


def test_artifacts_may_be_files_and_folders_and_parameters_arrive(task, tmp_path):
    (tmp_path / "answer.txt").write_text("42")
    value = run_evaluator(task(COMPARES), {"answer": tmp_path / "answer.txt"}, parameters={"n": 1})
    assert value == {"status": "PASS", "score": 1.0, "metrics": {"n": 1}, "checks": []}


def test_two_tasks_with_one_module_name_do_not_mix(task, tmp_path):
    first = task(COMPARES)
    assert run_evaluator(first, {"answer": "42"})["status"] == "PASS"
    second = "def evaluate(i): return {'status': 'FAIL', 'metrics': {'second': 1}}"
    assert run_evaluator(task(second), {})["metrics"] == {"second": 1}


def test_execs_run_as_local_programs_with_the_words_of_a_host(task, tmp_path):
    source = """
def evaluate(inputs):
    scoring = inputs["scoring"]
    shell = ["sh", "-c", "cat; echo $A $B; echo no >&2; exit 3"]
    done = scoring.exec("box", shell, stdin="in ", env={"B": "2"})
    slow = scoring.exec("box", ["sleep", "60"], timeout=0.2)
    none = scoring.exec("box", ["no-such-program"])
    scoring.write_file("box", "/attempt/output/a", "x" * 10)
    read = scoring.read_file("box", "/attempt/output/a")
    seen = scoring.exec("box", ["cat", "/attempt/output/a"]).stdout
    Path(inputs["parameters"]["to"]).write_bytes(pickle.dumps([done, slow, none, read, seen]))
    return {"status": "PASS"}
"""
    to = tmp_path / "seen"
    source = "import pickle\nfrom pathlib import Path" + source
    run_evaluator(task(source), {}, environments={"box": {"A": "1"}}, parameters={"to": str(to)})
    done, slow, none, read, seen = pickle.loads(to.read_bytes())  # noqa: S301 - the evaluator above wrote it
    assert (done.exit_code, done.stdout.split(), done.stderr, done.ok) == (
        3,
        ["in", "1", "2"],
        "no\n",
        False,
    )
    assert (slow.timed_out, slow.exit_code, slow.ok) == (True, 124, False)
    assert slow.duration_seconds < 5
    assert none.exit_code == 127
    assert (read, seen) == (b"x" * 10, "x" * 10)


def test_an_async_evaluator_awaits_and_opens(task):
    source = """
async def evaluate(inputs):
    async with inputs["scoring"].open("box", ["cat"]) as process:
        await process.send("one\\ntwo")
        first = await process.read_line(5)
        await process.close_stdin()
        rest = await process.wait(5)
    return {"status": "PASS", "metrics": {"seen": [first, rest.stdout, rest.exit_code]}}
"""
    metrics = run_evaluator(task(source), {}, environments=["box"])["metrics"]
    assert metrics == {"seen": ["one\n", "two", 0]}


def test_untrusted_calls_work_and_an_uncaught_fault_passes_through(task):
    source = """
from scorehost_sdk import untrusted
def evaluate(inputs):
    add = untrusted(inputs["scoring"], "box", inputs["artifacts"]["code"], "add")
    return {"status": "PASS" if add(1, 2) == 3 else "FAIL"}
"""
    right = {"code": "def add(a, b): return a + b"}
    assert run_evaluator(task(source), right, environments=["box"])["status"] == "PASS"
    with pytest.raises(SubmissionFault):
        run_evaluator(task(source), {"code": "import os; os._exit(0)"}, environments=["box"])


def test_unknown_names_raise_as_in_a_host(task):
    with pytest.raises(UnknownEnvironment, match="'nosuch'"):
        run_evaluator(
            task("def evaluate(i): i['scoring'].exec('nosuch', ['true'])"), {}, environments=["box"]
        )


def test_without_environments_programs_run_beside_the_evaluator(task):
    source = """
def evaluate(inputs):
    said = inputs["scoring"].exec(None, ["echo", "hi"]).stdout
    return {"status": "PASS", "metrics": {"said": said}}
"""
    assert run_evaluator(task(source), {})["metrics"] == {"said": "hi\n"}


def test_a_check_row_holds_every_field_of_the_format():
    result = scorehost_sdk.ExecResult(exit_code=1, stdout="a", stderr="b", duration_seconds=0.5)
    row = evaluation_check(
        "id", title="t", status="FAIL", script="check.py", environment="box", exec_result=result,
        message="m", details={"a": 1}, score=1, max_score=2, weight=3, severity="high",
        recommendation="r", evidence_refs=("e",), visibility="public", tags=["x"],
    )  # fmt: skip
    assert row == {
        "id": "id",
        "title": "t",
        "status": "FAIL",
        "script": "check.py",
        "environment": "box",
        "exec": {
            "exit_code": 1,
            "stdout": "a",
            "stderr": "b",
            "truncated": False,
            "stdout_truncated": False,
            "stderr_truncated": False,
            "timed_out": False,
            "oom_killed": False,
            "host_lost": False,
            "reason": "",
            "duration_seconds": 0.5,
        },
        "message": "m",
        "details": {"a": 1},
        "score": 1,
        "max_score": 2,
        "weight": 3,
        "severity": "high",
        "recommendation": "r",
        "evidence_refs": ["e"],
        "visibility": "public",
        "tags": ["x"],
    }


def test_a_bad_check_row_raises_nothing_in_the_evaluator():
    assert evaluation_check("id", status="maybe", visibility="all")["status"] == "maybe"


@pytest.mark.parametrize(
    ("fields", "ok"),
    [
        ({"exit_code": 0}, True),
        ({"exit_code": 1}, False),
        ({"exit_code": 0, "timed_out": True}, False),
        ({"exit_code": 0, "oom_killed": True}, False),
        ({"exit_code": None, "host_lost": True}, False),
    ],
)
def test_ok_means_ended_by_itself_with_zero(fields, ok):
    assert scorehost_sdk.ExecResult(**{"stdout": "", "stderr": "", **fields}).ok is ok


AGENT = """
async def evaluate(inputs):
    async with inputs["agent"].session("judge", environment="box") as session:
        reply = await session.invoke("2+2?")
        asked = {"id": "a", "description": "d"}
        found = await session.judge(case_id="c", prompt="p", output="o", assertion=asked)
    status = "PASS" if reply.flag("ok") and found.passed else "FAIL"
    return {"status": status, "metrics": {"why": found.reason}}
"""


@pytest.mark.parametrize("ok", [True, False])
def test_functions_play_the_roles_of_an_evaluator_that_is_tested(task, ok):
    folder = task(AGENT)

    def judge(asked):
        return {"ok": ok} if isinstance(asked, str) else ("passed", f"of {asked['case_id']}")

    result = run_evaluator(folder, {}, environments=["box"], agents={"judge": judge})
    assert (result["status"], result["metrics"]) == ("PASS" if ok else "FAIL", {"why": "of c"})
    with pytest.raises(UnknownRole, match="it has other"):
        run_evaluator(folder, {}, environments=["box"], agents={"other": judge})


NO_RESULTS = {
    "1.5": 1.5,
    "NaN": {"status": "PASS", "score": math.nan},
    "text": "pass",
    "None": None,
    "a set": {"status", "PASS"},
    "lower case": {"status": "pass"},
    "a boolean score": {"status": "PASS", "score": True},
    "a score out of range": {"status": "PASS", "score": 1.5},
    "an unknown key": {"status": "PASS", "note": "x"},
    "metrics that are a list": {"status": "PASS", "metrics": [1]},
    "metrics that hold a set": {"status": "PASS", "metrics": {"a": {1}}},
}


# In real attempts too: the controller hears of nothing that JSON cannot hold, and of no type of Python.
SAID_BY_THE_RUNNER = {"1.5", "NaN", "text", "None", "a set", "metrics that hold a set"}


@pytest.mark.parametrize("kind", NO_RESULTS)
def test_what_is_no_result_for_the_controller_is_none_for_the_test_tool(task, kind):
    value = NO_RESULTS[kind]
    folder = task(f"from math import nan\ndef evaluate(inputs): return {value!r}")
    with pytest.raises(InvalidResult, match=r"^invalid_result: ") as caught:
        run_evaluator(folder, {})
    if kind in SAID_BY_THE_RUNNER:
        return
    with pytest.raises(AttemptFailed) as controllers:
        bind(value, Output(), task=folder)
    assert str(caught.value) == f"invalid_result: {controllers.value.failure.message}"


def test_a_score_and_metrics_that_were_left_out_are_filled_in_as_by_the_controller(task):
    verdict = {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []}
    assert run_evaluator(task("def evaluate(i): return {'status': 'PASS'}"), {}) == verdict
    summed = task("def evaluate(i): return {'status': 'PASS', 'score': 1.0000000000000002}")
    assert run_evaluator(summed, {}) == verdict


def test_checks_are_judged_as_by_the_controller_and_what_is_left_out_is_a_warning(task):
    source = """
from scorehost_sdk import check, evaluation_check
def evaluate(inputs):
    check("early", status="PASS", script="evaluator.py")
    check("both", status="FAIL")
    rows = [evaluation_check("both", status="PASS"), evaluation_check("odd", status="maybe")]
    return {"status": "PASS", "checks": rows}
"""
    with pytest.warns(UserWarning, match="row 2 was left out: status: Input should be") as told:
        checks = run_evaluator(task(source), {})["checks"]
    assert [(row["id"], row["status"]) for row in checks] == [("early", "PASS"), ("both", "PASS")]
    assert len(told) == 1


TASK_YAML = """
task_id: adds
parameters: {tolerance: 0.5, words: [a]}
artifacts:
  publishable: [{id: answer, path: artifacts/deep/answer.json}, {id: code, path: workspace/src, kind: tree}]
evaluation:
  environments: {box: {docker_image: x, gold: false, env: {WORD: hello}}}
  entrypoint: evaluator:main
"""
JUDGES = """
def main(inputs):
    word = inputs["scoring"].exec("box", ["sh", "-c", "echo $WORD"]).stdout
    return {"status": "FAIL", "score": 7, "metrics": {"word": word, "parameters": inputs["parameters"],
            "places": {row["artifact"]: row["target"] for row in inputs["inputs"]}}}
"""


def test_task_yaml_and_the_defaults_of_its_dataset_are_what_the_evaluator_gets(task, tmp_path):
    folder = task(JUDGES)
    (folder / "task.yaml").write_text(TASK_YAML)
    (tmp_path / "dataset.yaml").write_text("defaults: {evaluation: {output: {score_range: [0, 10]}}}\n")
    (tmp_path / "src").mkdir()
    found = run_evaluator(folder, {"answer": "1", "code": tmp_path / "src"}, parameters={"tolerance": 2})
    assert found["score"] == 7
    assert found["metrics"] == {
        "word": "hello\n",
        "parameters": {"tolerance": 2, "words": ["a"]},
        "places": {"answer": "artifacts/deep/answer.json", "code": "workspace/src"},
    }
    with pytest.raises(ValueError, match=r"no artifact anwser; it has answer, code"):
        run_evaluator(folder, {"anwser": "1"})


def test_an_artifact_of_any_path_stands_below_artifacts_as_in_a_host(task, tmp_path):
    folder = task(JUDGES)
    (folder / "task.yaml").write_text(TASK_YAML.replace("artifacts/deep/answer.json", "answer.json"))
    (tmp_path / "dataset.yaml").write_text("defaults: {evaluation: {output: {score_range: [0, 10]}}}\n")
    found = run_evaluator(folder, {"answer": "1"})
    assert found["metrics"]["places"] == {"answer": "artifacts/answer.json"}


def test_where_yaml_cannot_be_read_that_is_said(task, monkeypatch):
    folder = task("def evaluate(i): return {'status': 'PASS'}")
    (folder / "task.yaml").write_text(TASK_YAML.replace("evaluator:main", "evaluator:evaluate"))
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.warns(UserWarning, match=r"task\.yaml is not read, since PyYAML is not installed"):
        assert run_evaluator(folder, {"any": "1"})["status"] == "PASS"


def test_gold_is_found_beside_the_evaluator_and_an_agent_without_being_handed_one(tmp_path):
    task = tmp_path / "t"
    (task / "evaluation").mkdir(parents=True)
    (task / "evaluation" / "word.txt").write_text("gold")
    (task / "evaluator.py").write_text(
        "from pathlib import Path\n"
        "from ageval_sdk import Agent\n"
        "async def evaluate(inputs):\n"
        "    gold = (Path(__file__).parent / 'evaluation' / 'word.txt').read_text()\n"
        "    async with Agent(attempt_id='a').session('judge', max_turns=1) as session:\n"
        "        first, second = await session.invoke(gold), await session.invoke(gold)\n"
        "    told = {'text': first['text'], 'structured': first['structured'], 'second': second['error']}\n"
        "    return {'status': 'PASS', 'metrics': told}\n"
    )
    verdict = run_evaluator(task, {}, agents={"judge": lambda prompt: {"word": prompt}})
    assert verdict["metrics"] == {
        "text": '{"word": "gold"}',
        "structured": {"word": "gold"},
        "second": "max_turns_reached",
    }


def test_the_parameters_of_a_run_py_are_read_by_dotted_paths():
    from ageval_sdk import RunParameterView  # noqa: PLC0415 - the other package

    params = RunParameterView({"models": {"default": "a"}, "a.b": 1, "n": 2, "flag": True})
    assert (params.get("models.default"), params["models.default"], params["a.b"]) == ("a", "a", 1)
    assert (params.get("models.other", "x"), params.get("n.x"), "models.default" in params) == (
        "x",
        None,
        True,
    )
    assert (params.require_int("n"), params.require_str("models.default")) == (2, "a")
    assert params.as_mapping() == {"models": {"default": "a"}, "a.b": 1, "n": 2, "flag": True}
    for read in (
        lambda: params["nothing"],
        lambda: params.require_int("flag"),
        lambda: params.require_str("n"),
    ):
        with pytest.raises(KeyError):
            read()


def test_a_tool_set_holds_its_own_limits():
    from ageval_sdk import AllowList, CallLimit, Tool, ToolSet  # noqa: PLC0415 - the other package

    async def double(args):
        return 2 * args["n"]

    def fail(args):
        raise ValueError(args["why"])

    tools = ToolSet(allowlist=AllowList.of("double", "fail", "gone"), call_limit=CallLimit(2))
    tools.add(Tool("double", double))
    tools.add(Tool("fail", fail))
    tools.add(Tool("hidden", fail))
    seen = []
    tools.before_hooks.append(lambda name, _: seen.append(name))
    tools.after_hooks.append(lambda name, told: seen.append((name, told["status"])))

    async def calls():
        return [
            await tools.call("hidden"),
            await tools.call("gone"),
            await tools.call("double", {"n": 4}),
            await tools.call("fail", {"why": "so"}),
            await tools.call("double", {"n": 1}),
        ]

    assert asyncio.run(calls()) == [
        {"status": "denied", "reason": "allowlist"},
        {"status": "denied", "reason": "unknown_tool"},
        {"status": "ok", "result": 8},
        {"status": "error", "error": "ValueError: so"},
        {"status": "denied", "reason": "call_limit"},
    ]
    assert seen == ["double", ("double", "ok"), "fail", ("fail", "error")]
    assert tools.side_effect_counter == 2


def test_a_host_that_holds_gold_runs_no_submitted_code_here_either(task):
    source = """
from scorehost_sdk import untrusted
def evaluate(inputs):
    untrusted(inputs["scoring"], "audit", "artifacts/answer", "f")
"""
    folder = task(source)
    (folder / "task.yaml").write_text("evaluation: {environments: {audit: {docker_image: x}}}\n")
    with pytest.raises(ScoringError, match="gold: false"):
        run_evaluator(folder, {})


def test_a_task_of_the_ageval_layout_may_name_its_single_host(task):
    source = """
def evaluate(inputs):
    return {"status": "PASS", "metrics": {"said": inputs["scoring"].exec("x", ["echo", "hi"]).stdout}}
"""
    folder = task(source)
    (folder / "task.yaml").write_text("format: ageval.task/1\n")
    assert run_evaluator(folder, {})["metrics"] == {"said": "hi\n"}
    (folder / "task.yaml").write_text("format: scorehost.task/1\n")
    with pytest.raises(UnknownEnvironment):
        run_evaluator(folder, {})

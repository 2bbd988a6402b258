"""A pipeline whose second stage is a judge: its verdicts, its failures, and what stays of each call."""

from __future__ import annotations

import base64
import shutil
import urllib.parse
from pathlib import Path

import anyio
import pytest
from agent_jobs import job, only, write_job

from given import given
from scorehost import api
from scorehost.attempt.agreement import disagreements
from scorehost.runs.folder import JobFolder
from scorehost.runs.reading import read_job
from trial import IMAGE, write_submission

pytestmark = pytest.mark.docker

# As authors write it: an audit by a program, then a judge that can look into the second host.
PIPELINE = """
from ageval_sdk import evaluation_check

async def evaluate(inputs):
    audit = await inputs["scoring"].exec("audit", ["test", "-s", inputs["artifacts"]["answer"]])
    checks = [evaluation_check("audit", status="PASS" if audit.ok else "FAIL", exec_result=audit)]
    if audit.exit_code != 0:
        return {"status": "FAIL", "score": 0.0, "checks": checks}
    async with inputs["agent"].session("judge", environment="verification") as session:
        reply = await session.invoke(inputs["parameters"]["verify_prompt"])
    ok = bool(reply.get("ok"))
    status = "PASS" if ok else "FAIL"
    checks.append(evaluation_check("judged", status=status, message=reply.get("reason", "")))
    return {"status": "PASS" if ok else "FAIL", "score": 1.0 if ok else 0.5, "checks": checks}
"""
JUDGE = """
found = ask(["cat", "/attempt/artifacts/answer.txt"])["stdout"]
gold = ask(["cat", "/attempt/evaluation/gold.txt"])["stdout"]
ok = found == "42" and gold == "gold"
say(reply(output={"ok": ok, "reason": "" if ok else f"{found} is not the answer"}))
"""
PARAMETERS = {"verify_prompt": "is the answer right?"}


def piped(tmp_path, judge, files=None, *, evaluator=PIPELINE, options=None, **keys):
    root = write_job(tmp_path, evaluator, {"judge": (judge, keys)}, parameters=PARAMETERS)
    return only(job(root, files, **(options or {})))


def test_a_right_answer_passes_and_every_turn_and_exec_is_in_the_record(tmp_path):
    made = piped(tmp_path, JUDGE)
    assert (made.result["status"], made.result["score"], made.outcome.exit_status) == ("PASS", 1.0, 0)
    assert made.result["agent_invocations"] == 1
    assert [host["name"] for host in made.result["hosts"]] == ["evaluator", "audit", "verification"]
    first, second, turn = made.lines()
    assert first["output"]["exec"]["argv"] == ["cat", "/attempt/artifacts/answer.txt"]
    assert (second["environment"], turn["output"]) == ("verification", {"ok": True, "reason": ""})
    assert turn["token_usage"]["input_tokens"] == 3
    record = made.call()
    assert (record["role"], record["turn"], record["environment"]) == ("judge", 1, "verification")
    assert {"evaluation/calls/1/call.json", "evaluation/calls/1/request.json"} <= made.manifested()
    assert "evaluation/observation.jsonl" in made.manifested()
    # Its execs are those of the host: logged, and counted.
    assert made.log("verification.1.stdout.log") == "42"
    assert made.result["hosts"][2]["execs"] == 2
    usage = made.outcome.summary["usage"]["judge"]
    assert (usage["calls"], usage["input_tokens"], usage["output_tokens"], usage["missing_counts"]) == (
        1,
        3,
        5,
        0,
    )
    assert made.outcome.summary["adapter_isolation"] == "none"
    # The verdict rests on what answered.
    (answered,) = made.result["digests"]["scoring"]["roles"].items()
    assert answered[0] == "judge"
    assert answered[1].startswith("sha256:")


def test_a_wrong_answer_fails_with_the_judges_reason(tmp_path):
    made = piped(tmp_path, JUDGE, {"artifacts/answer.txt": "41"})
    assert (made.result["status"], made.result["score"]) == ("FAIL", 0.5)
    assert made.checks[1]["message"] == "41 is not the answer"


def test_the_judge_is_not_asked_when_the_audit_fails(tmp_path):
    made = piped(tmp_path, JUDGE, {"artifacts/answer.txt": ""})
    assert (made.result["status"], made.result["agent_invocations"]) == ("FAIL", 0)
    assert [host["name"] for host in made.result["hosts"]] == ["evaluator", "audit"]
    assert not (made.folder / "evaluation/observation.jsonl").exists()


@pytest.mark.parametrize(
    ("judge", "kind"),
    [
        ("time.sleep(60)", "adapter_timeout"),
        ("say(reply())\nsys.exit(3)", "adapter_exit"),
        ("say(reply())\nsay(reply())", "adapter_malformed"),
        ("say(reply(request_id='LEFT OUT'))", "adapter_provenance"),
        ("sys.stdout.write('x' * 100_000_000)", "adapter_overflow"),
        ("say(reply())\nsubprocess.Popen(['sleep', '300'], start_new_session=True)", "adapter_exit"),
    ],
)
def test_a_judge_that_fails_is_an_error_of_the_adapter_and_no_score(tmp_path, judge, kind):
    made = piped(tmp_path, judge, timeout_seconds=4)
    error = made.result["error"]
    assert (made.result["status"], made.result["score"], error["kind"]) == ("ERROR", None, kind)
    assert (error["blame"], error["phase"]) == ("adapter", "evaluate")
    assert error["message"].startswith("role `judge`: ")
    assert made.call()["fault"]["kind"] == kind
    assert made.outcome.status == "complete"
    assert made.outcome.summary["n"] == 0
    assert made.result["timing"]["evaluate"] < 4 + 5


@pytest.mark.parametrize(
    ("judge", "kind"),
    [
        ("say(reply(cache_hit=True))", "adapter_cache_hit"),
        ("say(reply(request_id='again', output={'ok': True}))", "adapter_duplicate_id"),
    ],
)
def test_a_reply_that_was_not_made_for_this_job_makes_it_invalid(tmp_path, judge, kind):
    made = piped(
        tmp_path,
        judge,
        evaluator=PIPELINE.replace(
            '["verify_prompt"])', '["verify_prompt"])\n        reply = await session.invoke("once more")'
        ),
    )
    assert (made.kind, made.outcome.status, made.outcome.exit_status) == (kind, "invalidated", 3)


@pytest.mark.parametrize("garbage", ["[ERROR] 503", '{"ok": true, "ok": false}'])
def test_garbage_that_the_evaluator_reads_as_an_object_is_the_adapters_fault(tmp_path, garbage):
    evaluator = """
def evaluate(inputs):
    with inputs["agent"].session("judge", environment=None) as session:
        return {"status": "PASS" if session.invoke("?").flag("ok") else "FAIL"}
"""
    made = piped(tmp_path, f"say(reply(output={garbage!r}))", evaluator=evaluator)
    error = made.result["error"]
    assert (error["kind"], error["blame"], made.result["score"]) == ("adapter_malformed", "adapter", None)
    assert error["message"].startswith("a reply of the role judge is not one JSON object; ")
    assert made.call()["fault"] is None


CAUGHT = """
from ageval_sdk import AdapterFault
def evaluate(inputs):
    try:
        with inputs["agent"].session("judge", environment=None) as session:
            session.invoke("?")
    except AdapterFault as fault:
        return {"status": "FAIL", "metrics": {"kind": fault.kind}}
"""


def test_a_fault_that_is_caught_is_in_the_result_and_leaves_a_warning_beside_a_fail(tmp_path):
    made = piped(tmp_path, "sys.exit(3)", evaluator=CAUGHT)
    assert made.result["agents"] == {
        "judge": {"made": 1, "answered": 0, "unreadable": 0, "faults": {"adapter_exit": 1}}
    }
    assert (made.result["status"], made.result["metrics"]) == ("FAIL", {"kind": "adapter_exit"})
    assert any("role judge: adapter_exit" in warning for warning in made.result["warnings"])


PASSED_ANYWAY = """
import ageval_sdk, scorehost_sdk
def evaluate(inputs):
    caught = (ageval_sdk.AdapterFault, scorehost_sdk.LimitReached, scorehost_sdk.ReplyError)
    try:
        with inputs["agent"].session("judge") as session:
            session.invoke("?").json()
    except caught:
        return {"status": "PASS"}
"""


@pytest.mark.parametrize(
    ("judge", "kind", "tolerant"),
    [
        ("sys.exit(3)", "adapter_exit", False),
        ("say(reply(output='[ERROR] 503'))", "adapter_malformed", False),
        ("say(reply(finish_reason='length'))", "adapter_truncated", False),
        ("sys.exit(3)", None, True),
        ("say(reply(output='[ERROR] 503'))", None, True),
    ],
)
def test_none_passes_beside_a_fault_that_its_evaluator_caught_unless_the_task_tolerates_it(
    tmp_path, judge, kind, tolerant
):
    evaluation = {"tolerate_agent_faults": tolerant}
    made = only(job(write_job(tmp_path, PASSED_ANYWAY, {"judge": (judge, {})}, evaluation=evaluation)))
    if kind is None:
        assert (made.result["status"], made.result["score"]) == ("PASS", 1.0)
        return
    error = made.result["error"]
    assert (made.result["status"], made.result["score"], error["kind"]) == ("ERROR", None, kind)
    assert (error["blame"], error["phase"], error["role"]) == ("adapter", "evaluate", "judge")
    told = "the evaluator caught that a call of an agent failed, and returned PASS: "
    assert error["message"].startswith(told)
    assert "tolerate_agent_faults" in error["hint"]


PROVOKING = """
prompt = request["prompt"]
if "forever" in prompt:
    say(reply(finish_reason="length"))
elif "filter" in prompt:
    say(reply(finish_reason="content_filter", output=""))
elif "long" in prompt:
    sys.exit(65)
elif "prose" in prompt:
    say(reply(output="I would rather write an essay."))
elif "busy" in prompt:
    sys.exit(1)
else:
    say(reply(output={"ok": "right" in prompt}))
"""
JUDGED = """
from pathlib import Path
def evaluate(inputs):
    with inputs["agent"].session("judge") as session:
        ok = session.invoke(Path(inputs["artifacts"]["answer"]).read_text()).flag("ok")
    return {"status": "PASS" if ok else "FAIL"}
"""


def test_work_that_makes_its_judge_fail_is_not_better_off_than_work_that_fails(tmp_path):
    root = write_job(tmp_path, JUDGED, {"judge": (PROVOKING, {})}, evaluation={"tmpfs_mb": 16})
    words = ("right", "wrong", "forever", "filter", "long", "prose", "busy")
    for word in words:
        write_submission(tmp_path / word, {"artifacts/answer.txt": word})
    outcome = job(root, submissions=tuple(f"{word}={tmp_path / word}" for word in words))
    groups = outcome.summary["submissions"]
    assert {word: groups[word]["mean_score"] for word in words} == {
        "right": 1.0,
        "wrong": 0.0,
        "forever": 0.0,
        "filter": 0.0,
        "long": 0.0,
        "prose": 0.0,
        "busy": None,
    }
    assert (outcome.summary["counts"]["ERROR"], outcome.summary["errors_provoked"]) == (5, 4)
    assert (outcome.summary["mean_score"], outcome.summary["n"]) == (1 / 6, 6)
    # Who reads the folder comes to the same, and so does a rescore that carries attempts over.
    read = read_job(JobFolder(outcome.folder))
    assert [one.key.submission for one in read.attempts if read.scored(one).provoked] == [
        "filter",
        "forever",
        "long",
        "prose",
    ]


BY_LENGTH = """
used = len(request["prompt"])
say(reply(output={"ok": True}, token_usage={"input_tokens": used, "output_tokens": 0}))
"""


def test_a_long_answer_spends_its_own_share_and_not_that_of_others_and_a_resume_knows(tmp_path):
    root = write_job(tmp_path, JUDGED, {"judge": (BY_LENGTH, {})}, evaluation={"tmpfs_mb": 16})
    for name, size in (("a-long", 60), ("b-short", 10)):
        write_submission(tmp_path / name, {"artifacts/answer.txt": "x" * size})
    submissions = tuple(f"{name}={tmp_path / name}" for name in ("a-long", "b-short"))
    outcome = job(root, submissions=submissions, repeat=2, concurrency=1, max_tokens=80)
    found = {str(row.key): row.error.kind if row.error else row.status for row in outcome.rows}
    assert found == {
        "t/a-long/1.1": "PASS",  # 60 of its share of 40: who has not counted yet is let through once
        "t/a-long/1.2": "share_spent",
        "t/b-short/1.1": "PASS",
        "t/b-short/1.2": "PASS",
    }
    groups = outcome.summary["submissions"]
    assert (groups["a-long"]["mean_score"], groups["a-long"]["errors_provoked"]) == (0.5, 1)
    assert outcome.summary["usage"]["judge"]["input_tokens"] == 80
    again = {"submissions": (), "resume": outcome.job_id, "rerun": "error:share_spent", "concurrency": 1}
    kept = job(root, **again, max_tokens=90)  # 80 are spent, nobody else has a right, a call needs some 15
    assert [row.error.kind for row in kept.rows if row.error] == ["share_spent"]
    done = job(root, **again, max_tokens=100)
    assert [row.status for row in done.rows] == ["PASS"] * 4


ASKED_TOO_OFTEN = """
from ageval_sdk import LimitReached, ScoringError, UnknownEnvironment, UnknownRole
def evaluate(inputs):
    scoring, agent, raised = inputs["scoring"], inputs["agent"], []
    def trial(error, function):
        try:
            function()
        except error as refused:
            raised.append(f"{type(refused).__name__}: {refused}")
    def opened(*names, **more):
        with agent.session(*names, **more):
            pass
    trial(UnknownRole, lambda: opened("solver", environment=None))
    trial(UnknownRole, lambda: opened("other", environment=None))
    trial(UnknownEnvironment, lambda: opened("judge"))
    trial(UnknownEnvironment, lambda: opened("judge", environment="nosuch"))
    with agent.session("judge", environment="audit") as session:
        trial(ScoringError, lambda: scoring.exec("audit", ["true"]))
        trial(ScoringError, lambda: scoring.reset("audit"))
        trial(ScoringError, lambda: opened("judge", environment="audit"))
        for _ in range(3):
            session.invoke("?")
        trial(LimitReached, lambda: session.invoke("?"))
    again = scoring.exec("audit", ["true"]).exit_code
    with scoring.open("audit", ["cat"]):
        trial(ScoringError, lambda: opened("judge", environment="audit"))
    return {"status": "PASS", "metrics": {"raised": raised, "again": again}}
"""


def test_what_may_not_be_is_refused_and_costs_nothing(tmp_path):
    roles = {"judge": ("say(reply())", {}), "solver": ("say(reply())", {"phases": ["run"]})}
    made = only(job(write_job(tmp_path, ASKED_TOO_OFTEN, roles)))
    assert made.result["status"] == "PASS", made.result["error"]
    raised = made.result["metrics"]["raised"]
    assert [line.partition(":")[0] for line in raised] == [
        "UnknownRole", "UnknownRole", "UnknownEnvironment", "UnknownEnvironment",
        "ScoringError", "ScoringError", "ScoringError", "LimitReached", "ScoringError",
    ]  # fmt: skip
    assert "bound for the phase run only" in raised[0]
    assert "say environment='audit' or environment='verification' for" in raised[2]
    assert "environment=None for one that works in none" in raised[2]
    assert "limits.agent_invocations" in raised[7]
    assert made.result["metrics"]["again"] == 0
    assert made.result["agent_invocations"] == 3


CONVERSATION = """
def evaluate(inputs):
    with inputs["agent"].session("judge", environment=None) as session:
        first, second = session.invoke("one"), session.invoke("two")
        found = session.judge(case_id="c", prompt="p", output="o", assertion={"id": "a", "description": "d"})
    return {"status": "PASS" if found.passed else "FAIL",
            "metrics": {"first": first.text, "second": second.text, "why": found.reason}}
"""


def test_turns_see_what_was_said_before_and_a_judgement_is_no_turn(tmp_path):
    judge = """
    if "mode" in request:
        said = [message["content"] for message in request["messages"]]
        say(reply(output=f"{request['turn']}: {said}"))
    else:
        say(reply(status="failed", reason=f"{request['case_id']} {request['assertion']['id']}"))
    """
    made = piped(tmp_path, judge, evaluator=CONVERSATION)
    assert made.result["metrics"] == {"first": "1: []", "second": "2: ['one', '1: []']", "why": "c a"}
    assert made.result["status"] == "FAIL"


AGEVAL = """
from ageval_sdk import evaluation_check
async def evaluate(inputs):
    audit = await inputs["scoring"].exec("audit", ["python", "/attempt/evaluation/audit.py"])
    if audit.exit_code != 0:
        check = evaluation_check("audit", status="FAIL", script="evaluation/audit.py", environment="audit",
                                 exec_result=audit)
        return {"status": "FAIL", "score": 0.0, "metrics": {}, "checks": [check]}
    async with inputs["agent"].session("judge", environment="verification") as session:
        reply = await session.invoke(inputs["parameters"]["verify_prompt"])
    ok = bool(reply.get("ok"))
    return {"status": "PASS" if ok else "FAIL", "score": 1.0 if ok else 0.0, "metrics": {}, "checks": []}
"""
AUDIT = "import sys; sys.exit(0 if open('/attempt/artifacts/answer.txt').read().isdigit() else 1)"


@pytest.mark.parametrize(("answer", "status"), [("42", "PASS"), ("41", "FAIL"), ("x", "FAIL")])
def test_an_evaluator_of_the_ageval_layout_runs_as_it_is(tmp_path, answer, status):
    root = write_job(
        tmp_path,
        AGEVAL,
        {"judge": (JUDGE, {})},
        files={"evaluation/audit.py": AUDIT},
        parameters=PARAMETERS,
        format="ageval.task/1",
        evaluation={"environments": {name: {"docker_image": IMAGE} for name in ("audit", "verification")}},
    )
    (root / "dataset.yaml").rename(root / "ageval.yaml")
    for name, kind in (("ageval.yaml", "dataset"), ("profiles.yaml", "profiles")):
        text = (root / name).read_text().replace(f"scorehost.{kind}/1", f"ageval.{kind}/1")
        (root / name).write_text(text + ("evaluate_host: {isolated: true}\n" if kind == "profiles" else ""))
    made = only(job(root, {"artifacts/answer.txt": answer}))
    assert made.result["status"] == status, made.result["error"]


KEY = "k-3f9a8b7c/6d5e+4f3a~2b1c"
SPY = """
key = os.environ["JUDGE_KEY"]
inside = ask(["sh", "-c", "env; cat /proc/net/dev; ls /sys/class/net"])["stdout"]
print("the key is", key, file=sys.stderr)
say(reply(output={"ok": True, "reason": f"{key} {inside}"}))
"""


def test_a_judge_has_its_key_outside_and_neither_key_nor_network_inside(tmp_path, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    made = piped(tmp_path, SPY, pass_env=["JUDGE_KEY"])
    assert made.result["status"] == "PASS"
    inside = made.log("verification.1.stdout.log")
    assert "JUDGE" not in inside
    assert inside.splitlines()[-1] == "lo"
    forms = {KEY, base64.b64encode(KEY.encode()).decode(), urllib.parse.quote(KEY, safe="")}
    searched = 0
    for path in made.outcome.folder.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            searched += 1
            assert not [form for form in forms if form.encode() in data], path
    assert searched > 10
    assert "[secret]" in made.checks[1]["message"]


@pytest.mark.parametrize(
    ("path", "old", "new", "told"),
    [
        (
            "result.json",
            '"agent_invocations": 1',
            '"agent_invocations": 0',
            "result.json counts 0 calls, and 1",
        ),
        ("evaluation/calls/1/call.json", '"ok": true', '"ok": false', "does not tell the calls"),
        ("evaluation/observation.jsonl", '"ok":true', '"ok":false', "does not tell the calls"),
        (
            "evaluation/calls/1/request.json",
            "is the answer",
            "is any answer",
            "request.json is not the request",
        ),
        ("evaluation/calls/1/tries/1/reply", '"ok": true', '"ok": tru3', "tries/1/reply is not the reply"),
    ],
)
def test_a_record_of_which_one_part_was_changed_disagrees_with_the_rest(judged, path, old, new, told):
    assert disagreements(judged) == []
    file = judged / path
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    (fault,) = disagreements(judged)
    assert told in fault


@pytest.fixture(scope="module")
def one_judged(tmp_path_factory):
    return piped(tmp_path_factory.mktemp("judged"), JUDGE).folder


@pytest.fixture
def judged(one_judged, tmp_path):
    """A copy of one attempt, to be spoilt."""
    return Path(shutil.copytree(one_judged, tmp_path / "attempt"))


def test_a_job_that_is_stopped_while_a_judge_is_asked_leaves_no_adapter_alive(tmp_path):
    pid = tmp_path / "pid"
    judge = f"open({str(pid)!r}, 'w').write(str(os.getpid()))\ntime.sleep(300)"
    root = write_job(tmp_path, PIPELINE, {"judge": (judge, {})}, parameters=PARAMETERS)
    write_submission(root / "handed-in")
    options = given(dataset=root, out=root / "runs", submissions=(f"s={root / 'handed-in'}",))
    outcomes = []

    async def stopped():
        stop = anyio.Event()

        async def run():
            outcomes.append(await api.run(*options, lambda _: None, stop))

        with anyio.fail_after(40):
            async with anyio.create_task_group() as group:
                group.start_soon(run)
                while not pid.exists() or not pid.read_text():  # noqa: ASYNC110 - another process makes it
                    await anyio.sleep(0.05)
                stop.set()

    anyio.run(stopped)
    (outcome,) = outcomes
    assert (outcome.status, outcome.exit_status, outcome.rows) == ("interrupted", 130, ())
    assert not Path(f"/proc/{pid.read_text()}").exists()
    # The call that was cut off was made: the job's account has it, for a resume too.
    assert outcome.summary["usage"]["judge"]["calls"] == 1


def test_calls_and_tokens_of_a_job_have_an_end_that_a_resume_remembers(tmp_path):
    root = write_job(tmp_path, PIPELINE, {"judge": (JUDGE, {})}, parameters=PARAMETERS)
    outcome = job(root, repeat=3, concurrency=1, max_calls=2)
    kinds = sorted(row.error.kind if row.error else row.status for row in outcome.rows)
    assert kinds == ["PASS", "PASS", "budget_spent"]
    assert outcome.summary["usage"]["judge"]["calls"] == 2
    again = {"submissions": (), "resume": outcome.job_id, "rerun": "error"}
    kept = job(root, **again, max_tokens=16)  # two calls of 8 tokens are spent already
    assert [row.error.kind for row in kept.rows if row.error] == ["budget_spent"]
    done = job(root, **again, max_tokens=17)
    assert [row.status for row in done.rows] == ["PASS"] * 3
    assert done.summary["usage"]["judge"]["calls"] == 3


def test_a_request_id_of_an_earlier_sitting_is_known_after_a_resume(tmp_path):
    judge = JUDGE.replace("say(reply(", "say(reply(request_id='the same', ")
    root = write_job(tmp_path, PIPELINE, {"judge": (judge, {})}, parameters=PARAMETERS)
    outcome = job(root, {"artifacts/answer.txt": "42"}, fail_fast=True, concurrency=1)
    assert outcome.status == "complete"
    (root / "runs" / outcome.job_id / "attempts" / "t" / "s" / "1.1" / "result.json").unlink()
    resumed = job(root, submissions=(), resume=outcome.job_id)
    assert [row.error.kind for row in resumed.rows] == ["adapter_duplicate_id"]
    assert resumed.status == "invalidated"

"""The run phase: made artifacts are scored, limits end it, and it never sees what scoring knows."""

from __future__ import annotations

import json
import subprocess

import anyio
import pytest
from agent_jobs import HOSTS, job, only, write_job

from scorehost.engine.opening import open_engine

pytestmark = pytest.mark.docker

SOLVER = ("say(reply(output=request['prompt'].upper()))", {})
EVALUATE = """
def evaluate(inputs):
    path = inputs["artifacts"].get("answer")
    found = open(path).read() if path else None
    gold = open(inputs["evaluation_dir"] + "/gold.txt").read()
    metrics = {"found": found, "run": inputs["run"], "gold": gold}
    return {"status": "PASS" if found == "42" else "FAIL", "metrics": metrics}
"""
LIMITS = {**HOSTS["limits"], "wall_time_seconds": 20}


def produced(tmp_path, run, *, evaluator=EVALUATE, limits=None, roles=None, files=None, spec=None, **options):
    root = write_job(
        tmp_path,
        evaluator,
        roles or {"solver": SOLVER},
        files={"run.py": run, **(files or {})},
        limits={**LIMITS, **(limits or {})},
        **(spec or {}),
    )
    return only(job(root, run=True, **options))


ASKS = """
import json
async def run(ctx):
    data = (ctx.workspace / "in" / "question.txt").read_text()
    async with ctx.session("solver") as session:
        reply = await session.invoke(data + ctx.params["more"])
    (ctx.workspace / "scratch").write_text("writable")
    target = ctx.artifacts / "answer.txt"
    target.write_text("42" if reply.text == "SIX TIMES SEVEN" else reply.text)
    await ctx.publish("answer", target)
    print("seed", ctx.task["seed"] > 0, sorted(ctx.task))
"""


def test_what_it_made_with_an_agent_is_scored(tmp_path):
    files = {"data/in/question.txt": "six times "}
    made = produced(tmp_path, ASKS, files=files, spec={"parameters": {"more": "seven"}})
    result = made.result
    assert (result["status"], result["submission"], result["limit"]) == ("PASS", "run", None), made.log(
        "run.log"
    )
    assert result["metrics"] == {"found": "42", "run": {"status": "completed", "limit": None}, "gold": "gold"}
    assert [host["name"] for host in result["hosts"]] == ["run", "evaluator"]
    assert (made.folder / "artifacts/answer.txt").read_text() == "42"
    assert "seed True" in made.log("run.log")
    assert result["timing"]["run"] > 0
    assert result["agent_invocations"] == 1
    assert [line["output"] for line in made.lines("run/observation.jsonl")] == ["SIX TIMES SEVEN"]
    assert {"run/calls/1/call.json", "logs/run.log", "artifacts/answer.txt"} <= made.manifested()
    assert "run" not in result["digests"]["scoring"]["images"]
    assert result["digests"]["operational"]["run"].startswith("sha256:")


def test_wall_time_that_is_reached_after_a_right_artifact_is_a_pass_that_names_the_limit(tmp_path):
    run = """
    import subprocess, time
    async def run(ctx):
        (ctx.artifacts / "answer.txt").write_text("42")
        await ctx.publish("answer", ctx.artifacts / "answer.txt")
        subprocess.Popen(["sleep", "300"], start_new_session=True)
        time.sleep(300)
    """
    made = produced(tmp_path, run, limits={"wall_time_seconds": 3})
    assert (made.result["status"], made.result["limit"]) == ("PASS", "wall_time_seconds")
    assert made.result["metrics"]["run"] == {"status": "stopped", "limit": "wall_time_seconds"}
    assert made.result["hosts"][0]["ended"] == "timed_out"


def test_an_order_of_somebody_else_to_its_container_is_the_environments_and_it_is_made_again(tmp_path):
    run = """
    import time
    async def run(ctx):
        time.sleep(2)
        (ctx.artifacts / "answer.txt").write_text("42")
        await ctx.publish("answer", ctx.artifacts / "answer.txt")
    """
    # Its label names the job's folder, which is the test's own.
    script = """
    while ! [ -e "$0/latest" ]; do sleep 0.05; done
    job=$(basename "$(readlink "$0/latest")")
    until id=$(docker ps -q --filter "label=scorehost.job=$job" --filter status=running) && [ -n "$id" ]; do
        sleep 0.05
    done
    sleep 1; docker rm --force "$id"
    """
    with subprocess.Popen(["sh", "-c", script, str(tmp_path / "runs")], stdout=subprocess.DEVNULL):
        made = produced(tmp_path, run)
    assert made.result["status"] == "PASS", made.result["error"]
    assert made.result["try"] == 2
    (first,) = made.outcome.folder.glob("tries/*/*/*/*/result.json")
    error = json.loads(first.read_text())["error"]
    assert (error["kind"], error["phase"], error["blame"]) == ("host_lost", "run", "environment")
    assert error["retryable"]


def test_calls_that_are_used_up_end_it_and_name_the_limit(tmp_path):
    run = """
    async def run(ctx):
        await ctx.publish("answer", __file__)
        async with ctx.session("solver") as session:
            for number in range(9):
                print("turn", (await session.invoke(str(number))).text, flush=True)
    """
    made = produced(tmp_path, run, limits={"agent_invocations": 2})
    assert (made.result["status"], made.result["limit"]) == ("FAIL", "agent_invocations")
    assert made.result["warnings"] == [
        "the run phase was stopped at limits.agent_invocations, and what it had published was scored"
    ]
    assert made.log("run.log") == "turn 0\nturn 1\n"
    assert made.result["agent_invocations"] == 2


def test_what_was_published_before_it_failed_is_scored(tmp_path):
    run = """
    def run(ctx):
        (ctx.artifacts / "answer.txt").write_text("42")
        ctx.publish("answer", ctx.artifacts / "answer.txt")
        raise ValueError("no more")
    """
    made = produced(tmp_path, run)
    assert (made.result["status"], made.result["metrics"]["run"]["status"]) == ("PASS", "failed")
    assert any("ValueError at run.py:5" in warning for warning in made.result["warnings"])
    assert "no more" in made.log("run.log")
    assert "no more" not in json.dumps(made.result)


def test_a_run_that_publishes_nothing_is_judged_by_the_evaluator(tmp_path):
    made = produced(tmp_path, "def run(ctx):\n    pass\n")
    assert (made.result["status"], made.result["metrics"]["found"]) == ("FAIL", None)


LOOKS = """
import os, socket, subprocess
def run(ctx):
    seen = []
    for folder, _, files in os.walk("/"):
        if folder.startswith(("/proc", "/sys", "/dev")):
            continue
        for name in files:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb") as file:
                    if b"GOLD-SENTINEL" in file.read(1 << 20) and path != __file__:
                        seen.append(path)
            except OSError:
                continue
    seen += [name for name in ("evaluation", "task/evaluator.py", "task/lib", "task/shared")
             if os.path.exists("/attempt/" + name)]
    seen += [value for value in os.environ.values() if "GOLD-SENTINEL" in value]
    seen += [name for name in os.listdir("/sys/class/net") if name != "lo"]
    (ctx.artifacts / "answer.txt").write_text("\\n".join(seen) or "42")
    ctx.publish("answer", ctx.artifacts / "answer.txt")
"""


def test_one_that_looks_for_gold_or_a_network_finds_none(tmp_path):
    files = {
        "evaluation/gold.txt": "GOLD-SENTINEL",
        "lib/helper.py": "# GOLD-SENTINEL",
        "solution/artifacts/answer.txt": "GOLD-SENTINEL",
        "solution-wrong/x/artifacts/answer.txt": "GOLD-SENTINEL",
    }
    made = produced(tmp_path, LOOKS, files=files)
    assert made.result["metrics"]["found"] == "42"
    assert made.result["metrics"]["gold"] == "GOLD-SENTINEL"


@pytest.mark.parametrize(
    ("make", "why"),
    [
        ("os.symlink('/etc/passwd', path)", "no regular file"),
        ("os.mkfifo(path)", "no regular file"),
        ("os.mkdir(path); open(path / 'y', 'w')", "is one file, and a folder was published"),
        ("open(path, 'w').write('x' * 2000)", "more than the 1000 bytes"),
        ("open(path, 'w'); name = 'other'", "'other' is no artifact of this task"),
    ],
)
def test_what_no_submission_may_be_is_not_published_either(tmp_path, make, why):
    run = f"""
    import os
    def run(ctx):
        path, name = ctx.artifacts / "x", "answer"
        {make}
        try:
            ctx.publish(name, path)
        except Exception as error:
            print(type(error).__name__, error)
    """
    artifacts = {"publishable": [{"id": "answer", "path": "artifacts/answer.txt", "max_bytes": 1000}]}
    made = produced(tmp_path, run, spec={"artifacts": artifacts})
    assert made.result["metrics"]["found"] is None
    assert why in made.log("run.log")


def test_a_tree_crosses_with_its_bytes_names_and_execute_bits(tmp_path):
    run = """
    import os
    async def run(ctx):
        top = os.fsencode(ctx.artifacts / "made")
        os.makedirs(top + b"/a/empty")
        made = ((b"a/\\xff.bin", bytes(range(256)) * 40_000), (b"tool", b"#!/bin/sh"), (b"none", b""))
        for name, data in made:
            with open(top + b"/" + name, "wb") as file:
                file.write(data)
        os.chmod(top + b"/tool", 0o755)
        await ctx.publish("made", ctx.artifacts / "made")
        os.remove(top + b"/none")
        await ctx.publish("made", ctx.artifacts / "made")
    """
    look = """
    import hashlib, os
    def evaluate(inputs):
        top = os.fsencode(inputs["artifacts"]["made"])
        rows = []
        for folder, folders, files in os.walk(top):
            rows += [os.path.relpath(folder, top).decode("latin-1") + "/" for _ in [0] if not folders + files]
            for name in files:
                path = os.path.join(folder, name)
                data = open(path, "rb").read()
                name, digest = os.path.relpath(path, top).decode("latin-1"), hashlib.sha256(data).hexdigest()
                rows.append([name, digest[:8], len(data), os.access(path, os.X_OK)])
        return {"status": "PASS", "metrics": {"rows": sorted(map(str, rows))}}
    """
    artifacts = {"publishable": [{"id": "made", "path": "artifacts/made", "kind": "tree"}]}
    made = produced(tmp_path, run, evaluator=look, spec={"artifacts": artifacts})
    assert made.result["status"] == "PASS", (made.result["error"], made.log("run.log"))
    # sha256 of bytes(range(256)) * 40_000 and of b"#!/bin/sh", by sha256sum
    assert made.result["metrics"]["rows"] == [
        "['a/\xff.bin', '19d6d9fa', 10240000, False]",
        "['tool', '3af71adb', 9, True]",
        "a/empty/",
    ]


def test_it_has_the_network_that_the_profile_names_and_scoring_has_none(tmp_path):
    run = """
    import os
    def run(ctx):
        (ctx.artifacts / "answer.txt").write_text(" ".join(sorted(os.listdir("/sys/class/net"))))
        ctx.publish("answer", ctx.artifacts / "answer.txt")
    """
    look = """
    import os
    def evaluate(inputs):
        found = [open(inputs["artifacts"]["answer"]).read(), *os.listdir("/sys/class/net")]
        return {"status": "PASS", "metrics": {"found": found}}
    """
    spec = {"profile": {"run_host": {"network": "bridge"}}}
    made = produced(tmp_path, run, evaluator=look, spec=spec)
    assert made.result["metrics"]["found"] == ["eth0 lo", "lo"]


@pytest.fixture
def own_label(job_id):
    """A label of an image that goes again."""
    label = f"scorehost.test={job_id}"
    yield label
    listing = ["docker", "image", "ls", "-q", "--filter", f"label={label}"]
    found = subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["docker", "rmi", "-f", *found], capture_output=True, check=True)


def test_its_image_is_that_of_its_own_recipe(tmp_path, own_label):
    run = """
    def run(ctx):
        ctx.publish("answer", "/etc/of-the-recipe")
    """
    recipe = f"FROM scorehost/python:3\nLABEL {own_label}\nRUN printf 42 > /etc/of-the-recipe\n"
    made = produced(tmp_path, run, files={"environment/Dockerfile": recipe})
    assert made.result["status"] == "PASS", made.result["error"]
    ran, evaluator = made.result["hosts"]
    assert ran["image_id"] != evaluator["image_id"]


def test_an_agents_fault_that_is_not_caught_is_no_score(tmp_path):
    run = """
    async def run(ctx):
        (ctx.artifacts / "answer.txt").write_text("42")
        await ctx.publish("answer", ctx.artifacts / "answer.txt")
        async with ctx.session("solver") as session:
            await session.invoke("?")
    """
    made = produced(tmp_path, run, roles={"solver": ("sys.exit(3)", {})})
    error = made.result["error"]
    assert (error["kind"], error["blame"], error["phase"]) == ("adapter_exit", "adapter", "run")
    assert [host["name"] for host in made.result["hosts"]] == ["run"]


def test_a_dead_run_phase_is_gone_before_any_scoring_host_is_there(tmp_path):
    root = write_job(
        tmp_path, EVALUATE, {"solver": SOLVER}, files={"run.py": "def run(ctx):\n    pass\n"}, limits=LIMITS
    )
    outcome = job(root, run=True)
    made = only(outcome)
    run, evaluator = made.result["hosts"]
    assert run["started_at"] < evaluator["started_at"]

    async def left():
        async with open_engine() as engine:
            return await engine.list_containers({"scorehost.job": outcome.job_id})

    assert anyio.run(left) == []


def test_samples_are_runs_of_their_own_and_tasks_without_a_run_phase_are_left_out(tmp_path):
    run = """
    def run(ctx):
        (ctx.artifacts / "answer.txt").write_text("42" if ctx.task["sample"] == 2 else "41")
        ctx.publish("answer", ctx.artifacts / "answer.txt")
    """
    root = write_job(tmp_path, EVALUATE, {"solver": SOLVER}, files={"run.py": run}, limits=LIMITS)
    outcome = job(root, run=True, samples=2)
    assert [(row.key.sample, row.status) for row in outcome.rows] == [(1, "FAIL"), (2, "PASS")]

"""`evaluate_host.isolated: false`: scored in the run phase's container, in which nothing of it is alive."""

from __future__ import annotations

import json
import textwrap

import pytest
from agent_jobs import job, only, write_job

from scorehost.errors import UsageError
from trial import IMAGE

pytestmark = pytest.mark.docker

SPEC = {
    "limits": {"memory_mb": 64, "wall_time_seconds": 20, "evaluate_seconds": 60},
    "evaluation": {"tmpfs_mb": 16, "docker_image": IMAGE},
}
RUN = """
import socket
def run(ctx):
    with open("/attempt/.scorehost/runner.py") as runner:
        assert runner.read(1)
    (ctx.artifacts / "answer.txt").write_text(socket.gethostname())
    ctx.publish("answer", ctx.artifacts / "answer.txt")
"""
# The name of a host is its container's id: one container, one name.
SAME = """
import os, socket
def evaluate(inputs):
    path = inputs["artifacts"]["answer"]
    gold = open(inputs["evaluation_dir"] + "/gold.txt").read()
    same = open(path).read() == socket.gethostname()
    metrics = {"gold": gold, "path": path, "link": os.path.islink("/attempt/artifacts"), "same": same}
    return {"status": "PASS" if same and gold == "gold" else "FAIL", "metrics": metrics}
"""


def shared(tmp_path, run, evaluator, *, spec=None, allowed=True, handed_in=None, **profile):
    root = write_job(
        tmp_path,
        textwrap.dedent(evaluator),
        {},
        files={"run.py": run},
        profile={"evaluate_host": {"isolated": False}, "run_host": {"tmpfs_mb": 16}, **profile},
        **{**SPEC, **(spec or {})},
    )
    if handed_in is not None:
        return only(job(root, {"artifacts/answer.txt": handed_in}, allow_shared_host=allowed))
    return only(job(root, run=True, allow_shared_host=allowed))


def test_it_is_scored_in_the_container_that_made_it_and_the_result_says_so(tmp_path):
    made = shared(tmp_path, RUN, SAME)
    result = made.result
    assert result["status"] == "PASS", (result, made.log("run.log"), made.log("evaluator.log"))
    assert result["metrics"] == {
        "gold": "gold",
        "path": "/attempt/artifacts/answer.txt",
        "link": False,
        "same": True,
    }
    assert [host["name"] for host in result["hosts"]] == ["run", "evaluator"]
    assert [host["ended"] for host in result["hosts"]] == ["removed", "removed"]
    assert result["hosts"][0]["image_id"] == result["hosts"][1]["image_id"]
    assert any(warning.startswith("not isolated: ") for warning in result["warnings"])
    assert made.outcome.summary["shared_host"] is True


def test_without_the_option_nothing_starts(tmp_path):
    with pytest.raises(UsageError, match=r"evaluate_host\.isolated: false .* not isolated") as caught:
        shared(tmp_path, RUN, SAME, allowed=False)
    assert "--allow-shared-host" in caught.value.hint
    assert not list((tmp_path / "runs").glob("*/attempts"))


def test_what_is_handed_in_is_scored_in_a_host_of_its_own_and_needs_no_option(tmp_path):
    evaluator = """
    def evaluate(inputs):
        return {"status": "PASS" if open(inputs["artifacts"]["answer"]).read() == "42" else "FAIL"}
    """
    made = shared(tmp_path, RUN, evaluator, allowed=False, handed_in="42")
    assert made.result["status"] == "PASS"
    assert [host["name"] for host in made.result["hosts"]] == ["evaluator"]
    assert not any("not isolated" in warning for warning in made.result["warnings"])
    assert made.outcome.summary["shared_host"] is False


def test_a_run_phase_that_a_limit_ended_is_scored_there_too_and_execs_read_what_it_made(tmp_path):
    run = RUN.replace("def run", "import time\ndef run") + "    time.sleep(100)\n"
    evaluator = """
    def evaluate(inputs):
        scoring = inputs["scoring"]
        read = scoring.exec(None, ["cat", inputs["artifacts"]["answer"]])
        wrote = scoring.exec(None, ["touch", "/attempt/artifacts/x"])
        good = read.exit_code == 0 and len(read.stdout) > 0 and wrote.exit_code != 0
        return {"status": "PASS" if good else "FAIL"}
    """
    made = shared(tmp_path, run, evaluator, spec={"limits": {**SPEC["limits"], "wall_time_seconds": 2}})
    assert (made.result["status"], made.result["limit"]) == ("PASS", "wall_time_seconds"), made.result
    assert [host["ended"] for host in made.result["hosts"]] == ["timed_out", "removed"]


DAEMON = """
import os, subprocess, sys, time
CODE = '''
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
while True:
    for place in ("/tmp", "/dev/shm", "/attempt/workspace", "/attempt/artifacts", "/attempt/output"):
        try:
            open(place + "/daemon", "w").write("alive")
        except OSError:
            pass
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) not in (1, os.getpid(), os.getppid()) and int(name) > os.getpid():
            os.kill(int(name), 9)
    time.sleep(0.01)
'''
def run(ctx):
    seen = [name for name in ("/attempt/evaluation", "/attempt/task/evaluator.py") if os.path.exists(name)]
    (ctx.artifacts / "answer.txt").write_text(repr(seen))
    ctx.publish("answer", ctx.artifacts / "answer.txt")
    os.symlink("/attempt/evaluation/gold.txt", "/tmp/trap")
    subprocess.Popen([sys.executable, "-c", CODE], start_new_session=True)
    while not os.path.exists("/tmp/daemon"):
        time.sleep(0.01)
"""
SEES = """
import os, time
NAMES = "workspace", "artifacts", "output", ".own/artifacts"
def evaluate(inputs):
    time.sleep(1)
    found = {}
    for place in ("/tmp", "/dev/shm", *("/attempt/" + name for name in NAMES)):
        found[place] = sorted(os.listdir(place)) if os.access(place, os.R_OK) else "shut"
    lines = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            lines.append(open(f"/proc/{name}/cmdline").read())
    run_saw = open(inputs["artifacts"]["answer"]).read()
    metrics = {"found": found, "alive": sum("daemon" in line for line in lines), "run_saw": run_saw,
               "processes": len(lines)}
    return {"status": "PASS", "metrics": metrics}
"""


def test_a_daemon_of_the_run_phase_and_what_it_wrote_are_gone_when_gold_comes(tmp_path):
    made = shared(tmp_path, DAEMON, SEES)
    assert made.result["status"] == "PASS", (made.result, made.log("run.log"), made.log("evaluator.log"))
    metrics = made.result["metrics"]
    assert metrics["run_saw"] == "[]"  # neither gold nor evaluator were there
    assert metrics["alive"] == 0
    assert metrics["processes"] == 3  # the engine's init, the keeper, the evaluator
    assert metrics["found"] == {
        "/tmp": [],
        "/dev/shm": [],
        "/attempt/workspace": [],
        "/attempt/artifacts": ["answer.txt"],
        "/attempt/output": [],
        "/attempt/.own/artifacts": [],
    }


GREEDY = """
import os
def run(ctx):
    (ctx.artifacts / "answer.txt").write_text("42")
    ctx.publish("answer", ctx.artifacts / "answer.txt")
    while True:
        hold = bytearray(1 << 30)
        hold[::4096] = b"x" * len(hold[::4096])
"""
DIES = """
import os
def evaluate(inputs):
    os.kill(os.getpid(), 9)
"""


def test_memory_and_kills_of_the_run_phase_are_not_taken_for_the_evaluators(tmp_path):
    made = shared(tmp_path, GREEDY, DIES)
    assert [host["ended"] for host in made.result["hosts"]] == ["oom", "removed"]
    # Neither evaluator_oom (the run phase was) nor host_lost (scorehost itself killed the container).
    assert (made.kind, made.result["error"]["blame"]) == ("evaluator_exit", "dataset")
    assert "42" in (made.folder / "artifacts/answer.txt").read_text()


def test_the_evaluators_own_memory_trouble_is_still_seen(tmp_path):
    evaluator = """
    def evaluate(inputs):
        hold = bytearray(1 << 30)
        hold[::4096] = b"x" * len(hold[::4096])
    """
    made = shared(tmp_path, RUN, evaluator)
    assert made.kind == "evaluator_oom"


def test_the_task_code_is_there_whole_and_the_run_phase_could_change_none_of_it(tmp_path):
    run = """
    import os
    def run(ctx):
        tried = []
        for path in ("/attempt/task/x.py", "/attempt/.scorehost/runner.py", "/attempt/x"):
            try:
                open(path, "a").close()
                tried.append(path)
            except OSError:
                pass
        (ctx.artifacts / "answer.txt").write_text(repr(tried))
        ctx.publish("answer", ctx.artifacts / "answer.txt")
    """
    evaluator = """
    import os
    def evaluate(inputs):
        code = sorted(os.listdir("/attempt/task"))
        metrics = {"tried": open(inputs["artifacts"]["answer"]).read(), "code": code}
        return {"status": "PASS", "metrics": metrics}
    """
    made = shared(tmp_path, textwrap.dedent(run), evaluator)
    assert made.result["status"] == "PASS", (made.result, made.log("run.log"))
    assert made.result["metrics"]["tried"] == "[]"
    assert {"run.py", "evaluator.py"} <= set(made.result["metrics"]["code"])
    assert json.loads((made.folder / "result.json").read_text())["limit"] is None

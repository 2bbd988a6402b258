"""Evaluators' hosts whose files came over the channel: as closed as those that were uploaded to."""

from __future__ import annotations

import pytest

from reports.memory_runner import memory_engine, scored_on
from scorehost.engine.memory_runner import MemoryRunner
from scorehost.engine.opening import open_engine
from trial import score_one, write_submission, write_task

pytestmark = pytest.mark.anyio

SMALL, LARGE = b"gold", b"gold" * (1 << 19)  # 2 MiB are uploaded


async def test_a_small_attempt_needs_no_upload_and_no_volume(tmp_path, job_id):
    root = write_task(tmp_path / "d", "", gold={"gold.txt": SMALL})
    async with memory_engine() as engine:
        scored = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
        assert (scored.result.status, engine.calls["create"], engine.calls["upload"]) == ("PASS", 1, 0)


@pytest.mark.parametrize(
    ("gold", "spec"),
    [
        (LARGE, {}),
        (SMALL, {"artifacts": {"publishable": [{"id": "a", "path": "artifacts", "kind": "tree"}]}}),
    ],
)
async def test_large_cargo_and_folders_of_a_submission_are_uploaded(tmp_path, job_id, gold, spec):
    root = write_task(tmp_path / "d", "", gold={"gold.txt": gold}, **spec)
    async with memory_engine() as engine:
        scored = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
        assert (scored.result.status, engine.calls["upload"]) == ("PASS", 1)


async def speaks_with_another_key(context):
    runner = MemoryRunner(context)
    runner.start["key"] = "00" * 16
    await runner.say({"kind": "hello", "python": "3.11.2", "trees": {}, "dumpable": False})
    return 0


async def prints_before_it_speaks(context):
    await context.write(b"welcome to this image\n")
    return 0


async def greets_and_breaks_the_rules_in_one_breath(context):
    said = []
    real, context.write = context.write, lambda data: _kept(said, data)
    await MemoryRunner.greeted(context)
    await real(b"".join(said) + b"\xff" * 100)
    return 0


async def _kept(said, data):
    said.append(data)


@pytest.mark.parametrize(
    ("runner", "kind", "blame"),
    [
        (speaks_with_another_key, "upload_damaged", "engine"),
        (prints_before_it_speaks, "image_unusable", "environment"),
        (greets_and_breaks_the_rules_in_one_breath, "channel_violation", "dataset"),
    ],
)
async def test_only_what_goes_wrong_before_the_runner_greets_is_no_fault_of_the_dataset(
    tmp_path, job_id, runner, kind, blame
):
    root = write_task(tmp_path / "d", "", gold={"gold.txt": SMALL})
    async with memory_engine(runner) as engine:
        made = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
    assert (made.kind, made.result.error.blame.value) == (kind, blame), made.result.error


async def test_the_files_of_an_evaluator_that_starts_programs_need_no_upload_either(tmp_path, job_id):
    root = write_task(tmp_path / "d", "import subprocess\n", gold={"gold.txt": SMALL})
    async with memory_engine() as engine:
        scored = await scored_on(engine, root, write_submission(tmp_path / "s"), tmp_path / "runs", job_id)
        assert (scored.result.status, engine.calls["upload"]) == ("PASS", 0)


async def scored(tmp_path, job_id, evaluator, gold=SMALL, **spec):
    root = write_task(tmp_path / "d", evaluator, gold={"gold.txt": gold, "inner/more.txt": b"more"}, **spec)
    async with open_engine() as engine:
        return await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")


CLOSED = """
import os
import subprocess as programs
PROBE = '''
import errno, os
def tried(do):
    try: do()
    except OSError as error: return errno.errorcode[error.errno]
    return "worked"
root = "/attempt/"
print({
    "append": tried(lambda: open(root + "evaluation/gold.txt", "a")),
    "artifact": tried(lambda: open(root + "artifacts/answer.txt", "r+")),
    "plant": tried(lambda: open(root + "evaluation/planted", "x")),
    "module": tried(lambda: open(root + "task/json.py", "x")),
    "folder": tried(lambda: os.mkdir(root + "artifacts/f")),
    "beside": tried(lambda: os.mkdir(root + "f")),
    "link": tried(lambda: os.symlink("/", root + "evaluation/inner/l")),
} , sorted(os.listdir(root + "evaluation")), oct(os.stat(root + "evaluation").st_mode))
'''
def evaluate(inputs):
    own = programs.run(["python3", "-c", PROBE], capture_output=True, text=True)
    other = inputs["scoring"].exec(None, ["python3", "-c", PROBE])
    seen = {"own": own.stdout + own.stderr, "exec": other.stdout + other.stderr}
    return {"status": "PASS", "metrics": seen}
"""


@pytest.mark.docker
@pytest.mark.parametrize("gold", [SMALL, LARGE], ids=["fed", "uploaded"])
async def test_neither_the_evaluator_nor_an_exec_can_write_where_its_files_lie(tmp_path, job_id, gold):
    made = await scored(tmp_path, job_id, CLOSED, gold)
    assert made.result.status == "PASS", (made.result.error, made.log)
    for who, seen in made.result.metrics.items():
        assert "worked" not in seen, (who, seen)
        assert "Error" not in seen, (who, seen)
        assert "['gold.txt', 'inner'] 0o40755" in seen, (who, seen)


COPIES = """
import pathlib, shutil
def evaluate(inputs):
    ours = pathlib.Path("/tmp/ours")
    shutil.copytree("/attempt/evaluation", ours)
    (ours / "new.txt").write_text("ours")
    (ours / "inner" / "new.txt").write_text("ours")
    run = inputs["scoring"].exec(
        None, ["sh", "-ec", "cp -r /attempt/artifacts /tmp/theirs && echo theirs > /tmp/theirs/new.txt"]
    )
    return {"status": "PASS" if run.ok else "FAIL", "metrics": {"said": run.stderr}}
"""


@pytest.mark.docker
@pytest.mark.parametrize("gold", [SMALL, LARGE], ids=["fed", "uploaded"])
async def test_a_copy_of_a_folder_takes_new_files_whatever_its_size(tmp_path, job_id, gold):
    made = await scored(tmp_path, job_id, COPIES, gold)
    assert (made.result.status, made.result.metrics) == ("PASS", {"said": ""}), made.log


FORGES = """
import os
def evaluate(inputs):
    path = "/attempt/evaluation/gold.txt"
    os.chmod(path, 0o644)
    open(path, "w").write("forged")
    open(path, "w").write("gold")
    os.chmod(path, 0o444)
    return {"status": "PASS"}
"""


@pytest.mark.docker
async def test_a_result_after_a_change_of_the_gold_does_not_count_though_it_was_changed_back(
    tmp_path, job_id
):
    made = await scored(tmp_path, job_id, FORGES)
    assert (made.result.status, made.kind) == ("ERROR", "changed_input")
    assert "/attempt/evaluation" in made.result.error.message


BLINDS = """
import os, sys
import subprocess as programs
CHILD = '''
import os, resource
path = "/attempt/evaluation/gold.txt"
os.chmod(path, 0o644)
open(path, "w").write("forged")
resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))
'''
def evaluate(inputs):
    child = programs.Popen([sys.executable, "-c", CHILD])
    assert child.wait() == 0
    return {"status": "PASS"}
"""


@pytest.mark.docker
async def test_a_child_of_the_evaluator_cannot_hide_a_change_by_taking_away_the_runners_descriptors(
    tmp_path, job_id
):
    made = await scored(tmp_path, job_id, BLINDS)
    assert (made.result.status, made.kind) == ("ERROR", "changed_input"), made.log
    assert "/attempt/evaluation" in made.result.error.message


WRITES = """
import os
def evaluate(inputs):
    os.rmdir("/attempt/.full/0")
    open("/attempt/.full/kept", "w").write("beside the output")
    return {"status": "PASS"}
"""


@pytest.mark.docker
async def test_what_is_written_beside_the_output_does_not_go_unseen(tmp_path, job_id):
    made = await scored(tmp_path, job_id, WRITES)
    assert (made.result.status, made.kind) == ("ERROR", "changed_input"), made.log
    assert "/attempt in the evaluator's host" in made.result.error.message


WALKS = """
def evaluate(inputs):
    script = "find /attempt > /dev/null && cp -r /attempt /tmp/all"
    walked = inputs["scoring"].exec(None, ["sh", "-c", script])
    return {"status": "PASS" if walked.ok else "FAIL", "metrics": {"said": walked.stderr}}
"""


@pytest.mark.docker
@pytest.mark.parametrize("gold", [SMALL, LARGE], ids=["fed", "uploaded"])
async def test_an_exec_meets_nothing_that_it_may_not_read(tmp_path, job_id, gold):
    made = await scored(tmp_path, job_id, WALKS, gold)
    assert (made.result.status, made.result.metrics) == ("PASS", {"said": ""}), made.log


@pytest.mark.docker
async def test_what_is_written_into_a_closed_folder_is_no_lack_of_scratch_space(tmp_path, job_id):
    evaluator = "def evaluate(inputs):\n    open('/attempt/artifacts/out.txt', 'w')\n"
    made = await scored(tmp_path, job_id, evaluator)
    assert made.kind == "evaluator_exception"
    full = "def evaluate(inputs):\n    open('/tmp/x', 'wb').write(b'x' * (64 << 20))\n"
    other = await scored(tmp_path / "2", job_id, full)
    assert other.kind == "scratch_full"


ODD = """
import json, os, sys
import multiprocessing as processes
def child(queue):
    queue.put(sys.argv)
def evaluate(inputs):
    context = processes.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    seen = queue.get(timeout=20)
    process.join()
    from lib import helper
    return {"status": "PASS", "metrics": {
        "argv": sys.argv, "main": sys.modules["__main__"].__file__, "bytecode": sys.dont_write_bytecode,
        "path": sys.path[:2], "spawned": len(seen), "helper": helper.VALUE,
        "stdin": os.read(0, 10).decode(), "cwd": os.getcwd(),
    }}
"""


@pytest.mark.docker
@pytest.mark.parametrize("gold", [SMALL, LARGE], ids=["fed", "uploaded"])
async def test_an_evaluator_sees_the_same_process_whichever_way_its_files_came(tmp_path, job_id, gold):
    root = write_task(tmp_path / "d", ODD, gold={"gold.txt": gold})
    (root / "tasks" / "t" / "lib").mkdir()
    (root / "tasks" / "t" / "lib" / "helper.py").write_text("VALUE = 7\n")
    async with open_engine() as engine:
        made = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert made.result.status == "PASS", (made.result.error, made.log)
    assert made.result.metrics == {
        "argv": ["/attempt/.scorehost/runner.py"],
        "main": "/attempt/.scorehost/runner.py",
        "bytecode": False,
        "path": ["/attempt/.scorehost", "/attempt/task"],
        "spawned": 1,
        "helper": 7,
        "stdin": "",
        "cwd": "/attempt",
    }

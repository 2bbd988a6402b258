"""The command line as a person meets it: what it says, where, and with which exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rows import outcome, row

import scorehost.api
from scorehost.cli.root import COMMANDS, LATER, root

HEAVY = {"docker", "pydantic", "rich", "structlog", "yaml", "requests", "anyio"}


def call(*args):
    return CliRunner().invoke(root, [str(arg) for arg in args], prog_name="scorehost")


@pytest.fixture
def dataset(tmp_path):
    folder = tmp_path / "data"
    assert call("init", folder).exit_code == 0
    return folder


@pytest.fixture
def ran(monkeypatch):
    """Replaces the running of a job; gives the options that it was asked with, and takes its outcome."""
    seen = {"outcome": outcome([row()])}

    async def run(asked, running, watch):
        seen.update(asked=asked, running=running)
        return seen["outcome"]

    monkeypatch.setattr(scorehost.api, "run", run, raising=False)
    return seen


def modules_after(*args):
    """The modules that are loaded when the command line is through with `args`."""
    code = (
        "import sys\n"
        "from scorehost.cli import main\n"
        f"sys.argv = ['scorehost', *{list(args)!r}]\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0, end.code\n"
        "print(*sys.modules, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("import", "--help")])
def test_help_loads_nothing_heavy(args):
    assert not HEAVY & modules_after(*args)


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_help_of_a_command_loads_no_engine_no_models_and_no_display(command):
    assert not (HEAVY - {"anyio"}) & modules_after(command, "--help")


def test_help_names_the_commands_that_are_there_and_none_of_later_versions():
    text = call("--help").output
    for name in COMMANDS:
        assert f"  {name} " in text
    for name in LATER:
        assert f"  {name} " not in text


@pytest.mark.parametrize("name", sorted(LATER))
def test_a_command_of_a_later_version_says_not_yet(name):
    result = call(name, "x")
    assert result.exit_code == 2
    assert "not yet" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "args",
    [
        ("run", "--lock"),
    ],
)
def test_an_option_of_a_later_version_is_refused_and_never_ignored(args, ran):
    result = call(*args)
    assert result.exit_code == 2
    assert f"{args[1]}: not yet" in result.stderr
    assert "asked" not in ran


def test_scoring_in_the_run_phases_container_is_allowed_by_its_option_alone(ran):
    assert call("run").exit_code == 0
    assert ran["running"].allow_shared_host is False
    assert call("run", "--allow-shared-host").exit_code == 0
    assert ran["running"].allow_shared_host is True


def test_an_unknown_command_or_option_is_a_usage_error():
    assert call("nosuch").exit_code == 2
    assert call("run", "--nosuch").exit_code == 2


def test_set_takes_strict_json_and_else_text(ran):
    pairs = ["a=1", "b=true", 'c={"x": [1.5, null]}', "d=hello world", "e=", "f=k=v", 'g="1"', "h=[INST] go"]
    result = call("run", *(word for pair in pairs for word in ("--set", pair)))
    assert result.exit_code == 0, result.output
    assert ran["asked"].parameters == {
        "a": 1,
        "b": True,
        "c": {"x": [1.5, None]},
        "d": "hello world",
        "e": "",
        "f": "k=v",
        "g": "1",
        "h": "[INST] go",
    }


@pytest.mark.parametrize("pair", ["novalue", "=1", " =1", "a=NaN", 'a={"x": 1, "x": 2}', "a=-Infinity"])
def test_a_set_that_is_neither_is_refused(pair, ran):
    result = call("run", "--set", pair)
    assert result.exit_code == 2
    assert "--set" in result.stderr
    assert "asked" not in ran


def test_a_key_that_is_set_twice_is_refused(ran):
    result = call("run", "--set", "a=1", "--set", "a=2")
    assert result.exit_code == 2
    assert "twice" in result.stderr


def test_every_option_of_run_reaches_the_job(ran, tmp_path):
    folder, file = tmp_path / "d", tmp_path / "f"
    folder.mkdir()
    file.write_text("")
    words = f"""{folder} --task a --task b* --tag t --limit 3 --submission solution --submission n=p
        --submissions {folder} --predictions {file} --repeat 2 --samples 4 --concurrency 5 --profiles {file}
        --gold {folder} --out {folder} --name label --retry-errors 1
        --fail-fast --exit-on error --fail-under 0.5 --allow-unenforced --private"""
    result = call("run", *words.split())
    assert result.exit_code == 0, result.output
    asked, running = ran["asked"], ran["running"]
    assert (asked.dataset, asked.tasks, asked.tags, asked.limit) == (folder, ("a", "b*"), ("t",), 3)
    assert (asked.submissions, asked.submissions_dir) == (("solution", "n=p"), folder)
    assert (asked.predictions, asked.repeat, asked.samples, running.concurrency) == (file, 2, 4, 5)
    assert (asked.profiles, asked.gold, running.out, asked.name) == (file, folder, folder, "label")
    assert running.retry_errors == 1
    assert (running.fail_fast, running.exit_on, running.fail_under) == (True, "error", 0.5)
    assert (running.allow_unenforced, running.private) == (True, True)


def test_a_resume_names_its_job_and_what_to_run_again(ran, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("run", "--resume", "latest", "--rerun", "error:host_lost").exit_code == 0
    asked, running = ran["asked"], ran["running"]
    assert (running.resume, running.rerun, asked.dataset) == ("latest", "error:host_lost", Path())
    # A dataset that was typed is told from none, also the folder that one is in.
    assert call("run", ".", "--resume", "latest").exit_code == 0
    assert ran["asked"].dataset == tmp_path


def test_a_typed_repeat_is_refused_beside_resume_whatever_it_says(ran):
    result = call("run", "--resume", "latest", "--repeat", "1")
    assert result.exit_code == 2
    assert "--repeat cannot go with --resume" in result.stderr
    assert "asked" not in ran


@pytest.mark.parametrize("status", [0, 1, 2, 3, 130])
def test_the_exit_status_is_that_of_the_job(ran, status):
    ran["outcome"] = outcome([row()], exit_status=status)
    assert call("run").exit_code == status


def test_json_is_one_document_on_stdout_and_nothing_else(ran):
    ran["outcome"] = outcome([row(), row("t2", "ERROR", reason="x")], exit_status=3, summary={"planned": 2})
    result = call("run", "--json")
    document = json.loads(result.stdout)
    assert result.exit_code == 3
    assert document["exit_status"] == 3
    assert document["summary"] == {"planned": 2}
    assert [attempt["status"] for attempt in document["attempts"]] == ["PASS", "ERROR"]
    assert document["attempts"][1]["error"]["kind"] == "evaluator_timeout"
    assert document["attempts"][1]["score"] is None


def failed(*words):
    """The document of a command that must fail, and its exit status."""
    result = call(*words)
    document = json.loads(result.stdout)
    assert document["exit_status"] == result.exit_code
    assert result.stderr
    return document["problems"], result.exit_code


def test_json_is_one_document_too_when_files_are_wrong(tmp_path):
    (tmp_path / "dataset.yaml").write_text("format: scorehost.dataset/1\ndataset_id: d\nnosuch: 1\n")
    problems, status = failed("run", str(tmp_path), "--submission", "solution", "--json")
    assert status == 2
    file = str(tmp_path / "dataset.yaml")
    assert {"path": file, "line": 3, "column": 1, "key": "nosuch"}.items() <= next(
        row.items() for row in problems if row["key"] == "nosuch"
    )


def test_json_is_one_document_too_when_the_engine_or_a_word_is_wrong(ran, monkeypatch):
    async def run(_asked, _running, watch):
        raise scorehost.errors.EngineUnreachable("Nothing listens.", hint="Start it.")

    monkeypatch.setattr(scorehost.api, "run", run)
    row = {"path": "", "line": 0, "column": 0, "key": ""}
    assert failed("run", "--json") == ([{**row, "text": "Nothing listens.", "hint": "Start it."}], 2)
    problems, status = failed("run", "--repeat", "none", "--json")
    assert status == 2
    assert "'none' is not a valid integer range" in problems[0]["text"]
    problems, status = failed("--nosuch", "run", "--json")
    assert status == 2
    assert "--nosuch" in problems[0]["text"]


def test_without_json_nothing_is_said_on_stdout_when_nothing_ran(ran):
    assert call("run", "--repeat", "none").stdout == ""
    assert call("run", "--repeat", "none", "--", "--json").stdout == ""


def test_the_table_ends_with_the_folder_and_the_root_hash(ran):
    lines = call("run").stdout.splitlines()
    assert lines[0].split() == ["task", "submission", "sample", "status", "score", "seconds", "reason"]
    assert lines[-2].startswith("job        runs/20261130-074512-7f3a")
    assert lines[-1] == "root hash  sha256:" + "ab" * 32


def test_a_job_that_stopped_early_says_why(ran):
    ran["outcome"] = outcome(
        [], exit_status=2, status="incomplete", message="The engine went away.\nUse --resume."
    )
    result = call("run")
    assert "no attempt was scored" in result.stdout
    assert "The engine went away.\nUse --resume." in result.stdout


def test_an_error_of_ours_is_its_message_and_hint_without_a_traceback(ran, monkeypatch):
    async def run(_asked, _running, watch):
        raise scorehost.errors.EngineUnreachable("Nothing listens at x\x1b[2J.", hint="Start it.")

    monkeypatch.setattr(scorehost.api, "run", run)
    result = call("run")
    assert result.exit_code == 2
    assert result.stderr == "scorehost: Nothing listens at x\\x1b[2J.\n  Start it.\n"
    assert result.stdout == ""


def test_errors_of_ours_inside_a_group_are_told_the_same_way(ran, monkeypatch):
    async def run(_asked, _running, watch):
        raise ExceptionGroup(
            "g", [ExceptionGroup("h", [scorehost.errors.DiskFull("Full.", hint="Free it.")])]
        )

    monkeypatch.setattr(scorehost.api, "run", run)
    result = call("run")
    assert (result.exit_code, result.stderr) == (2, "scorehost: Full.\n  Free it.\n")


def test_an_unforeseen_exception_is_called_a_defect_and_its_traceback_goes_to_a_private_file(
    ran, monkeypatch, state_home
):
    async def run(_asked, _running, watch):
        raise ZeroDivisionError("gold is 42")

    monkeypatch.setattr(scorehost.api, "run", run)
    result = call("run")
    assert result.exit_code == 3
    assert "defect of scorehost" in result.stderr
    assert "gold is 42" not in result.stderr
    assert "Traceback" not in result.stderr
    (log,) = (state_home / "scorehost").iterdir()
    assert str(log) in result.stderr
    assert "ZeroDivisionError: gold is 42" in log.read_text()
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("args", [("--verbose", "run"), ("run", "-v")])
def test_verbose_shows_the_traceback_of_a_defect(ran, monkeypatch, args):
    async def run(_asked, _running, watch):
        raise ZeroDivisionError

    monkeypatch.setattr(scorehost.api, "run", run)
    assert "Traceback" in call(*args).stderr


def test_a_keyboard_interrupt_is_130_without_a_traceback(ran, monkeypatch):
    async def run(_asked, _running, watch):
        raise KeyboardInterrupt

    monkeypatch.setattr(scorehost.api, "run", run)
    result = call("run")
    assert result.exit_code == 130
    assert "Traceback" not in result.stderr


def test_init_writes_a_dataset_that_passes_check(dataset):
    result = call("check", dataset)
    assert result.exit_code == 0, result.output
    assert "count-words: 1 artifact, 1 gold file" in result.stdout
    assert result.stderr == ""


def test_init_refuses_a_folder_that_is_not_empty(tmp_path):
    (tmp_path / "mine").write_text("x")
    result = call("init", tmp_path)
    assert result.exit_code == 2
    assert "not empty" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_folder_without_a_dataset_says_so(command, tmp_path):
    result = call(command, tmp_path)
    assert result.exit_code == 2
    assert "dataset.yaml" in result.stderr
    assert "Traceback" not in result.stderr


def test_problems_of_files_come_one_a_line_with_their_place(dataset):
    task = dataset / "tasks" / "count-words" / "task.yaml"
    task.write_text(task.read_text().replace("memory_mb: 256", "memory_mb: true\n  nosuch: 1"))
    result = call("check", dataset)
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    assert sum("task.yaml:7:" in line and "memory_mb" in line for line in lines) == 1
    assert sum("task.yaml:8:" in line and "nosuch" in line for line in lines) == 1
    assert lines[-1] == "scorehost: 2 problems; nothing ran."


def test_force_without_a_job_is_refused():
    result = call("clean", "--force")
    assert result.exit_code == 2
    assert "--job" in result.stderr


def test_a_duration_that_is_none_is_refused():
    assert call("clean", "--older-than", "soon").exit_code == 2


def test_score_outside_of_a_dataset_says_so(tmp_path):
    result = call("score", tmp_path, tmp_path)
    assert result.exit_code == 2
    assert "there is no task.yaml here" in result.stderr


def program(*args, **more):
    words = [sys.executable, "-c", "from scorehost.cli import main; main()", *map(str, args)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


@pytest.mark.parametrize("module", ["click", "scorehost.cli.root", "scorehost.cli.check", "anyio"])
def test_ctrl_c_while_it_loads_is_130_without_a_traceback(module, tmp_path):
    code = (
        "import sys\n"
        "class CtrlC:\n"
        "    def find_spec(self, name, *rest):\n"
        f"        if name == {module!r}:\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, CtrlC())\n"
        "from scorehost.cli import main\n"
        f"sys.argv = ['scorehost', 'check', {str(tmp_path)!r}]\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


def test_a_reader_that_closes_the_pipe_early_is_no_error(dataset):
    process = program("check", dataset, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    process.stdout.close()
    said = process.stderr.read()
    assert "Traceback" not in said
    assert "BrokenPipe" not in said
    assert process.wait(timeout=20) == 0
    process.stderr.close()


def test_check_counts_its_warnings_beside_no_problem(dataset):
    assert call("check", dataset).stdout.endswith("1 task, no problem.\n")
    (dataset / "tasks/count-words/evaluation/none.txt").write_text("")
    told = call("check", dataset)
    assert told.exit_code == 0
    assert "warning: count-words: gold file none.txt is empty; see that" in told.stderr
    assert told.stdout.endswith("1 task, no problem, 1 warning.\n")

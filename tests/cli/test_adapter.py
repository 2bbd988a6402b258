"""`scorehost adapter test`: what it says of a sound adapter, and of each thing that may be wrong."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

RULE_JUDGE = Path(__file__).parents[2] / "examples/adapters/rule_judge.py"


MAIN = "from scorehost.cli import main; main()"


def call(*args):
    """Runs the command as a person does: in a process of its own."""
    words = [sys.executable, "-c", MAIN, "adapter", "test", *map(str, args)]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.fixture
def script(tmp_path):
    """Writes an adapter that answers every mode, with some fields changed."""

    def write(changes=""):
        path = tmp_path / "adapter.py"
        path.write_text(
            "import hashlib, json, os, sys\n"
            "request = json.loads(sys.stdin.readline())\n"
            "archive = request.get('plugin_archive')\n"
            "digest = hashlib.sha256(open(archive, 'rb').read()).hexdigest() if archive else None\n"
            "reply = {'request_id': os.urandom(8).hex(), 'provider': 'here', 'cache_hit': False,\n"
            "         'token_usage': {'input_tokens': 0, 'output_tokens': 0}, 'output': 'ready',\n"
            "         'loaded_plugin_sha256': digest, 'clean_control': archive is None,\n"
            "         'selected_skill': None, 'status': 'passed', 'reason': 'so it is'}\n"
            f"{changes}\nprint(json.dumps(reply))\n"
        )
        return path

    return write


def test_a_sound_adapter_is_ok_in_every_mode(script):
    done = call(sys.executable, script())
    assert [line.partition(": ok")[0] for line in done.stdout.splitlines()] == [
        "session",
        "session in a host",
        "behavior, control",
        "behavior, treatment",
        "trigger",
        "judge",
        "every reply is sound",
    ]
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ("reply['request_id'] = 'always the same'", "judge: adapter_duplicate_id: "),
        ("reply['cache_hit'] = True", "judge: adapter_cache_hit: "),
        ("del reply['provider']", "judge: adapter_provenance: `provider` must be text"),
        ("reply['status'] = 'ok'", "judge: adapter_malformed: `status` must be passed or failed"),
        ("sys.exit('no key')", "judge: adapter_exit: the adapter ended with status 1\n  stderr: no key\n"),
        ("print('hello')", "judge: adapter_malformed: stdout is not one JSON object"),
    ],
)
def test_what_is_wrong_is_said_and_ends_in_3(script, changes, says):
    done = call("--mode", "judge", "--mode", "session", sys.executable, script(changes))
    assert says in done.stdout
    assert done.returncode == 3


def test_only_the_modes_that_are_asked_for_are_sent():
    done = call("--mode", "judge", "/usr/bin/python3", RULE_JUDGE)
    assert done.returncode == 0
    assert done.stdout.startswith("judge: ok (")
    assert len(done.stdout.splitlines()) == 2


def test_a_variable_is_handed_on_and_an_unset_one_is_named(script, monkeypatch):
    monkeypatch.setenv("MY_KEY", "hush-hush-99")
    path = script("sys.stderr.write(os.environ['MY_KEY'])\nsys.exit(4)")
    done = call("--mode", "judge", "--pass-env", "MY_KEY", sys.executable, path)
    assert "stderr: [secret]" in done.stdout
    assert "hush" not in done.stdout
    done = call("--pass-env", "NO_SUCH_KEY", sys.executable, path)
    assert done.returncode == 2
    assert "NO_SUCH_KEY" in done.stderr


def test_a_command_that_is_not_there_is_told(tmp_path):
    done = call(tmp_path / "nothing")
    assert done.returncode == 2
    assert "the program is not there" in done.stderr


def test_an_adapter_that_hangs_ends_at_its_time_limit(script):
    done = call("--mode", "judge", "--timeout", "1", sys.executable, script("import time; time.sleep(600)"))
    assert "judge: adapter_timeout" in done.stdout

"""Where Python does not read names of files as UTF-8, nothing begins: it says so in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from trial import write_task

SCOREHOST = str(Path(sys.executable).with_name("scorehost"))
# No locale but C is sure to be there; its encoding is ASCII once Python's own help is turned off.
NARROW = {**os.environ, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "LC_ALL": "C"}
SENTENCE = "Python reads names of files as ascii here; scorehost needs UTF-8"
LIBRARY = """
import sys
from pathlib import Path
from scorehost.api import check
from scorehost.errors import UsageError
try: check(Path(sys.argv[1]))
except UsageError as error: print(error.message)
"""


def said(tmp_path, *words, environment=NARROW):
    return subprocess.run(words, capture_output=True, env=environment, cwd=tmp_path, timeout=60, check=False)


@pytest.mark.parametrize("words", [("run", "d", "--submission", "s"), ("check", "d"), ("doctor",)])
def test_a_command_says_in_one_sentence_which_encoding_is_needed(tmp_path, words):
    artifacts = {"publishable": [{"id": "answer", "path": "artifacts/\u7b54\u3048.json"}]}
    write_task(tmp_path / "d", "def evaluate(inputs): ...\n", artifacts=artifacts)
    done = said(tmp_path, SCOREHOST, *words)
    assert done.returncode == 2
    assert SENTENCE in done.stderr.decode()
    assert b"PYTHONUTF8=1" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_so_does_the_library(tmp_path):
    write_task(tmp_path / "d", "def evaluate(inputs): ...\n")
    assert SENTENCE in said(tmp_path, sys.executable, "-c", LIBRARY, "d").stdout.decode()


def test_a_utf8_locale_is_as_good_as_utf8_mode(tmp_path):
    write_task(tmp_path / "d", "def evaluate(inputs): ...\n")
    wide = {**NARROW, "LC_ALL": "C.UTF-8"}
    done = said(tmp_path, SCOREHOST, "check", "d", environment=wide)
    assert done.returncode == 0, done.stderr

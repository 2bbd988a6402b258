"""A docker test is never silently green where no engine answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.parametrize(("required", "status"), [("1", 1), ("", 0)])
def test_without_an_engine_a_docker_test_fails_or_says_why_it_is_left_out(tmp_path, required, status):
    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *(HERE / "test_contract.py", "-k", "info_names and docker"),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=HERE.parent.parent,
        env={
            **os.environ,
            "SCOREHOST_REQUIRE_DOCKER": required,
            "DOCKER_HOST": f"unix://{tmp_path}/none.sock",
        },
    )
    assert ended.returncode == status
    assert ("1 skipped" in ended.stdout) == (status == 0)
    assert "1 passed" not in ended.stdout
    assert "There is no Docker socket" in ended.stdout

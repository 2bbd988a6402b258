"""An image whose python3 lacks ctypes: its keeper's memory is open to all that the evaluator starts."""

from __future__ import annotations

import secrets
import subprocess

import pytest

from scorehost.engine.opening import open_engine
from trial import score_one, write_submission, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

RECIPE = "FROM scorehost/python:3\nUSER root\nRUN find / -xdev -name '_ctypes*.so' -delete\n"
EVALUATOR = """
import os
def evaluate(inputs):
    os.close(os.open(f"/proc/{os.getppid()}/mem", os.O_RDWR))
    return {"status": "PASS"}
"""


@pytest.fixture
def bare_image(tmp_path):
    """The tag of an image without ctypes, removed afterwards."""
    tag = f"scorehost-test/bare:{secrets.token_hex(8)}"
    (tmp_path / "image").mkdir()
    (tmp_path / "image/Dockerfile").write_text(RECIPE)
    subprocess.run(["docker", "build", "-q", "-t", tag, str(tmp_path / "image")], check=True)
    yield tag
    subprocess.run(["docker", "image", "rm", tag], check=True)


async def test_nothing_is_evaluated_where_the_keepers_memory_is_open(tmp_path, job_id, bare_image):
    root = write_task(tmp_path / "d", EVALUATOR, evaluation={"docker_image": bare_image})
    async with open_engine() as engine:
        made = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert made.kind == "image_unusable", (made.result.status, made.result.error, made.log)
    assert "has no ctypes" in made.result.error.message

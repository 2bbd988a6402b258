"""A disk that is soon full."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 5 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5m", "none", place], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no right to mount: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)

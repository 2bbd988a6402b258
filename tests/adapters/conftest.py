"""A bench for adapters, and the promise that no call leaves a folder behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from adapter_scripts import Bench


@pytest.fixture
def bench(tmp_path, monkeypatch):
    scripts, calls = tmp_path / "scripts", tmp_path / "calls"
    scripts.mkdir()
    calls.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(calls))
    yield Bench(scripts)
    assert list(Path(calls).iterdir()) == [], "folders of calls are left"

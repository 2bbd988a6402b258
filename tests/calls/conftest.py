"""A bench for adapters, and a record that is a dict."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from adapters.adapter_scripts import Bench


class Record:
    """A sink and a listener in memory. `files` by path, `events` in order of coming."""

    def __init__(self):
        self.files = {}
        self.events = []

    def write(self, path, data):
        assert path not in self.files, "a file of a record is written once"
        self.files[path] = data

    def emit(self, kind, fields):
        self.events.append((kind, fields))


@pytest.fixture
def record():
    return Record()


@pytest.fixture
def bench(tmp_path, monkeypatch):
    scripts, calls = tmp_path / "scripts", tmp_path / "calls"
    scripts.mkdir()
    calls.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(calls))
    yield Bench(scripts)
    assert list(Path(calls).iterdir()) == [], "folders of calls are left"

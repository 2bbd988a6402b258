"""The scripts of jobs are at hand here too, and one test runs for each kind of job."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "jobs"))

from table import TABLE


@pytest.fixture(params=sorted(TABLE))
def entry(request):
    return TABLE[request.param]


@pytest.fixture
def known(monkeypatch):
    """Every kind of the table is one that the API reads jobs of."""
    from scorehost.api import kinds  # noqa: PLC0415 - after the path is set

    monkeypatch.setitem(kinds.KINDS, "guess", ("guessing", "GuessKind"))

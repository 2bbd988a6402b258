"""The shipped reward loop runs as it stands, and its rewards are what the task's cases come to."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "examples/reward_loop/reward_loop.py"

# Of the task's eight cases: always counting is right in four, the unchanged text in three.
WANTED = {
    "right": "1.00",
    "right-by-groupby": "1.00",
    "counts-ones-too": "0.50",
    "gives-text-back": "0.38",
    "raises": "0.00",
    "leaves": "0.00",
    "no-python": "0.00",
    "no-unicode": "0.00",
}


@pytest.mark.docker
def test_the_reward_loop_gives_each_candidate_its_reward_and_says_what_one_costs(monkeypatch, capsys):
    spec = importlib.util.spec_from_file_location("reward_loop", SCRIPT)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "REPEATS", 1)
    asyncio.run(example.main())
    said = capsys.readouterr().out.splitlines()
    assert dict(line.split() for line in said[: len(WANTED)]) == WANTED
    assert re.fullmatch(r"one score \d+ ms \(median of 1; two containers\), docker run \d+ ms", said[-1])

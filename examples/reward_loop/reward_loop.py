#!/usr/bin/env python3
"""Rewards for candidate answers, as a training loop wants them: many at once, each in hosts of its own.

    python3 examples/reward_loop/reward_loop.py

Candidates here are programs for the shipped task `run-length`, right and wrong ones, as a model may write
them. Needs a Docker engine and the image scorehost/python:3 (`make images`). Prints each reward, then how
long one takes beside `docker run`, which does nothing but start a container. See docs/python-api.md.
"""

from __future__ import annotations

import asyncio
import statistics
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from scorehost.api import Blame, Scored, Scorer, open_scorer

DATASET = Path(__file__).resolve().parents[2]
TASK = "run-length"
RIGHT = """
def encode(text):
    found, index = [], 0
    while index < len(text):
        end = index
        while end < len(text) and text[end] == text[index]:
            end += 1
        found.append(text[index] if end == index + 1 else f"{end - index}{text[index]}")
        index = end
    return "".join(found)
"""
CANDIDATES = {
    "right": RIGHT,
    "right-by-groupby": (DATASET / "tasks" / TASK / "solution" / "artifacts" / "solution.py").read_text(),
    "counts-ones-too": RIGHT.replace("end == index + 1", "False"),
    "gives-text-back": "def encode(text):\n    return text\n",
    "raises": "def encode(text):\n    raise NotImplementedError\n",
    "leaves": "import os\n\ndef encode(text):\n    os._exit(0)\n",
    "no-python": "Sure! Here is the function you asked for:\n",
    "no-unicode": "def encode(text):\n    return '\ud800'\n",  # half a character, as decoding may give
}
REPEATS = 7
DOCKER_RUN = ("docker", "run", "--rm", "--network", "none", "scorehost/python:3", "python3", "-c", "pass")


def reward(scored: Scored) -> float | None:
    """The score; 0 for what the candidate itself broke; None when the machinery failed: try again or skip it.

    Never a 0 for a fault that is not the candidate's, or the model learns from the weather.
    """
    if scored.error is None:
        return scored.score
    return 0.0 if scored.error.blame is Blame.SUBMISSION else None


async def rewards(scorer: Scorer, task_id: str, answers: Mapping[str, str]) -> dict[str, float | None]:
    """The reward of each answer by its name. All are asked for at once; the scorer lets them take turns."""

    async def one(answer: str) -> float | None:
        return reward(await scorer.score(task_id, {"solution": answer}))

    found = await asyncio.gather(*(one(answer) for answer in answers.values()))
    return dict(zip(answers, found, strict=True))


async def latencies(scorer: Scorer) -> tuple[float, float]:
    """Median milliseconds of one score, one after another, and of `docker run`, in turn."""
    ours, theirs = [], []
    for _ in range(REPEATS):
        begun = time.perf_counter()
        await scorer.score(TASK, {"solution": RIGHT})
        ours.append(time.perf_counter() - begun)
        await asyncio.sleep(1)  # the next hosts become ready meanwhile
        begun = time.perf_counter()
        await asyncio.to_thread(subprocess.run, DOCKER_RUN, check=True)
        theirs.append(time.perf_counter() - begun)
    return statistics.median(ours) * 1e3, statistics.median(theirs) * 1e3


async def main() -> None:
    """Scores the candidates, then measures."""
    async with open_scorer(DATASET) as scorer:
        begun = time.perf_counter()
        for name, found in (await rewards(scorer, TASK, CANDIDATES)).items():
            print(f"{name:<18}{'no reward' if found is None else f'{found:.2f}'}")
        print(f"{len(CANDIDATES)} rewards in {time.perf_counter() - begun:.1f} s")
        score, bare = await latencies(scorer)
        print(f"one score {score:.0f} ms (median of {REPEATS}; two containers), docker run {bare:.0f} ms")


if __name__ == "__main__":
    asyncio.run(main())

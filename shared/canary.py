"""Whether a submission quotes the canary, a line that stands in every task's gold set and nowhere else."""

from __future__ import annotations

from pathlib import Path


def quoted(data: bytes, evaluation_dir: str) -> bool:
    """True when submitted bytes hold the canary: their producer has seen the gold set."""
    canary = Path(evaluation_dir, "canary.txt").read_bytes().strip()
    return canary in data

"""Lays out input/ref and input/res, and runs the scoring program; what it reads is data, no submitted code."""

import subprocess
import sys
from pathlib import Path

from scorehost_sdk import SubmissionFault

HERE = Path(__file__).parent


def evaluate(inputs):
    place, output = Path("/tmp/input"), Path(inputs["output_dir"])
    place.mkdir()
    place.joinpath("ref").symlink_to(HERE / "evaluation")
    place.joinpath("res").symlink_to(inputs["artifacts_dir"])
    ran = subprocess.run([sys.executable, HERE / "lib" / "scoring.py", place, output], timeout=30)
    if ran.returncode != 0:
        raise SubmissionFault("the scoring program did not take what was handed in")
    lines = (output / "scores.txt").read_text().splitlines()
    scores = {name: float(value) for name, _, value in (line.partition(": ") for line in lines)}
    return {"score": scores["accuracy"], "metrics": scores}

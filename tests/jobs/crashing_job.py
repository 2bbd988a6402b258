"""A job in a process of its own, for a test that kills it: `python crashing_job.py ROOT [JOB]`."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # as pytest has it

from scripted_jobs import Script, run, some_tasks

TASKS = tuple(f"t{number:02}" for number in range(40))


def crashing_dataset(root: Path):
    return some_tasks(root / "dataset", *TASKS)


def slowly(order):
    time.sleep(random.random() * 0.004)  # noqa: S311 - any moment will do
    if order.key.task_id.endswith("3") and order.number == 1:
        return {"kind": "start_failed"}
    return {"status": "FAIL"} if order.key.task_id.endswith("7") else {}


if __name__ == "__main__":
    place = Path(sys.argv[1])
    asked = {"resume": sys.argv[2]} if len(sys.argv) > 2 else {"submissions": ("solution",)}
    run(place, crashing_dataset(place), Script(slowly, pause=0.001), concurrency=4, retry_errors=1, **asked)

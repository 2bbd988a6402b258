"""Jobs that are disturbed, and what must hold all the same: sound files, one verdict each, nothing left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from scorehost.model.json import parse
from scorehost.runs.journal import FILE, read_history

IMAGE = "scorehost/python:3"
ROUNDS = int(os.environ.get("SCOREHOST_CHAOS_ROUNDS", "0"))  # 0: the short form
LONG = pytest.mark.skipif(not ROUNDS, reason="takes long; `make chaos` runs it")
LARGEST = 1 << 26
# What a task of each sort says: alone, and with a named host that it runs something in.
ALONE = """
def evaluate(inputs):
    with open(inputs["artifacts"]["answer"]) as stream:
        right = stream.read() == "42"
    return {"status": "PASS" if right else "FAIL", "metrics": {"seed": inputs["task"]["seed"]}}
"""
BESIDE = """
def evaluate(inputs):
    done = inputs["scoring"].exec("work", ["cat", inputs["artifacts"]["answer"]])
    if done.host_lost or done.timed_out or done.truncated:
        raise RuntimeError("told: " + repr((done.host_lost, done.timed_out, done.truncated)))
    return {"status": "PASS" if done.stdout == "42" else "FAIL", "metrics": {"seed": inputs["task"]["seed"]}}
"""
SMALL = {"memory_mb": 64, "pids": 32}


def write_dataset(
    root: Path, evaluators: Mapping[str, str], *, limits: Mapping[str, Any] | None = None
) -> Path:
    """A dataset of one task for each evaluator; one that names `work` gets that host. Solutions are right."""
    root.mkdir(parents=True, exist_ok=True)
    (root / "dataset.yaml").write_text("format: scorehost.dataset/1\ndataset_id: chaos\nversion: '1'\n")
    (root / "profiles.yaml").write_text("format: scorehost.profiles/1\nenvironment: docker\n")
    for task_id, text in evaluators.items():
        folder = root / "tasks" / task_id
        evaluation: dict[str, Any] = {"tmpfs_mb": 8}
        if '"work"' in text:
            evaluation["environments"] = {"work": {"docker_image": IMAGE, "tmpfs_mb": 8}}
        spec = {
            "format": "scorehost.task/1",
            "task_id": task_id,
            "description": "a task of a job that is disturbed",
            "limits": {**SMALL, **(limits or {})},
            "artifacts": {"publishable": [{"id": "answer", "path": "artifacts/answer.txt"}]},
            "evaluation": evaluation,
        }
        for path, content in {
            "task.yaml": yaml.safe_dump(spec),
            "evaluator.py": text,
            "evaluation/gold.txt": "42",
            "solution/artifacts/answer.txt": "42",
        }.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(content)
    return root


def twenty(root: Path) -> Path:
    """Ten tasks, every third of them with two hosts; scored twice each, these are twenty attempts."""
    return write_dataset(root, {f"t{n}": ALONE if n % 3 else BESIDE for n in range(10)})


def command(*words: object) -> list[str]:
    """`scorehost` with these words, by this Python."""
    return [sys.executable, "-c", "from scorehost.cli import main; main()", *map(str, words)]


def scorehost(
    *words: object, seconds: float = 300, host: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `scorehost` to its end, on the engine at `host`."""
    env = {**os.environ, **({"DOCKER_HOST": host} if host else {})}
    return subprocess.run(
        command(*words), capture_output=True, text=True, timeout=seconds, env=env, check=False
    )


def jobs_in(out: Path) -> list[Path]:
    """The job folders below `out`."""
    if not out.is_dir():
        return []
    return sorted(path for path in out.iterdir() if path.is_dir() and path.name[0] not in ".l")


def left_on_engine(job: str, host: str | None = None) -> list[str]:
    """Containers and volumes that carry the job's label."""
    docker = ["docker", *(["-H", host] if host else [])]
    label = f"label=scorehost.job={job}"
    found = []
    for words in (["ps", "-aq", "--no-trunc"], ["volume", "ls", "-q"]):
        listing = [*docker, *words, "--filter", label]
        found += subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split()
    return found


def finished(folder: Path) -> dict[str, bytes]:
    """Every file of the attempts that the job has published."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.glob("attempts/*/*/*/**/*"))
        if path.is_file() and ".draft" not in str(path)
    }


def verdicts(folder: Path) -> dict[str, str]:
    """The status of each published attempt."""
    return {
        str(path.parent.relative_to(folder / "attempts")): str(read(path)["status"])
        for path in folder.glob("attempts/*/*/[0-9]*/result.json")
    }


def read(path: Path) -> Any:
    """A JSON file, read as scorehost reads what it does not trust. BadJson."""
    return parse(path.read_bytes(), max_bytes=LARGEST)


@dataclass
class Findings:
    """What was found over all rounds: every number but the first two has to stay 0."""

    rounds: int = 0
    attempts: int = 0
    lost: int = 0
    duplicated: int = 0
    changed: int = 0
    left: int = 0
    broken_files: int = 0
    broken_journals: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, doubled, changed, left or broken."""
        return not (
            self.lost
            or self.duplicated
            or self.changed
            or self.left
            or self.broken_files
            or self.broken_journals
        )

    def look_at_files(self, folder: Path) -> None:
        """Every JSON file parses, drafts of a dead process too; the journal's whole lines are one chain."""
        for path in folder.rglob("*.json"):
            try:
                read(path)
            except ValueError as error:
                if ".draft/" in str(path):
                    continue  # never shown: what a dead process was writing goes with the next run
                self.broken_files += 1
                self.notes.append(f"{path}: {error}")
        for line in (folder / FILE).read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                parse(line, max_bytes=LARGEST)
        if read_history(folder / FILE).broken is not None:
            self.broken_journals += 1
            self.notes.append(f"{folder / FILE}: line {read_history(folder / FILE).broken}")

    def look_at_the_end(self, folder: Path, keys: Sequence[str], before: Mapping[str, bytes]) -> None:
        """The job is complete: one verdict for each key, what was finished `before` is the same."""
        self.look_at_files(folder)
        self.attempts += len(keys)
        found = verdicts(folder)
        self.lost += len(set(keys) - set(found))
        after = finished(folder)
        differing = [path for path, data in before.items() if after.get(path) != data]
        self.changed += len(differing)
        self.notes += differing
        ends: Counter[str] = Counter()
        for line in (folder / FILE).read_bytes().splitlines():
            event = json.loads(line)
            if event["kind"] in ("attempt_finished", "attempt_found"):
                ends[event["key"]] += 1
            elif event["kind"] in ("attempt_retried", "attempt_rerun"):
                ends[event["key"]] -= 1
        doubled = [key for key in keys if ends[key] != 1]
        self.duplicated += len(doubled)
        self.notes += doubled
        leftovers = [
            str(path) for path in folder.rglob("*") if path.name.endswith((".draft", ".partial", ".lease"))
        ]
        self.left += len(leftovers)
        self.notes += leftovers

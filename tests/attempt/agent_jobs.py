"""Jobs whose tasks have roles, written down by a test: adapters, profiles, and what the job left behind."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import yaml

from given import given
from scorehost import api
from trial import IMAGE, write_submission, write_task

HEAD = """\
import json, os, subprocess, sys, time
def reply(**changes):
    value = {"request_id": "r-" + os.urandom(8).hex(), "provider": "here", "cache_hit": False,
             "token_usage": {"input_tokens": 3, "output_tokens": 5}, "output": "fine"}
    value.update(changes)
    return {key: item for key, item in value.items() if item != "LEFT OUT"}
def say(value):
    print(json.dumps(value), flush=True)
def ask(argv, **more):
    say({"exec": {"argv": argv, **more}})
    return json.loads(sys.stdin.readline())["exec_result"]
request = json.loads(sys.stdin.readline())
"""
HOSTS = {
    "limits": {"memory_mb": 64, "agent_invocations": 3, "evaluate_seconds": 60},
    "evaluation": {
        "tmpfs_mb": 16,
        "environments": {
            "audit": {"docker_image": IMAGE, "tmpfs_mb": 16, "gold": False},
            "verification": {"docker_image": IMAGE, "tmpfs_mb": 16},
        },
    },
}


@dataclass(frozen=True)
class Made:
    """One attempt of a job, as it lies on disk."""

    outcome: Any
    folder: Path

    @property
    def result(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return loaded

    @property
    def kind(self) -> str | None:
        error = self.result["error"]
        return None if error is None else error["kind"]

    @property
    def checks(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads((self.folder / "evaluation/checks.json").read_text())[
            "checks"
        ]
        return rows

    def lines(self, path: str = "evaluation/observation.jsonl") -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / path).read_text().splitlines()]

    def call(self, number: int = 1, phase: str = "evaluation") -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.folder / f"{phase}/calls/{number}/call.json").read_text())
        return loaded

    def manifested(self) -> set[str]:
        return {row["path"] for row in json.loads((self.folder / "manifest.json").read_text())["files"]}

    def log(self, name: str) -> str:
        path = self.folder / "logs" / name
        return path.read_text() if path.exists() else ""


def write_job(
    root: Path,
    evaluator: str,
    roles: Mapping[str, tuple[str, Mapping[str, Any]]],
    *,
    files: Mapping[str, str] | None = None,
    profile: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Path:
    """A dataset of one task; `roles` are the code of each role's adapter and more keys of its binding."""
    document = {**HOSTS, "agent_profiles": [{"id": name} for name in roles], **spec}
    write_task(root, evaluator, **document)
    bound = {}
    for name, (code, keys) in roles.items():
        (root / f"{name}.py").write_text(HEAD + textwrap.dedent(code))
        row = {"executor": "command", "command": [sys.executable, f"{name}.py"], "timeout_seconds": 10}
        bound[name] = {**row, **keys}
    profiles = {"format": "scorehost.profiles/1", "agent_profiles": bound, **(profile or {})}
    (root / "profiles.yaml").write_text(yaml.safe_dump(profiles))
    for path, text in (files or {}).items():
        target = root / "tasks" / "t" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))
    return root


def job(
    root: Path, files: Mapping[str, bytes | str] | None = None, *, run: bool = False, **options: Any
) -> Any:
    """The outcome of a job over the dataset at `root`; with `run` nothing is handed in."""
    if not run:
        write_submission(root / "handed-in", files)
        options.setdefault("submissions", (f"s={root / 'handed-in'}",))
    asked = given(dataset=root, out=root / "runs", **options)
    return anyio.run(api.run, *asked, lambda _: None)


def only(outcome: Any) -> Made:
    """The one attempt of a job."""
    (row,) = outcome.rows
    return Made(outcome, outcome.folder / "attempts" / row.key.folder)

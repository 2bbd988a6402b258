"""A job put back into the formats of the first release, by what their documentation said."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from scorehost.spec.dataset import Dataset, Task
from scorehost.spec.task import TaskSpec


def sha256(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical_digest(value: Any) -> str:
    """Over sorted keys without spaces, numbers as Python writes them."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode())


def files_digest(files: dict[str, Path]) -> str:
    return canonical_digest({name: sha256(path.read_bytes()) for name, path in files.items()})


def tree_digest(files: dict[str, Path]) -> str:
    lines = (f"{name}\0-\0{sha256(path.read_bytes())[7:]}\n" for name, path in sorted(files.items()))
    return sha256("".join(lines).encode())


# Keys that no file of the first release had, by where they stand.
LATER = {
    ("evaluation",): ("file_locks", "tolerate_agent_faults", "tmpfs_exec", "env"),
    ("limits",): ("open_files",),
    ("evaluation", "output"): ("direction", "verdict"),
}


def first_said(spec: TaskSpec) -> dict[str, Any]:
    """task.yaml as the first release read it: without the keys that came later."""
    said = spec.model_dump(mode="json")
    for path, names in LATER.items():
        place = said
        for step in path:
            place = place[step]
        for name in names:
            del place[name]
    for environment in said["evaluation"]["environments"].values():
        del environment["file_locks"], environment["limits"]["open_files"]
    return said


def measure(spec: TaskSpec) -> dict[str, str]:
    said = first_said(spec)
    limits = canonical_digest(said.pop("limits"))
    return {"task": canonical_digest(said), "limits": limits}


def put_back(folder: Path, dataset: Dataset) -> None:
    """Rewrites job.json, every result and manifest; the journal goes, since it has their hashes."""
    record = json.loads((folder / "job.json").read_bytes())
    record["format"] = "scorehost.job/1"
    del record["kind"], record["asked"]["kind"], record["dataset"]["gold_key"], record["dataset"]["file"]
    del record["plan"]["fingerprint"]
    profiles = dataset.profiles.model_dump(mode="json")
    del profiles["run_host"]["file_locks"]  # came later too
    record["profile"] = canonical_digest(profiles)
    for task_id, task in record["tasks"].items():
        run = task.pop("digests")["run"]
        task.pop("files")
        task["metrics"] = [metric["id"] for metric in task["metrics"]]
        task.update(_pins(dataset.tasks[task_id]), run=run)
    for submission in record["submissions"]:
        submission["digest"] = None
    (folder / "job.json").write_text(json.dumps(record))
    for path in (folder / "attempts").glob("*/*/*"):
        _attempt(path, dataset.tasks[path.parent.parent.name])
    (folder / "events.jsonl").unlink()


def _pins(task: Task) -> dict[str, str]:
    pins = {"code": files_digest(task.code), "gold": files_digest(task.gold)}
    return {**pins, "spec": canonical_digest(first_said(task.spec))}


def _attempt(folder: Path, task: Task) -> None:
    result = json.loads((folder / "result.json").read_bytes())
    for name in ("kind", "infrastructure", "evaluation", "salt"):
        del result[name]
    result |= {"format": "scorehost.result/1", "attempt": result.pop("try")}
    scoring = result["digests"]["scoring"]
    if scoring is not None:
        del scoring["gold_key"], scoring["roles"]
        scoring |= {**measure(task.spec), "gold": tree_digest(task.gold)}
    (folder / "result.json").write_text(json.dumps(result))
    (folder / "salts.json").unlink(missing_ok=True)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    del manifest["kind"]
    manifest |= {"format": "scorehost.manifest/1", "attempt": manifest.pop("try")}
    manifest["files"] = [
        {"path": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in (
            (str(path.relative_to(folder)), path.read_bytes())
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "manifest.json"
        )
    ]
    (folder / "manifest.json").write_text(json.dumps(manifest))

"""Tasks and datasets as values, for tests that need no files of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from scorehost.errors import AttemptFailed
from scorehost.files.tree import name_bytes
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.intake import Taken, take_in
from scorehost.submissions.sample import Sample


def file_artifact(path: str = "artifacts/a.txt", **more: Any) -> Artifact:
    """A file artifact called `a`."""
    return Artifact(id="a", path=path, **more)


def tree_artifact(path: str = "artifacts/tree", **more: Any) -> Artifact:
    """A tree artifact called `a`."""
    return Artifact(id="a", path=path, kind="tree", **more)


def spec_of(*artifacts: Artifact, **more: Any) -> TaskSpec:
    """A task with these artifacts."""
    return TaskSpec(task_id="t", artifacts=artifacts or (file_artifact(),), **more)


def taken(tmp_path: Path, source: Path | Sample, *artifacts: Artifact) -> Taken:
    """What is taken in from a folder."""
    place = source if isinstance(source, Sample) else Sample(folder=source)
    return take_in(spec_of(*artifacts), place, Blobs(tmp_path / "blobs"))


def refusal(tmp_path: Path, source: Path | Sample, *artifacts: Artifact) -> str:
    """The message of the invalid_submission that taking in must end with; nothing half copied is left."""
    with pytest.raises(AttemptFailed) as caught:
        taken(tmp_path, source, *artifacts)
    failure = caught.value.failure
    assert (failure.kind, failure.blame, failure.phase) == ("invalid_submission", "submission", "prepare")
    incoming = tmp_path / "blobs" / "incoming"
    assert not incoming.exists() or list(incoming.iterdir()) == []
    return failure.message


def write_raw(folder: Path, files: Mapping[bytes, bytes]) -> None:
    """Writes files whose names are any bytes."""
    for name, data in files.items():
        target = folder / os.fsdecode(name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def contents(hand_in: Taken) -> dict[bytes, bytes]:
    """Name -> content of the artifact `a`."""
    return {name_bytes(entry.path): entry.source.read_bytes() for entry in hand_in.artifacts["a"].entries}

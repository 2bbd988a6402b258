"""What a finished attempt archived of its submission, checked against its manifest before its next use."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from scorehost.files.names import escaped
from scorehost.runs.journal import line_hash
from scorehost.runs.manifest import (
    MANIFEST_FILE,
    PLAIN,
    SALTS_FILE,
    Manifest,
    Salts,
    agrees,
    read_manifest,
    read_salts,
)
from scorehost.runs.record import file_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scorehost.runs.journal import History
    from scorehost.runs.reading import Attempt
    from scorehost.spec.dataset import Task

TOPS = ("artifacts", "workspace")


def damage(attempt: Attempt, history: History) -> str:
    """What is wrong with the archived artifacts, in words; "" when they are byte for byte what was scored."""
    try:
        data = (attempt.folder / "manifest.json").read_bytes()
        manifest, salts = read_manifest(data), read_salts(attempt.folder)
    except OSError as error:
        return f"{Path(error.filename or MANIFEST_FILE).name}: {error.strerror}"
    except ValidationError as error:
        return f"{SALTS_FILE if error.title == Salts.__name__ else MANIFEST_FILE} does not parse"
    if history.manifests.get(str(attempt.key), line_hash(data)) != line_hash(data):
        return "manifest.json is not what the journal says"
    return _differing(attempt.folder, manifest, salts)


def _differing(folder: Path, manifest: Manifest, salts: Mapping[str, str]) -> str:
    listed = {
        file.path: file for file in manifest.files if file.path.startswith(tuple(f"{t}/" for t in TOPS))
    }
    for name, path in _files(folder):
        file = listed.pop(name, None)
        if file is None:
            return f"{name} is not in its manifest"
        if path.is_symlink() or not path.is_file():
            return f"{name} is no regular file any more"
        if path.stat().st_size != file.size or not agrees(file, file_digest(path)[len(PLAIN) :], salts):
            return f"{name} is not what was scored"
    return f"{min(listed)} is missing" if listed else ""


def undeclared(attempt: Attempt, task: Task) -> str:
    """An archived file that no artifact of the task covers as it is declared now; "" when there is none."""
    paths = [artifact.path.rstrip("/") for artifact in task.spec.artifacts]
    for name, _path in _files(attempt.folder):
        if not any(name == path or name.startswith(f"{path}/") for path in paths):
            return name
    return ""


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    for top in TOPS:
        for place, folders, files in os.walk(folder / top):
            links = [name for name in folders if (Path(place) / name).is_symlink()]
            for name in sorted([*files, *links]):
                path = Path(place) / name
                yield escaped(str(path.relative_to(folder))), path

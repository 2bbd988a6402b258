"""What a finished attempt archived of its submission, checked against its manifest before its next use."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from scorehost.files.names import escaped
from scorehost.runs.manifest import agrees
from scorehost.runs.reader import BadFile, Reader

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scorehost.runs.journal import History
    from scorehost.runs.manifest import Manifest
    from scorehost.runs.reading import Attempt
    from scorehost.spec.dataset import Task

TOPS = ("artifacts", "workspace")


def damage(attempt: Attempt, history: History) -> str:
    """What is wrong with the archived artifacts, in words; "" when they are byte for byte what was scored."""
    try:
        with attempt.reader() as reader:
            manifest, digest = reader.manifest(attempt.place)
            if history.manifests.get(str(attempt.key), digest) != digest:
                return "manifest.json is not what the journal says"
            return _differing(reader, attempt, manifest, reader.salts(attempt.place))
    except BadFile as error:
        return str(error)


def _differing(reader: Reader, attempt: Attempt, manifest: Manifest, salts: Mapping[str, str]) -> str:
    listed = {
        file.path: file for file in manifest.files if file.path.startswith(tuple(f"{t}/" for t in TOPS))
    }
    for name, path, kind in _files(reader, attempt):
        file = listed.pop(name, None)
        if file is None:
            return f"{name} is not in its manifest"
        if kind != stat.S_IFREG:
            return f"{name} is no regular file any more"
        size, sha256 = reader.identity(path)
        if size != file.size or not agrees(file, sha256, salts):
            return f"{name} is not what was scored"
    return f"{min(listed)} is missing" if listed else ""


def undeclared(attempt: Attempt, task: Task) -> str:
    """An archived file that no artifact of the task covers as it is declared now; "" when there is none."""
    paths = [artifact.place.rstrip("/") for artifact in task.spec.artifacts]
    with attempt.reader() as reader:
        for name, _path, _kind in _files(reader, attempt):
            if not any(name == path or name.startswith(f"{path}/") for path in paths):
                return name
    return ""


def _files(reader: Reader, attempt: Attempt) -> Iterator[tuple[str, str, int]]:
    """Every archived file: its name as a manifest has it, its path below the job, its kind."""
    for top in TOPS:
        for path, kind in reader.walked(f"{attempt.place}/{top}"):
            yield escaped(path.removeprefix(f"{attempt.place}/")), path, kind

"""A task as an audit sees it: the files of its solution, in which language, and what they define."""

from __future__ import annotations

import ast
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scorehost.model.json import BadJson, parse
from scorehost.submissions.locating import located
from scorehost.submissions.odd import Odd

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scorehost.spec.dataset import Task
    from scorehost.spec.task import Artifact

Language = Literal["python", "shell", "json", "notebook", "text", "bytes"]
MAX_FILE = 4 * 1024 * 1024  # larger files of a solution are handed in as they are, and are not mutated
MAX_FILES = 2_000
_SUFFIXES: dict[str, Language] = {
    ".py": "python",
    ".sh": "shell",
    ".bash": "shell",
    ".json": "json",
    ".geojson": "json",
    ".ipynb": "notebook",
}
_MEDIA: dict[str, Language] = {
    "text/x-python": "python",
    "application/x-python": "python",
    "application/x-python-code": "python",
    "text/x-shellscript": "shell",
    "text/x-sh": "shell",
    "application/x-sh": "shell",
    "application/json": "json",
    "application/x-ipynb+json": "notebook",
}


@dataclass(frozen=True, slots=True)
class Name:
    """A function or class that submitted code must define."""

    text: str
    awaited: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """One file of a hand-in: its content in the solution, and the artifact that it belongs to."""

    path: str
    content: bytes
    artifact: Artifact
    language: Language

    @property
    def names(self) -> tuple[Name, ...]:
        """What its Python defines at the top; nothing for other files and for what does not parse."""
        return defined(self.content) if self.language == "python" else ()


@dataclass(frozen=True, slots=True)
class Subject:
    """`files` by path: those of the solution; where there is none, an empty one for each artifact."""

    task: Task
    files: Mapping[str, File]
    solved: bool

    @property
    def code(self) -> tuple[File, ...]:
        """Files that something runs or imports."""
        return tuple(one for one in self.files.values() if one.language in ("python", "shell"))

    @property
    def data(self) -> tuple[File, ...]:
        """All other files."""
        return tuple(one for one in self.files.values() if one.language not in ("python", "shell"))


def subject_of(task: Task) -> Subject:
    """Reads the solution of a task; links and other odd things, which scoring refuses, are left out."""
    files: dict[str, File] = {}
    for artifact in task.spec.artifacts:
        if task.solution is not None:
            for path, file in _present(task.solution, artifact, task.spec.artifacts):
                content = file.read_bytes()
                files[path] = File(path, content, artifact, language_of(path, artifact, content))
        elif artifact.kind == "file":
            files[artifact.path] = File(
                artifact.path, b"", artifact, language_of(artifact.path, artifact, b"")
            )
    return Subject(task, files, solved=task.solution is not None)


def language_of(path: str, artifact: Artifact, content: bytes) -> Language:
    """By suffix, then by declared media type, then by what it holds: an object or a list of JSON, UTF-8."""
    suffix = Path(path).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if artifact.kind == "file" and artifact.media_type in _MEDIA:
        return _MEDIA[artifact.media_type]
    if content.startswith(b"#!"):
        return "python" if b"python" in content.split(b"\n", 1)[0] else "shell"
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes"
    if content.lstrip()[:1] in (b"{", b"[") and _parses(content):
        return "json"
    return "bytes" if b"\0" in content else "text"


def _parses(content: bytes) -> bool:
    try:
        parse(content, max_bytes=MAX_FILE)
    except BadJson:
        return False
    return True


def defined(content: bytes) -> tuple[Name, ...]:
    """Functions and classes at the top of a Python file, without those that begin with `_`."""
    try:
        body = ast.parse(content).body
    except (SyntaxError, ValueError):
        return ()
    found = [
        Name(node.name, isinstance(node, ast.AsyncFunctionDef))
        for node in body
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and not node.name.startswith("_")
    ]
    return tuple(dict.fromkeys(found))


def _present(root: Path, artifact: Artifact, artifacts: tuple[Artifact, ...]) -> Iterator[tuple[str, Path]]:
    """Files of an artifact by the path that is declared for them, wherever in `root` an attempt finds it."""
    found = located(artifact, artifacts, str(root), Odd())
    if found is None:
        return
    top = root.joinpath(*found.path)
    if artifact.kind == "file":
        if _regular(top):
            yield artifact.path, top
        return
    count = 0
    for folder, names, files in os.walk(top):
        names.sort()
        for name in sorted(files):
            path = Path(folder, name)
            count += 1
            if _regular(path) and count <= MAX_FILES:
                yield f"{artifact.path}/{path.relative_to(top).as_posix()}", path


def _regular(path: Path) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= MAX_FILE

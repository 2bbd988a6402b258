"""The kit laid over one task: every dishonest submission that fits what the task asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from scorehost.audit.attacks.files import PLANTED, Content, changes, copies
from scorehost.audit.attacks.python import CHEATS, attack
from scorehost.audit.attacks.shell import SCRIPTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scorehost.audit.subject import File, Subject

COPY_LABEL = "a copy of the task's own files"
EMPTY_LABEL = "an empty file"


@dataclass(frozen=True, slots=True)
class Attack:
    """One dishonest submission: its files by path, bytes or a link."""

    name: str
    label: str
    files: Mapping[str, Content]


def empty_files(subject: Subject) -> Attack | None:
    """Every file is there and has nothing in it; None where the solution has nothing else to offer."""
    files = dict.fromkeys(subject.files, b"")
    return Attack("empty-file", EMPTY_LABEL, files) if _other(subject, files) else None


def attacks(subject: Subject) -> Iterator[Attack]:
    """Every attack of the kit that fits. One that comes to be the solution itself is no attack."""
    for one in _all(subject):
        if one.files and _other(subject, one.files):
            yield one


def _all(subject: Subject) -> Iterator[Attack]:
    whole: dict[str, Content] = {path: one.content for path, one in subject.files.items()}
    yield from _code(subject, whole)
    for change in changes(subject):
        # A link may stand for code too; what is no code is all that the others can be.
        made = {
            path: new
            for path, file in subject.files.items()
            if (file in subject.data or change.name == "link-to-gold")
            and (new := change.make(file)) is not None
        }
        if made:
            yield Attack(change.name, change.label, {**whole, **made})
    for short, text in copies(subject.task):
        yield Attack(f"copy-of-{short}", COPY_LABEL, dict.fromkeys(subject.files, text))
    yield from _planted(subject)


def _code(subject: Subject, whole: Mapping[str, Content]) -> Iterator[Attack]:
    found: dict[str, tuple[str, dict[str, Content]]] = {}
    for file in subject.code:
        for name, label, text in _cheats(file):
            found.setdefault(name, (label, {}))[1][file.path] = text
    for name, (label, files) in found.items():
        yield Attack(name, label, {**whole, **files})


def _cheats(file: File) -> Iterator[tuple[str, str, bytes]]:
    if file.language == "python":
        for cheat in CHEATS:
            yield cheat.name, cheat.label, attack(cheat, file.names)
    else:
        for script in SCRIPTS:
            yield script.name, script.label, b"#!/bin/sh\n" + script.text.encode()


def _planted(subject: Subject) -> Iterator[Attack]:
    """Modules beside what a tree must hold, whose own files are all empty."""
    trees = [one for one in subject.task.spec.artifacts if one.kind == "tree"]
    if not trees:
        return
    files: dict[str, Content] = dict.fromkeys(subject.files, b"")
    for tree in trees:
        folders = {tree.path, *(str(PurePosixPath(path).parent) for path in files)}
        within = sorted(one for one in folders if one == tree.path or one.startswith(tree.path + "/"))
        for folder in within[:20]:
            files |= {f"{folder}/{name}": text.encode() for name, text in PLANTED.items()}
    yield Attack("planted-files", "planted modules", files)


def _other(subject: Subject, files: Mapping[str, Content]) -> bool:
    return any(
        path not in subject.files or content != subject.files[path].content or not subject.solved
        for path, content in files.items()
    )

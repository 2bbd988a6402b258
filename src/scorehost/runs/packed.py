"""A finished attempt as one stream of bytes: the same attempt gives the same bytes.

    scorehost.attempt/1 LF
    16 hexadecimal digits: bytes of the head, LF
    the head, JSON: {"executable": [path, …], "folders": [path, …], "manifest": bytes}
    manifest.json
    the contents of its files, in its order

Paths stand in the manifest alone, so a stream can name no other; it has no links, times, owners or modes but
the execute bit. `folders` are those that hold nothing. Read as coming from hostile hands.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import ValidationError

from scorehost.errors import UsageError
from scorehost.files.atomic import disk_errors, make_folder, sync_folder, write_all
from scorehost.files.durable import make_durable
from scorehost.files.names import escaped, on_one_line, unescaped
from scorehost.files.removal import remove_tree
from scorehost.files.tree import name_bytes
from scorehost.model.canonical import jcs
from scorehost.model.frozen import Frozen
from scorehost.runs.draft import draft_of
from scorehost.runs.manifest import MANIFEST_FILE, Manifest, ManifestFile, agrees, read_manifest
from scorehost.runs.reader import MANIFEST_BYTES, BadFile, Reader

MAGIC = b"scorehost.attempt/1\n"
HEAD_BYTES = 16 * 1024 * 1024
_DIGITS = 16
_LENGTH = re.compile(rb"[0-9a-f]{16}\n")
_CHUNK = 1024 * 1024
_LEVELS, _STEP_BYTES, _PATH_BYTES = 80, 255, 3_000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class BadPack(UsageError):
    """A stream is not taken; the text says why."""


class Readable(Protocol):
    """Where a stream comes from."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes; none at the end."""


@dataclass(frozen=True, slots=True)
class PackCaps:
    """How much a packed attempt may hold."""

    files: int = 40_000
    size: int = 8 * 1024**3


class _Head(Frozen):
    executable: tuple[str, ...]
    folders: tuple[str, ...]
    manifest: int


def pack(folder: Path) -> Iterator[bytes]:
    """The stream of the attempt in `folder`, in pieces of at most 1 MiB.

    Raises BadFile when its files are not those of its manifest; then what came before is to be thrown away.
    """
    with Reader(folder) as reader:
        data = reader.data(MANIFEST_FILE, MANIFEST_BYTES)
        manifest, _ = reader.manifest()
        salts = reader.salts()
        found, empty = _inventory(reader)
        listed = {file.path for file in manifest.files}
        if odd := sorted(listed ^ (set(found) - {MANIFEST_FILE})):
            where = "is missing" if odd[0] in listed else "is not in its manifest"
            raise BadFile(f"{on_one_line(unescaped(odd[0]))} {where}")
        head = {"executable": [], "folders": empty, "manifest": len(data)}
        head["executable"] = sorted(path for path in listed if _is_executable(reader, found[path]))
        line = jcs(head)
        yield MAGIC + b"%016x\n" % len(line) + line + data
        for file in manifest.files:
            yield from _content(reader, file, found[file.path], salts)


def _inventory(reader: Reader) -> tuple[dict[str, str], list[str]]:
    """Files by their name in a manifest, with their paths, and the folders that hold nothing."""
    found: dict[str, str] = {}
    empty: list[str] = []
    waiting = [""]
    while waiting:
        place = waiting.pop()
        names = reader.names(place)
        if not names and place:
            empty.append(escaped(place))
        for name, kind in names:
            path = f"{place}/{name}" if place else name
            if kind == stat.S_IFDIR:
                waiting.append(path)
            elif kind == stat.S_IFREG:
                found[escaped(path)] = path
            else:
                raise BadFile(f"{on_one_line(path)} is no regular file")
    return found, sorted(empty)


def _is_executable(reader: Reader, path: str) -> bool:
    descriptor = reader.open(path)
    try:
        return bool(os.fstat(descriptor).st_mode & 0o100)
    finally:
        os.close(descriptor)


def _content(reader: Reader, file: ManifestFile, path: str, salts: Mapping[str, str]) -> Iterator[bytes]:
    digest, left = hashlib.sha256(), file.size
    with os.fdopen(reader.open(path), "rb", buffering=0) as stream:
        while data := stream.read(min(_CHUNK, left + 1)):
            left -= len(data)
            if left < 0:
                break
            digest.update(data)
            yield data
    if left or not agrees(file, digest.hexdigest(), salts):
        raise BadFile(f"{on_one_line(path)} is not what its manifest says")


def unpack(stream: Readable, target: Path, caps: PackCaps | None = None) -> Manifest:
    """Shows the attempt of a stream as `target`, whole and durable, or not at all. Blocks.

    Raises BadPack for whatever is wrong with the stream, DiskFull; OSError when `target` exists.
    """
    limits = caps or PackCaps()
    if _exactly(stream, len(MAGIC)) != MAGIC:
        raise BadPack("This is no packed attempt.", hint="Make one from a finished job.")
    head = _head(stream)
    data = _exactly(stream, _within(head.manifest, MANIFEST_BYTES, "bytes of manifest"))
    try:
        manifest = read_manifest(data)
    except ValidationError:
        raise BadPack("The manifest of the packed attempt does not parse.") from None
    _check(head, manifest, limits)
    draft = draft_of(target)
    remove_tree(draft)
    try:
        with disk_errors(target.parent, _CHUNK):
            settled = _written(stream, head, manifest, data, draft)
            if stream.read(1):
                raise BadPack("The packed attempt goes on behind its end.")
            make_durable(settled)
            draft.rename(target)
            sync_folder(target.parent)
    finally:
        with suppress(OSError):
            remove_tree(draft)
    return manifest


def _head(stream: Readable) -> _Head:
    digits = _exactly(stream, _DIGITS + 1)
    if not _LENGTH.fullmatch(digits):
        raise BadPack("The head of the packed attempt has no length.")
    line = _exactly(stream, _within(int(digits, 16), HEAD_BYTES, "bytes of head"))
    try:
        return _Head.model_validate_json(line)
    except ValidationError:
        raise BadPack("The head of the packed attempt does not parse.") from None


def _check(head: _Head, manifest: Manifest, caps: PackCaps) -> None:
    paths = [file.path for file in manifest.files]
    _within(len(paths) + len(head.folders), caps.files, "files and folders")
    if any(file.size < 0 for file in manifest.files):
        raise BadPack("The manifest of the packed attempt has a file of less than no bytes.")
    _within(sum(file.size for file in manifest.files), caps.size, "bytes")
    if paths != sorted(set(paths)) or MANIFEST_FILE in paths:
        raise BadPack("The manifest of the packed attempt names a file twice, itself, or out of order.")
    if not set(head.executable) <= set(paths):
        raise BadPack("The packed attempt makes a file executable that it has not.")
    folders: set[str] = set()
    for path in (*paths, *head.folders):
        _plain(path)
        above = path.rpartition("/")[0]
        while above and above not in folders:  # each of a few names may ask for eighty folders
            folders.add(above)
            _within(len(paths) + len(folders), caps.files, "files and folders")
            above = above.rpartition("/")[0]


def _plain(path: str) -> str:
    """The path that is meant, below the attempt's folder."""
    real = unescaped(path)
    raw = name_bytes(real)
    steps = raw.split(b"/")
    shown = on_one_line(real[:120])
    if b"\0" in raw or any(step in (b"", b".", b"..") or len(step) > _STEP_BYTES for step in steps):
        raise BadPack(f"The packed attempt names {shown}, which is no plain path.")
    if len(steps) > _LEVELS or len(raw) > _PATH_BYTES or escaped(real) != path:
        raise BadPack(f"The packed attempt names {shown}, which is too long, too deep or wrongly spelled.")
    return real


def _written(stream: Readable, head: _Head, manifest: Manifest, data: bytes, draft: Path) -> list[str]:
    settled: list[str] = []
    made: set[Path] = set()

    def make(folder: Path) -> None:
        while folder not in made:
            made.add(folder)
            folder = folder.parent if folder != draft else draft

    files = {file: draft / _plain(file.path) for file in manifest.files}
    folders = [draft / _plain(path) for path in head.folders]
    for folder in (draft, *folders, *(path.parent for path in files.values())):
        make(folder)
    executable = frozenset(head.executable)
    digests: dict[ManifestFile, str] = {}
    with _placed():
        for folder in sorted(made):
            make_folder(folder)
        for file, path in files.items():
            digests[file] = _file(stream, file, path, executable=file.path in executable)
        _write(draft / MANIFEST_FILE, [data], executable=False)
    salts = _salts(draft)  # they come among the others: only now every file can be checked
    for file, digest in digests.items():
        if not agrees(file, digest, salts):
            raise BadPack(f"{on_one_line(unescaped(file.path))} is not what the packed manifest says.")
    settled += map(os.fspath, (*made, *files.values(), draft / MANIFEST_FILE))
    return settled


def _salts(draft: Path) -> Mapping[str, str]:
    try:
        with Reader(draft) as reader:
            return reader.salts()
    except BadFile as error:
        raise BadPack(f"The packed attempt cannot be checked: {error}.") from None


class _placed:  # noqa: N801 - a context, as its like are written
    """What cannot lie where it is named is the stream's fault."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, FileExistsError | NotADirectoryError | IsADirectoryError):
            raise BadPack("The packed attempt names something both as a file and as a folder.") from None


def _file(stream: Readable, file: ManifestFile, path: Path, *, executable: bool) -> str:
    """Writes the next content of the stream; its hex sha256."""
    digest = hashlib.sha256()

    def pieces() -> Iterator[bytes]:
        left = file.size
        while left:
            data = stream.read(min(_CHUNK, left))
            if not data:
                raise BadPack("The packed attempt is cut short.")
            left -= len(data)
            digest.update(data)
            yield data

    _write(path, pieces(), executable=executable)
    return digest.hexdigest()


def _write(path: Path, pieces: Iterator[bytes] | list[bytes], *, executable: bool) -> None:
    descriptor = os.open(path, _NEW, 0o700 if executable else 0o600)
    try:
        for data in pieces:
            write_all(descriptor, data)
    finally:
        os.close(descriptor)


def _exactly(stream: Readable, size: int) -> bytes:
    parts, left = [], size
    while left:
        data = stream.read(min(left, _CHUNK))
        if not data:
            raise BadPack("The packed attempt is cut short.")
        parts.append(data)
        left -= len(data)
    return b"".join(parts)


def _within(count: int, most: int, what: str) -> int:
    if not 0 <= count <= most:
        raise BadPack(f"The packed attempt has {count} {what}; {most} are the most that are taken.")
    return count

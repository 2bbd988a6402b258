"""A Dockerfile with its context: one digest and one tar archive of exactly what the engine will see."""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from scorehost.errors import UsageError

_FROM = re.compile(r"^\s*FROM\s+(?:--\S+\s+)*(\S+)(?:\s+AS\s+(\S+))?", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Recipe:
    """`dockerfile` and the folders that it may copy from (shared ones under their own names)."""

    dockerfile: Path
    shared: tuple[Path, ...] = ()

    def bases(self) -> tuple[str, ...]:
        """The images that FROM lines name, without the recipe's own stages and `scratch`."""
        stages: set[str] = {"scratch"}
        bases = []
        for match in _FROM.finditer(self.dockerfile.read_text(encoding="utf-8", errors="replace")):
            if match[1].lower() not in stages and "$" not in match[1]:
                bases.append(match[1])
            if match[2]:
                stages.add(match[2].lower())
        return tuple(dict.fromkeys(bases))

    def digest(self, base_ids: Mapping[str, str]) -> str:
        """Hex digest of recipe, context and the ids of its bases: one image is built once per digest."""
        digest = hashlib.sha256()
        for line in (f"{base}={base_ids[base]}" for base in sorted(base_ids)):
            digest.update(line.encode() + b"\n")
        digest.update(self.dockerfile.name.encode() + b"\n")
        for name, path in self._files():
            status = path.lstat()
            digest.update(name.encode("utf-8", "surrogateescape") + b"\0")
            digest.update(b"x" if status.st_mode & 0o100 else b"-")
            digest.update(hashlib.sha256(_content(path, status)).digest())
        return digest.hexdigest()

    @contextmanager
    def context(self) -> Iterator[Path]:
        """A tar file of the context, gone when the block ends. Times and owners are 0."""
        with TemporaryDirectory(prefix="scorehost-context-") as folder:
            target = Path(folder) / "context.tar"
            with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
                for name, path in self._files():
                    status = path.lstat()
                    info = tarfile.TarInfo(name)
                    info.mode = 0o755 if status.st_mode & 0o100 else 0o644
                    content = _content(path, status)
                    if stat.S_ISLNK(status.st_mode):
                        info.type, info.linkname = tarfile.SYMTYPE, content.decode("utf-8", "surrogateescape")
                        archive.addfile(info)
                    else:
                        info.size = len(content)
                        archive.addfile(info, io.BytesIO(content))
            yield target

    def _files(self) -> list[tuple[str, Path]]:
        found = [
            (str(path.relative_to(self.dockerfile.parent)), path) for path in _walk(self.dockerfile.parent)
        ]
        for folder in self.shared:
            found += [(f"{folder.name}/{path.relative_to(folder)}", path) for path in _walk(folder)]
        return sorted(found, key=lambda item: item[0].encode("utf-8", "surrogateescape"))


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield path
        elif not stat.S_ISDIR(mode):
            raise UsageError(
                f"{path}: a device, FIFO or socket stands in a build context",
                hint="Take it out of the recipe's folder.",
            )


def _content(path: Path, status: os.stat_result) -> bytes:
    if stat.S_ISLNK(status.st_mode):
        return str(path.readlink()).encode("utf-8", "surrogateescape")
    return path.read_bytes()

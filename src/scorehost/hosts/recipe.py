"""A Dockerfile with its context: one digest and one tar archive of exactly what the engine will see."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from scorehost.errors import UsageError
from scorehost.spec.dockerfile import bases, copied_from, read
from scorehost.spec.files import KEY_FILE


@dataclass(frozen=True, slots=True)
class Recipe:
    """`dockerfile` and the folders that it may copy from (shared ones under their own names)."""

    dockerfile: Path
    shared: tuple[Path, ...] = ()

    @property
    def words(self) -> str:
        """Its path as a message gives it: from the task's `environment` folder on, where it lies in one."""
        parts = self.dockerfile.parts
        start = len(parts) - 1 - parts[::-1].index("environment") if "environment" in parts else 0
        return str(Path(*parts[start:]))

    def bases(self) -> tuple[str, ...]:
        """The images that it builds on or copies from, without its own stages and `scratch`.

        A name with a variable counts with the default of an ARG before the first FROM, and not without one.
        """
        text = self.dockerfile.read_text(encoding="utf-8", errors="replace")
        return tuple(dict.fromkeys(base.name for base in bases(read(text)) if base.name))

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
            if not stat.S_ISDIR(status.st_mode):
                digest.update(hashlib.sha256(_content(path, status)).digest())
        return digest.hexdigest()

    def write_context(self, target: Path) -> None:
        """Writes the context as a tar file; times and owners are 0. Raises OSError."""
        with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as archive:
            for name, path in self._files():
                status = path.lstat()
                info = tarfile.TarInfo(name)
                if stat.S_ISDIR(status.st_mode):
                    info.type, info.mode = tarfile.DIRTYPE, 0o755
                    archive.addfile(info)
                    continue
                info.mode = 0o755 if status.st_mode & 0o100 else 0o644
                content = _content(path, status)
                if stat.S_ISLNK(status.st_mode):
                    info.type, info.linkname = tarfile.SYMTYPE, content.decode("utf-8", "surrogateescape")
                    archive.addfile(info)
                else:
                    info.size = len(content)
                    archive.addfile(info, io.BytesIO(content))

    def _files(self) -> list[tuple[str, Path]]:
        found = [
            (str(path.relative_to(self.dockerfile.parent)), path) for path in _walk(self.dockerfile.parent)
        ]
        for folder in self.shared:
            found += [(f"{folder.name}/{path.relative_to(folder)}", path) for path in _walk(folder)]
        return sorted(found, key=lambda item: item[0].encode("utf-8", "surrogateescape"))


def copied_on_build(lines: Iterable[str]) -> list[str]:
    """The images that ONBUILD instructions of a base copy from; a stage of the recipe is none."""
    found = [copied_from(each) for line in lines for each in read(line)]
    return [name for name in found if name and not name.isdigit()]


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        mode = path.lstat().st_mode
        if path.name == KEY_FILE:
            raise UsageError(f"{path} stands in a build context.", hint="It is a secret: keep it elsewhere.")
        if stat.S_ISREG(mode) or stat.S_ISLNK(mode):
            yield path
        elif stat.S_ISDIR(mode):
            if not any(path.iterdir()):  # only an empty one needs an entry of its own
                yield path
        else:
            raise UsageError(
                f"{path}: a device, FIFO or socket stands in a build context",
                hint="Take it out of the recipe's folder.",
            )


def _content(path: Path, status: os.stat_result) -> bytes:
    if stat.S_ISLNK(status.st_mode):
        return str(path.readlink()).encode("utf-8", "surrogateescape")
    return path.read_bytes()

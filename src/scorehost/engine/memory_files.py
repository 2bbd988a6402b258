"""Files of in-memory containers: unpacked from tar archives, kept by absolute path."""

from __future__ import annotations

import io
import posixpath
import tarfile
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scorehost.engine.door import Place
from scorehost.errors import EngineRefused, NotFound

if TYPE_CHECKING:
    from collections.abc import Iterable

FOLDER_MODE = 0o755
READ_ONLY_STATUS = 500  # what Docker answers for an archive outside every volume of a read-only container


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """A file, or a folder when `content` is None."""

    content: bytes | None
    mode: int
    uid: int = 0
    gid: int = 0


class MemoryFiles:
    """What lies in the volumes and writable places of one container."""

    def __init__(self, volumes: Iterable[str], writable: Iterable[str]) -> None:
        self._volumes = tuple(volumes)
        self._writable = tuple(writable)
        self._nodes = {path: MemoryFile(None, FOLDER_MODE) for path in (*self._volumes, *self._writable)}

    def place(self, path: str) -> Place | None:
        """What lies at a path of a volume; None: nothing."""
        node = self._nodes.get(path)
        if node is None or not any(_below(path, volume) for volume in self._volumes):
            return None
        return Place("folder" if node.content is None else "file", node.mode & 0o777)

    def unpack(self, path: str, archive: bytes) -> None:
        """Unpacks a tar archive at the folder `path`; refuses as Docker does outside a volume."""
        if path not in self._nodes or self._nodes[path].content is not None:
            raise NotFound(f"The in-memory engine has no folder {path} in that container.", status=404)
        if not any(_below(path, volume) for volume in self._volumes):
            raise EngineRefused(
                f"The in-memory engine refused to unpack at {path}: rootfs is marked read-only",
                status=READ_ONLY_STATUS,
            )
        try:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                for member in tar:
                    target = posixpath.normpath(posixpath.join(path, member.name))
                    if not _below(target, path):
                        raise EngineRefused(
                            f"The in-memory engine refused a name outside {path}.", status=400
                        )
                    self._add(tar, member, target)
        except tarfile.TarError as error:
            raise EngineRefused(
                f"The in-memory engine cannot read the archive: {type(error).__name__}", status=500
            ) from error

    def _add(self, tar: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
        parent = posixpath.dirname(target)
        while parent not in self._nodes and parent != "/":
            self._nodes[parent] = MemoryFile(None, FOLDER_MODE)
            parent = posixpath.dirname(parent)
        source = tar.extractfile(member) if member.isfile() else None
        content = source.read() if source is not None else None
        self._nodes[target] = MemoryFile(content, member.mode, member.uid, member.gid)

    def node(self, path: str) -> MemoryFile:
        """The file or folder at an absolute path; FileNotFoundError."""
        try:
            return self._nodes[posixpath.normpath(path)]
        except KeyError:
            raise FileNotFoundError(path) from None

    def read(self, path: str) -> bytes:
        """A file's content; FileNotFoundError, IsADirectoryError."""
        content = self.node(path).content
        if content is None:
            raise IsADirectoryError(path)
        return content

    def write(self, path: str, content: bytes, *, uid: int, mode: int = 0o644) -> None:
        """Writes a file into a writable place in memory; PermissionError elsewhere."""
        path = posixpath.normpath(path)
        if not any(_below(path, place) and path != place for place in self._writable):
            raise PermissionError(path)
        self._nodes[path] = MemoryFile(content, mode, uid, uid)

    def restart(self) -> None:
        """Empties the writable places, which are memory; volumes keep what they hold."""
        gone = [p for p in self._nodes if any(_below(p, place) and p != place for place in self._writable)]
        for path in gone:
            del self._nodes[path]

    def below(self, folder: str) -> list[str]:
        """The paths of all files below a folder, sorted."""
        return sorted(
            path for path, node in self._nodes.items() if node.content is not None and _below(path, folder)
        )


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")

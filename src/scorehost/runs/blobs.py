"""Contents that attempts share: each is stored once below runs/.blobs and linked where it is needed."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain, count
from pathlib import Path

from scorehost.files.atomic import disk_full, disk_trouble, make_folder, write_all
from scorehost.files.lease import Lease, Standing, own_lease
from scorehost.files.tree import CHUNK

INCOMING = "incoming"
# A content that is linked too often already (65,000 times on ext4), or a file system that will not link.
NO_LINK = (
    *(errno.EMLINK, errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP, errno.ENOSYS),
    *(errno.EACCES, errno.EINVAL, errno.EIO),  # of FUSE and network file systems; a broken disk tells again
)
RESERVE = 16 * 1024**2  # bytes that a submission leaves free for results, logs and everybody else


class Blobs:
    """A folder of contents by sha256. Safe for several jobs at a time: a content appears by rename."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._room = -1  # bytes that may still come before the disk is asked again

    def expect(self, size: int) -> None:
        """Raises DiskFull, before anything is written, when `size` bytes would leave too little free."""
        self._room -= size
        if self._room >= 0:
            return
        make_folder(self.folder)
        free = shutil.disk_usage(self.folder).free
        if size > 0 and free < size + RESERVE:
            raise disk_full(self.folder, size + RESERVE)
        self._room = min(RESERVE // 4, free - size - RESERVE)  # others write too: it is looked at again soon

    def put(self, pieces: Iterator[bytes], *, executable: bool, link: Path | None = None) -> tuple[str, Path]:
        """Stores what the pieces hold together; (hex sha256, path). Raises DiskFull.

        With `link` the content is given that name too, from the same moment on, and that is the path: whoever
        forgets contents cannot take it away any more. It is durable when the draft that holds it is settled:
        one wait for all files instead of one for each.
        """
        head, more = next(pieces, b""), next(pieces, None)
        if more is None:  # small, and most often here already: a repeat then writes nothing
            name = hashlib.sha256(head).hexdigest()
            place = self._place(name, executable)
            if _holds(place, len(head)) and _linked(place, link):
                return name, link or place
            if link is not None:
                self._put_small(head, place, link, executable=executable)
                return name, link
        incoming = self.folder / INCOMING
        make_folder(incoming)
        draft = incoming / f"{own_lease().mark}.{secrets.token_hex(8)}"
        digest = hashlib.sha256()
        try:
            with (
                disk_trouble(self.folder, CHUNK),
                os.fdopen(_made(draft, executable=executable), "wb") as stream,
            ):
                for data in chain((head,), () if more is None else (more,), pieces):
                    digest.update(data)
                    stream.write(data)
            name = digest.hexdigest()
            target = self._place(name, executable)
            with disk_trouble(self.folder):
                if _holds(target, draft.stat().st_size) and _linked(target, link):
                    draft.unlink()
                else:
                    make_folder(target.parent)
                    _linked(draft, link)
                    draft.rename(target)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
        return name, link or target

    def _put_small(self, data: bytes, place: Path, link: Path, *, executable: bool) -> None:
        """Writes it where the taker has it, and shares that: half as many calls as by a draft of its own."""
        with disk_trouble(self.folder, len(data)):
            descriptor = _made(link, executable=executable)
            try:
                write_all(descriptor, data)
            finally:
                os.close(descriptor)
            try:
                os.link(link, place)
            except FileNotFoundError:
                make_folder(place.parent)
                _shared(link, place)
            except OSError:  # one that was cut short is there, or nothing can be linked
                _shared(link, place)

    def forget(self, older: float) -> None:
        """Removes contents that nothing links and that are older than so many seconds.

        One that is just taken again is linked by whoever takes it (`put`), so only its name here goes.
        """
        before = time.time() - older
        for folder, names, files in os.walk(self.folder):
            if folder == os.fspath(self.folder) and INCOMING in names:
                names.remove(INCOMING)
            for name in files:
                path = os.path.join(folder, name)  # noqa: PTH118 - one of very many
                with suppress(FileNotFoundError):
                    status = os.stat(path)  # noqa: PTH116
                    if status.st_nlink == 1 and status.st_mtime < before:
                        os.unlink(path)  # noqa: PTH108

    def sweep(self) -> None:
        """Removes half-copied contents of processes that do not live any more."""
        incoming = self.folder / INCOMING
        for draft in incoming.iterdir() if incoming.is_dir() else ():
            lease = Lease.parse(draft.name.rpartition(".")[0])
            if lease is not None and lease.standing() is Standing.DEAD:
                with suppress(OSError):
                    draft.unlink(missing_ok=True)

    def _place(self, name: str, executable: bool) -> Path:
        return self.folder / name[:2] / (name + ("x" if executable else ""))


class HeldBlobs(Blobs):
    """The same for one taker: each content gets a name in the taker's own folder, and stays with it."""

    def __init__(self, blobs: Blobs, held: Path) -> None:
        super().__init__(blobs.folder)
        self._held = held
        self._count = count()

    def put(self, pieces: Iterator[bytes], *, executable: bool, link: Path | None = None) -> tuple[str, Path]:
        """As `Blobs.put`; the path is the taker's own link."""
        return super().put(pieces, executable=executable, link=link or self._held / str(next(self._count)))


def link_or_copy(source: Path, target: Path | str) -> bool:
    """Gives a file a second name; where none can be made, `target` is a copy of it: then it is True.

    Raises OSError.
    """
    descriptor = linked_or_opened(source, target)
    if descriptor is not None:
        copy_into(source, descriptor)
    return descriptor is not None


def linked_or_opened(source: Path, target: Path | str) -> int | None:
    """None once `target` is a link; where none can be made, a new file there, to be copied into."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in NO_LINK:
            raise
        return _made(target)
    return None


def copy_into(source: Path, descriptor: int) -> None:
    """Copies a file with its execute bit, and closes the descriptor."""
    with os.fdopen(descriptor, "wb") as stream, source.open("rb") as origin:
        if os.fstat(origin.fileno()).st_mode & 0o100:
            _allow_execution(descriptor)
        shutil.copyfileobj(origin, stream)


def _linked(source: Path, link: Path | None) -> bool:
    """Whether the link is made; False when the source was forgotten in this moment."""
    if link is None:
        return True
    try:
        link_or_copy(source, link)
    except FileNotFoundError:
        if not link.parent.exists():
            raise
        link.unlink(missing_ok=True)
        return False
    return True


def _shared(link: Path, place: Path) -> None:
    fresh = f"{place}.{secrets.token_hex(8)}"
    try:
        os.link(link, fresh)
    except OSError as error:
        if error.errno in NO_LINK:
            return  # then every taker has its own
        raise
    os.rename(fresh, place)  # noqa: PTH104 - plain calls, as all of this


def _made(path: Path | str, *, executable: bool = False) -> int:
    mode = 0o700 if executable else 0o600
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)


def _allow_execution(descriptor: int) -> None:
    try:
        os.fchmod(descriptor, 0o700)
    except OSError:  # FAT and its kin have one mode for all files, most often with this bit
        if not os.fstat(descriptor).st_mode & 0o100:
            raise


def _holds(blob: Path, size: int) -> bool:
    # A blob of another size was cut short by a dying machine or by hand; the new one takes its place.
    try:
        return blob.stat().st_size == size
    except FileNotFoundError:
        return False

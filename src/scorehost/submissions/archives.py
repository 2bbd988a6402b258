"""Archives of submissions (.zip, .tar and packed tars) unpacked as coming from hostile hands.

What comes out is judged as the folder would be that was packed: what a folder may not hold at a declared path
(a link, a device) is noted and refused where it is declared, and what nobody declared is left where it is.
No absolute names, no `..`; files and bytes are capped, and the caps are held while unpacking, so an archive
that lies about its sizes gains nothing. Plain synchronous code.
"""

from __future__ import annotations

import errno
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.aio.aside import still_wanted
from scorehost.files.atomic import disk_trouble, make_folder
from scorehost.files.removal import remove_tree
from scorehost.files.visible import visible
from scorehost.runs.blobs import link_or_copy
from scorehost.submissions.entries import CHUNK, MAX_LEVELS, BadArchive, Caps, Entry, shown
from scorehost.submissions.odd import ASIDE, Odd
from scorehost.submissions.tar_entries import tar_entries
from scorehost.submissions.zip_entries import zip_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from scorehost.submissions.wanted import Wanted

SUFFIXES = (".tar.gz", ".tgz", ".zip", ".tar", ".tar.bz2", ".tbz2", ".tbz", ".tar.xz", ".txz")
READ = ".zip, .tar, .tar.gz, .tar.bz2, .tar.xz"
# Archives that Python's library cannot read: the message then says what to do, not "no archive".
UNREAD = (
    *(".tar.zst", ".tzst", ".zst", ".7z", ".rar", ".tar.lzma", ".tlz", ".tar.lz", ".tar.lz4", ".tar.z"),
    *(".cab", ".dmg", ".iso", ".cpio"),
)
REPACK = f"pack it again as .zip or .tar.gz (read are {READ})"
_MAGIC = {
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\x28\xb5\x2f\xfd": "packed by Zstandard",
}
_ZIP_MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
_APPLE_DOUBLE = b"\x00\x05\x16\x07"  # what macOS packs of a file besides its content
_TURNS = 3  # through an archive, for hard links to what was not wanted before
TWICE = "stands twice in the archive, or once as a file and once as a folder"
_TOO_LARGE = "no artifact that is asked for may be so large"
_ODD_PLACES = 200_000
_ASIDE_NAMES = 2_000  # of what was left aside, for messages that suggest a name
_ODD_PARENTS = 6  # levels at which a sample's folder may lie: these are made though nothing else is in them


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What could not be laid out, by its place in the archive; and what its reader must be told."""

    odd: Odd
    warnings: tuple[str, ...] = ()


def archive_suffix(name: str) -> str:
    """The suffix that makes `name` an archive that can be read, or ""."""
    return next((suffix for suffix in SUFFIXES if name.lower().endswith(suffix)), "")


def unread_suffix(name: str) -> str:
    """The suffix of an archive that is known and not read, or ""."""
    return next((suffix for suffix in UNREAD if name.lower().endswith(suffix)), "")


def unpack(archive: Path, target: Path, caps: Caps | None = None, wanted: Wanted | None = None) -> Unpacked:
    """Unpacks what is wanted of `archive` (all, without `wanted`) into the new folder `target`.

    Raises BadArchive (then `target` may hold a part, which the caller removes), DiskTrouble for whatever the
    system refuses, which is nobody's fault who hands in.
    """
    limits = caps or Caps()
    if archive.stat().st_size > limits.size:
        raise BadArchive(f"it is larger than {limits.size} bytes")
    also: set[tuple[str, ...]] = set()
    for number in range(1, _TURNS + 1):
        make_folder(target)
        turn = _Turn(target, limits, wanted, frozenset(also))
        with disk_trouble(target, CHUNK), _reading():
            with _opened(archive, limits, wanted, turn.warnings.append) as entries:
                for entry in entries:
                    turn.place(entry)
        if turn.missing <= also or number == _TURNS:
            break
        # A hard link stands for what was packed earlier, and that was not wanted under its own name.
        also |= turn.missing
        remove_tree(target)
    return Unpacked(turn.odd, tuple(dict.fromkeys(turn.warnings)))


def _opened(
    archive: Path, caps: Caps, wanted: Wanted | None, warn: Callable[[str], None]
) -> AbstractContextManager[Iterator[Entry]]:
    with archive.open("rb") as stream:
        head = stream.read(8)
    for magic, what in _MAGIC.items():
        if head.startswith(magic):
            raise BadArchive(f"it is {what}, which is not read; {REPACK}")
    if archive_suffix(archive.name) == ".zip" or head.startswith(_ZIP_MAGIC):
        return zip_entries(archive, caps, () if wanted is None else wanted.names, warn)
    return tar_entries(archive, caps, warn)


@contextmanager
def _reading() -> Iterator[None]:
    """Whatever a reader of archives makes of damaged bytes is a refusal; what the system says is none."""
    try:
        yield
    except BadArchive:
        raise
    except OSError as error:
        if error.errno is not None:  # gzip and bzip2 raise one without a number for damaged bytes
            raise
        raise BadArchive(f"it is damaged: {visible(str(error)[:120])}") from None
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error) as error:
        raise BadArchive(f"it is damaged: {visible(str(error)[:120])}") from None
    except (ValueError, LookupError, OverflowError, EOFError, RuntimeError) as error:
        raise BadArchive(f"it cannot be read: {visible(str(error)[:120])}") from None


@dataclass(slots=True)
class _Turn:
    """One way through an archive: where its entries go, and what is counted."""

    target: Path
    caps: Caps
    wanted: Wanted | None
    also: frozenset[tuple[str, ...]]  # wanted as well, for hard links to them
    odd: Odd = field(default_factory=Odd)
    warnings: list[str] = field(default_factory=list)
    missing: set[tuple[str, ...]] = field(default_factory=set)
    entries: int = 0
    files: int = 0
    size: int = 0
    folders: int = 0
    odd_places: int = 0
    aside: int = 0

    def place(self, entry: Entry) -> None:
        still_wanted()
        self.entries += 1
        if self.entries > self.caps.entries:
            raise BadArchive(f"it holds more than {self.caps.entries} entries")
        if not entry.parts or entry.parts[0] == "__MACOSX":
            return
        if self.wanted is not None and not self.wanted(entry.parts) and entry.parts not in self.also:
            self._leave(entry)
        elif entry.odd:
            self._refuse(entry.parts, entry.odd)
        elif len(entry.parts) > MAX_LEVELS:
            self._refuse(entry.parts[:MAX_LEVELS], f"holds folders deeper than {MAX_LEVELS} levels")
        elif not self._is_odd(entry.parts):
            self._lay_out(entry)

    def _is_odd(self, parts: tuple[str, ...]) -> bool:
        """Whether something that stands for no folder is where a folder is due: its refusal covers this."""
        node = self.odd
        for part in parts[:-1]:
            node = node.at(part)
            if node.refusal:
                return True
        return False

    def _lay_out(self, entry: Entry) -> None:
        path = self.target.joinpath(*entry.parts)
        try:
            if entry.content is None and entry.link is None:
                self._folder(path)
                return
            self.files += 1
            if self.files > self.caps.files:
                raise BadArchive(f"it holds more than {self.caps.files} files")
            self._folder(path.parent)
            if entry.link is not None:
                self._link(entry.parts, path, entry.link)
            else:
                self._write(entry, path)
        except (FileExistsError, NotADirectoryError, IsADirectoryError):
            self._refuse(self._taken(entry.parts), TWICE)
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            self._refuse(entry.parts[:MAX_LEVELS], "has a path that is too long")

    def _taken(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """The first part of a path that is a file already, else all of it."""
        for count in range(1, len(parts)):
            if self.target.joinpath(*parts[:count]).is_file():
                return parts[:count]
        return parts

    def _folder(self, path: Path) -> None:
        if path.is_dir():
            return
        missing = [path]
        while missing[-1] != self.target and not missing[-1].parent.exists():
            missing.append(missing[-1].parent)
        for folder in reversed(missing):
            self.folders += 1
            if self.folders > self.caps.entries:
                raise BadArchive(f"it holds more than {self.caps.entries} entries")
            folder.mkdir(mode=0o700)

    def _link(self, parts: tuple[str, ...], path: Path, to: tuple[str, ...]) -> None:
        source = self.target.joinpath(*to)
        if source.is_file():
            self._count(
                source.stat().st_size
            )  # where nothing can be linked it is a copy; intake counts it too
            link_or_copy(source, path)
            return
        why = self.odd.at(*to).refusal
        if not why:
            self.missing.add(to)
            why = f"is a hard link to {shown('/'.join(to))}, which is no file of the archive before it"
        self._refuse(parts, why)

    def _write(self, entry: Entry, path: Path) -> None:
        assert entry.content is not None  # noqa: S101 - for the type checker
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o700 if entry.executable else 0o600), "wb") as out:
            first, left = True, self.caps.one
            with entry.content() as stream:
                while chunk := stream.read(CHUNK):
                    still_wanted()
                    if first and entry.parts[-1].startswith("._") and chunk.startswith(_APPLE_DOUBLE):
                        path.unlink()  # it was no file of the folder that was packed
                        return
                    first = False
                    left -= len(chunk)
                    if left < 0:  # no need to have all of it on disk to refuse it
                        path.unlink()
                        self._refuse(entry.parts, f"has more than {self.caps.one} bytes; {_TOO_LARGE}")
                        return
                    self._count(len(chunk))
                    out.write(chunk)

    def _count(self, size: int) -> None:
        self.size += size
        if self.size > self.caps.size:
            raise BadArchive(f"it unpacks to more than {self.caps.size} bytes")

    def _refuse(self, parts: tuple[str, ...], why: str) -> None:
        self.odd_places += self.odd.put(parts, why)
        if self.odd_places > _ODD_PLACES:
            raise BadArchive("it holds too much that is neither a file nor a folder")
        self._parents(parts)

    def _leave(self, entry: Entry) -> None:
        """Notes the name of what nobody declared, so that a message can say what is there."""
        if self.aside >= _ASIDE_NAMES or len(entry.parts) > _ODD_PARENTS:
            return
        self.aside += 1
        if entry.content is not None or entry.odd or entry.link is not None:
            self.odd.put(entry.parts, ASIDE)
            self._parents(entry.parts)
        else:
            self._parents((*entry.parts, ""))

    def _parents(self, parts: tuple[str, ...]) -> None:
        if len(parts) <= _ODD_PARENTS + 1 and not self._is_odd(parts):
            try:
                self._folder(self.target.joinpath(*parts[:-1]))
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTDIR, errno.ENAMETOOLONG):
                    raise
                # A file is where a folder is due: told when that was placed, or not declared

"""gold.key: the secret under which a gold set is bound, so that its digest says nothing to whoever lacks it.

A small gold set can be guessed from a plain digest. So what leaves the house, or may leave it one day, names
gold by an HMAC-SHA256 under a key of 32 random bytes that stays with the gold and goes nowhere else.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import hmac
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from scorehost.errors import UsageError
from scorehost.files.atomic import PARTIAL, make_folder, write_atomic
from scorehost.files.names import escaped
from scorehost.files.tree import name_bytes
from scorehost.model.canonical import jcs
from scorehost.model.ids import path_part
from scorehost.spec.files import KEY_FILE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scorehost.model.failure import Phase
    from scorehost.model.ids import AttemptKey
    from scorehost.spec.dataset import Dataset

KEY_BYTES = 32
OTHER_KEY = "gold cannot be compared: gold.key is not the one that it was bound under"
FORMAT = "scorehost.gold/1"  # of the message that is authenticated
SEED_FORMAT = "scorehost.seed/1"
_NAMES_ITSELF = b"scorehost.gold-key/1"  # no message of `FORMAT`: that is an object
_ID_DIGITS = 16
_OTHERS = 0o077
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)


class GoldFile(NamedTuple):
    """One file of a gold set; `sha256` is hex, None where only the size counts."""

    path: str
    size: int
    executable: bool
    sha256: str | None


@dataclass(frozen=True, slots=True)
class GoldKey:
    """A key; what it makes may be told to anybody."""

    _secret: bytes = field(repr=False)

    @property
    def id(self) -> str:
        """16 hex digits that say whether two digests were made under one key, and nothing of the key."""
        return hmac.new(self._secret, _NAMES_ITSELF, hashlib.sha256).hexdigest()[:_ID_DIGITS]

    def seed(self, attempt: AttemptKey, phase: Phase) -> int:
        """The seed of an attempt in one phase: nobody can tell it, or one from another, who lacks the key.

        The first 63 bits of the HMAC-SHA256 over the canonical JSON of format, phase, task_id, submission,
        sample and repeat.
        """
        message = jcs({"format": SEED_FORMAT, "phase": phase.value, **attempt.model_dump()})
        drawn = hmac.new(self._secret, message, hashlib.sha256).digest()
        return int.from_bytes(drawn[:8], "big") >> 1

    def digest(self, files: Iterable[GoldFile]) -> str:
        """`gold-hmac:` and the hex HMAC-SHA256 over the canonical JSON (RFC 8785) of format and files.

        The files stand in byte order of their paths; bytes of a path that are not UTF-8 are escaped.
        """
        rows = [
            {"executable": one.executable, "path": escaped(one.path), "sha256": one.sha256, "size": one.size}
            for one in sorted(files, key=lambda one: name_bytes(one.path))
        ]
        message = jcs({"files": rows, "format": FORMAT})
        return "gold-hmac:" + hmac.new(self._secret, message, hashlib.sha256).hexdigest()


def gold_key(dataset: Dataset) -> GoldKey:
    """The key of the dataset's gold; one is made where there is none yet. Plain blocking code.

    It lies beside dataset.yaml, or in the folder of private gold; where nobody may write there, in the user's
    state folder. Raises UsageError for a key that others can read, that is no key, or that cannot be made.
    """
    home = dataset.gold_home or dataset.root
    beside, stored = home / KEY_FILE, _stored(dataset.dataset_id, home)
    for path in (beside, stored):
        if (secret := _read(path)) is not None:
            return GoldKey(secret)
    try:
        return GoldKey(_made(beside))
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise _not_made(beside, error) from None
    try:
        make_folder(stored.parent)
        return GoldKey(_made(stored))
    except OSError as error:
        raise _not_made(stored, error) from None


def _stored(dataset_id: str, home: Path) -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    place = hashlib.sha256(b"\0".join((dataset_id.encode(), os.fsencode(home.absolute())))).hexdigest()[:16]
    return Path(state) / "scorehost" / "gold-keys" / f"{path_part(dataset_id)}.{place}.key"


def _read(path: Path) -> bytes | None:
    try:
        # Not waiting for a writer, should it be a FIFO.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.",
            hint="It binds this gold set in results: run as the user who may read it.",
        ) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UsageError(f"{path} is not a regular file.", hint="Put the key that belongs there back.")
        if status.st_mode & _OTHERS:
            raise UsageError(
                f"{path} can be read or written by others (mode {stat.S_IMODE(status.st_mode):04o}), and with"
                " it a small gold set can be guessed from its digests.",
                hint=f"chmod 600 {path}",
            )
        data = os.read(descriptor, KEY_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) != KEY_BYTES:
        raise UsageError(
            f"{path} has {status.st_size} bytes, not the {KEY_BYTES} of a key.",
            hint="Put the key that belongs to this gold set back. If it is lost, remove the file: then a new"
            " one is made, under which gold cannot be compared with that of earlier jobs.",
        )
    return data


def _made(path: Path) -> bytes:
    """What the file holds once there is one, made by this process or by another at the same moment."""
    with _alone(path.parent):
        for left in path.parent.glob(f".{path.name}.*{PARTIAL}"):  # of a process that was killed here
            with suppress(OSError):
                left.unlink()
        if not path.exists():
            write_atomic(path, secrets.token_bytes(KEY_BYTES))
    secret = _read(path)
    if secret is None:
        raise FileNotFoundError(errno.ENOENT, "it went away as soon as it was made")
    return secret


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):  # a file system that cannot lock: what was written last is read by all
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _not_made(path: Path, error: OSError) -> UsageError:
    return UsageError(
        f"No key for the gold set can be made at {path}: {error.strerror}.",
        hint=f"Put 32 random bytes into {KEY_FILE} beside the gold (mode 0600), or name a state folder that"
        " you may write to: XDG_STATE_HOME=DIR.",
    )

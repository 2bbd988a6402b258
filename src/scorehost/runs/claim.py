"""The claim on a folder below a runs folder: a lock, who holds it, and what kind of thing is made there.

Every maker of such a folder takes it. The lock tells on this machine who lives; the lease beside it tells it
where locks do not reach, and says after a crash that somebody did not come to his end.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Literal

from filelock import FileLock, Timeout
from pydantic import ValidationError

from scorehost.errors import UsageError
from scorehost.files.atomic import PARTIAL, disk_errors, make_folder
from scorehost.files.below import Unread, read_below
from scorehost.files.lease import Lease, Standing, own_lease
from scorehost.files.removal import remove_tree
from scorehost.model.frozen import Frozen

Kind = Literal["job", "scorer", "audit", "look"]

LOCK_FILE = ".lock"
CLAIM_FILE = ".claim"
CLAIM_BYTES = 4_096
MOMENT_SECONDS = 10.0  # for whoever makes or removes a folder below the same runs folder


class Claim(Frozen):
    """The content of `.claim`."""

    kind: Kind
    lease: str


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; UsageError at once when another process has it."""
    # Not bound to a thread: a job opens its folder in one, and closes it in another.
    lock = FileLock(folder / LOCK_FILE, timeout=0, mode=0o600, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise UsageError(
            f"The job {folder.name} is being run by another process.",
            hint="Wait until it ends, or stop it; then --resume it.",
        ) from None
    except NotImplementedError:
        raise UsageError(
            f"The file system of {folder} cannot lock files, so nobody could tell who works there.",
            hint="Put the runs folder on another file system: --out DIR.",
        ) from None
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be worked in: its {LOCK_FILE} cannot be had ({error.strerror}).",
            hint="See that its file system is writable and has room, and that its files are yours.",
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def claimed(folder: Path, kind: Kind) -> Iterator[bool]:
    """Holds a folder that is there; gives whether its last holder did not come to his end.

    UsageError at once when somebody else has it.
    """
    with locked(folder):
        broken_off = (folder / CLAIM_FILE).exists()
        _write(folder, Claim(kind=kind, lease=str(own_lease())))
        try:
            yield broken_off
        finally:
            with suppress(FileNotFoundError):
                (folder / CLAIM_FILE).unlink()


@contextmanager
def made_folder(out: Path, name: str, kind: Kind, *, keep: Callable[[Path], bool]) -> Iterator[Path]:
    """A new folder in `out`, claimed from its first moment; removed at the end unless `keep` says yes to it.

    UsageError where none can be made.
    """
    out = out.absolute()
    folder = out / name
    claim = ExitStack()
    try:
        fresh_out = not out.exists()
        make_folder(out)
        with disk_errors(out, 4096), one_at_a_time(out):
            folder.mkdir(mode=0o700)
            try:
                claim.enter_context(claimed(folder, kind))
            except BaseException:
                remove_tree(folder)
                raise
    except OSError as error:
        raise UsageError(
            f"No job can be put into {out}: {error.strerror}.",
            hint="Name a folder that you may write to: --out DIR.",
        ) from None
    with claim:
        try:
            yield folder
        finally:
            if not keep(folder):
                with one_at_a_time(out):
                    remove_tree(folder)
                if fresh_out:
                    with suppress(OSError):
                        out.rmdir()


@contextmanager
def one_at_a_time(out: Path) -> Iterator[None]:
    """Held for a moment: else a sweep takes a new folder, made and not yet claimed, for a dead one's.

    The folder itself is locked, so that no file stays. Where its file system cannot do that, nothing is held.
    Blocking code. UsageError when another process holds it for longer than a moment, stopped in one, say.
    """
    handle = os.open(out, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with suppress(OSError):
            _lock_soon(handle, out)
        yield
    finally:
        os.close(handle)


def _lock_soon(handle: int, out: Path) -> None:
    end = time.monotonic() + MOMENT_SECONDS
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise UsageError(
                    f"Another process has held {out} for {MOMENT_SECONDS:g} s: nothing can be made there.",
                    hint=f"`fuser -v {out}` names it: it may be stopped. Or name another folder: --out DIR.",
                ) from None
            time.sleep(0.01)
        else:
            return


@contextmanager
def abandoned(folder: Path) -> Iterator[bool]:
    """Whether nobody alive can have the folder; while the block runs, nobody takes it either.

    Of another machine's claim nothing can be said from here, so it counts as alive. Raises UsageError when it
    is in use, OSError when it cannot be locked.
    """
    with ExitStack() as lock:
        with one_at_a_time(folder.parent):
            lock.enter_context(locked(folder))
        yield not _may_be_alive(folder)


def is_running(folder: Path) -> bool:
    """Whether somebody who lives on this machine has it as a job; takes no lock."""
    try:
        claim = Claim.model_validate_json(read_below(folder, CLAIM_FILE, CLAIM_BYTES))
    except (Unread, ValidationError):
        return False
    lease = Lease.parse(claim.lease)
    return claim.kind == "job" and lease is not None and lease.standing() is Standing.ALIVE


def _may_be_alive(folder: Path) -> bool:
    # Asked by whoever has the lock: a living holder on this machine has it, however pids look from here.
    try:
        claim = Claim.model_validate_json(read_below(folder, CLAIM_FILE, CLAIM_BYTES))
    except Unread as error:
        return not error.missing
    except ValidationError:
        return True
    lease = Lease.parse(claim.lease)
    if lease is None:
        return True
    return lease.standing() is Standing.FOREIGN and lease.machine != own_lease().machine


def _write(folder: Path, claim: Claim) -> None:
    # Not made durable: after a crash of the machine the lease is dead, written or not.
    partial = folder / f"{CLAIM_FILE}{PARTIAL}"
    with disk_errors(folder, CLAIM_BYTES):
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, claim.model_dump_json().encode())
        finally:
            os.close(descriptor)
        partial.rename(folder / CLAIM_FILE)

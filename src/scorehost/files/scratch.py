"""Folders below the system's temporary one that tell whose they are; those of dead processes go."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from scorehost.files.lease import Lease, Standing, own_lease
from scorehost.files.removal import remove_tree


def made_scratch(kind: str) -> Path:
    """A new folder, only for this user; its maker removes it. What dead ones of this kind left goes first."""
    prefix = f"scorehost-{kind}-"
    for place in Path(gettempdir()).glob(f"{prefix}*"):
        if _is_dead(place, place.name.removeprefix(prefix)):
            with suppress(OSError):
                remove_tree(place)
    return Path(mkdtemp(prefix=f"{prefix}{own_lease().mark}-"))


@contextmanager
def scratch(kind: str) -> Iterator[Path]:
    """A folder that is gone at the end of the block."""
    place = made_scratch(kind)
    try:
        yield place
    finally:
        with suppress(OSError):  # the next one tries again
            remove_tree(place)


def _is_dead(place: Path, rest: str) -> bool:
    lease = Lease.parse(rest.rpartition("-")[0])
    if lease is None or lease.standing() is not Standing.DEAD:
        return False
    try:
        status = place.lstat()
    except OSError:
        return False
    return os.geteuid() in (0, status.st_uid)

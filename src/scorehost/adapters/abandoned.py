"""What calls of a killed job left on this machine: their folders carry their owner's mark, and go with it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from scorehost.adapters.folders import PREFIX, CallFolders, own_mark, remove_folders
from scorehost.adapters.leftovers import kill_leftovers
from scorehost.files.lease import start_ticks


def remove_abandoned() -> int:
    """Kills processes and removes folders of calls whose owner is dead; how many folders.

    Only of this user and of this pid namespace: of others nobody can tell whether they live. Slow: belongs
    into a thread.
    """
    found = abandoned_calls()
    for root in found:
        folders = CallFolders(root)
        kill_leftovers(folders.environment["HOME"])
        remove_folders(folders)
    return len(found)


def abandoned_calls() -> list[Path]:
    """The folders of calls whose owner is dead. Blocks."""
    try:
        place = tempfile.gettempdir()
    except FileNotFoundError:  # nowhere to write: each call will say so
        return []
    return [root for root in sorted(Path(place).glob(f"{PREFIX}*")) if _abandoned(root)]


def _abandoned(root: Path) -> bool:
    namespace, _, rest = root.name.removeprefix(PREFIX).partition("-")
    pid, _, rest = rest.partition("-")
    ticks = rest.partition("-")[0]
    if namespace != own_mark().partition("-")[0] or not pid.isdigit() or not ticks.isdigit():
        return False
    try:
        status = root.lstat()
    except OSError:
        return False
    # Root's folders may belong to an adapter's user by now; other people's are not ours to judge.
    return os.geteuid() in (0, status.st_uid) and start_ticks(int(pid)) != int(ticks)

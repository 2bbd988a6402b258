"""The one place that decides whether an optional file or folder of a dataset is there.

Absent is only what has no entry at all. A link that leads nowhere, a FIFO, a folder where a file is read, or
a place that cannot be looked at is a problem: taken for absent, a default would stand in for it silently.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from scorehost.spec.problems import Place, Problems

if TYPE_CHECKING:
    from pathlib import Path


def optional_file(path: Path, *, shown: str, problems: Problems, within: Path | None = None) -> Path | None:
    """`path` when a regular file, or a link to one (below `within`, if given), lies there; None when nothing
    does, and after a problem was added.
    """
    status = _entry(path, shown, problems)
    if status is None:
        return None
    text = ""
    if stat.S_ISLNK(status.st_mode):
        text = _link_fault(path, within)
    elif not stat.S_ISREG(status.st_mode):
        text = f"must be a file, and is {_what(status.st_mode)}"
    if text:
        problems.add(Place(shown), "", text, "Put the file itself there, or remove it")
    return None if text else path


def optional_folder(path: Path, *, shown: str, problems: Problems) -> Path | None:
    """`path` when a folder lies there, not a link to one; None as `optional_file`."""
    status = _entry(path, shown, problems)
    if status is None or stat.S_ISDIR(status.st_mode):
        return path if status is not None else None
    text = f"must be a folder, and is {_what(status.st_mode)}"
    problems.add(Place(shown), "", text, "Make it a folder of its own, or remove it")
    return None


def present(path: Path) -> bool:
    """Whether there is any entry at `path`, also one that leads nowhere or that may not be looked at."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def _entry(path: Path, shown: str, problems: Problems) -> os.stat_result | None:
    try:
        return path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        problems.add(Place(shown), "", f"cannot be looked at: {error.strerror}", "Make its folder readable")
        return None


def _link_fault(path: Path, within: Path | None) -> str:
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return f"is a link that leads to no file: {error.strerror}"
    if not stat.S_ISREG(mode):
        return f"must be a file, and is a link to {_what(mode)}"
    if within is not None and not path.resolve().is_relative_to(within.resolve()):
        return "is a link that leaves the task"
    return ""


def _what(mode: int) -> str:
    kinds = {
        stat.S_IFREG: "a file",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a FIFO",
        stat.S_IFSOCK: "a socket",
    }
    return kinds.get(stat.S_IFMT(mode), "a device")

"""Folders of ours removed with all that is in them, however deep, also where rights were taken away."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: Path) -> None:
    """Removes a folder, a file or a link; links inside are removed, not followed. Quiet when absent.

    Needs neither a deep stack nor long paths: a folder inside a folder is moved up to the top before its turn
    comes. Raises OSError for the first thing that stays, once all else is gone.
    """
    try:
        top = _opened(path, None)
    except FileNotFoundError:
        return
    except NotADirectoryError:
        path.unlink(missing_ok=True)
        return
    try:
        fault = _emptied(top)
    finally:
        os.close(top)
    if fault is not None:
        raise fault
    with suppress(FileNotFoundError):
        path.rmdir()


def _emptied(top: int) -> OSError | None:
    waiting: list[str] = []
    fault = _cleared(top, top, waiting)
    while waiting:
        name = waiting.pop()
        try:
            folder = _opened(name, top)
            try:
                fault = _cleared(folder, top, waiting) or fault
            finally:
                os.close(folder)
            os.rmdir(name, dir_fd=top)
        except FileNotFoundError:  # somebody else removes it too
            continue
        except OSError as error:
            fault = fault or error
    return fault


def _cleared(folder: int, top: int, waiting: list[str]) -> OSError | None:
    """Removes the files of `folder`, and moves its folders into `top`, where they wait for their turn."""
    fault: OSError | None = None
    with os.scandir(folder) as entries:
        found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    for name, is_folder in found:
        try:
            if not is_folder:
                os.unlink(name, dir_fd=folder)
            elif folder == top:
                waiting.append(name)
            else:
                waiting.append(_moved_up(name, folder, top))
        except FileNotFoundError:
            continue
        except OSError as error:
            fault = fault or error
    return fault


def _moved_up(name: str, folder: int, top: int) -> str:
    fresh = f".gone-{secrets.token_hex(8)}"
    try:
        os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=top)
    except PermissionError:  # a folder that may not be written cannot be moved
        _allow(name, folder)
        os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=top)
    return fresh


def _opened(name: str | Path, folder: int | None) -> int:
    """A folder that can be listed and written, its rights given back where somebody took them away."""
    try:
        found = os.open(name, _FOLDER, dir_fd=folder)
    except PermissionError:
        _allow(name, folder)
        found = os.open(name, _FOLDER, dir_fd=folder)
    if os.fstat(found).st_mode & stat.S_IRWXU != stat.S_IRWXU:
        with suppress(OSError):
            os.fchmod(found, 0o700)
    return found


def _allow(name: str | Path, folder: int | None) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        os.chmod(name, 0o700, dir_fd=folder)

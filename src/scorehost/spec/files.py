"""Trees of a dataset on disk: which files they hold, and which links and other things are refused."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from scorehost.spec.problems import Place, Problems

SOLUTIONS = ("solution", "solution-wrong")
KEY_FILE = "gold.key"
KEY_TEXT = "this name is kept for the secret that binds gold, which no host and no image may hold"
KEY_HINT = (
    "Keep the key beside dataset.yaml, or in the folder that --gold names; call any other file otherwise"
)
# What running Python by hand leaves behind: it is no part of a dataset, and would change its digests.
_LEFTOVERS = {"__pycache__"}
_ANNEX = ".git/annex/objects"
_STEP = 255  # bytes that a file system takes for one name
_PATH = 1024


def collect(folder: Path, *, within: Path, shown: str, problems: Problems) -> dict[str, Path]:
    """Regular files below `folder` by path relative to it with `/`, in order; {} when there is no folder.

    A link to a regular file below `within` stands for that file, unless it is a solution. Every other link is
    a problem, and so is whatever is neither file nor folder; `shown` is how messages call `folder`.
    """
    if not os.path.lexists(folder):
        return {}
    if folder.is_symlink() or not folder.is_dir():
        problems.add(
            Place(shown), "", "must be a folder, and is something else", "Make it a folder of its own"
        )
        return {}
    found: dict[str, Path] = {}
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / prefix), key=lambda entry: entry.name)
        except OSError as error:
            problems.add(
                Place(_name(shown, prefix)), "", f"cannot be read: {error.strerror}", "Make it readable"
            )
            continue
        for entry in entries:
            relative = f"{prefix}/{entry.name}" if prefix else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _LEFTOVERS:
                    waiting.append(relative)
                continue
            if entry.name == KEY_FILE:
                problems.add(Place(_name(shown, relative)), "", KEY_TEXT, KEY_HINT)
                continue
            path = _file(Path(entry.path), within, _name(shown, relative), problems)
            if path is not None:
                found[relative] = path
    return dict(sorted(found.items()))


def _name(shown: str, relative: str) -> str:
    printable = os.fsencode(relative).decode("utf-8", "backslashreplace")
    return f"{shown}/{printable}" if relative else shown


def _file(path: Path, within: Path, shown: str, problems: Problems) -> Path | None:
    mode = path.lstat().st_mode
    if stat.S_ISREG(mode):
        return path
    if not stat.S_ISLNK(mode):
        problems.add(Place(shown), "", "is neither a file nor a folder", "Remove it")
        return None
    target, home = Path(os.path.realpath(path)), Path(os.path.realpath(within))
    fault = _link_fault(target, home)
    if fault and _ANNEX in os.readlink(path):  # noqa: PTH115 - a plain call, as all here
        text = "is a link of git-annex"
        problems.add(Place(shown), "", text, "Run `git annex get` and `git annex unlock` on it")
    elif fault:
        problems.add(Place(shown), "", fault, "Put the file itself there")
    return None if fault else target


def _link_fault(target: Path, home: Path) -> str:
    if not target.is_relative_to(home):
        return "is a link that leaves the task"
    if target.is_dir():
        return "is a link to a folder"
    if not target.is_file():
        return "is a link that leads to no file"
    if target.name == KEY_FILE:
        return f"is a link to {KEY_FILE}"
    if target.relative_to(home).parts[0] in SOLUTIONS:
        return "is a link into a solution"
    return ""


def relative_path_fault(text: str) -> str:
    """Why `text` is no plain relative path with `/`; empty when it is one."""
    steps = text.split("/")
    faults = (
        (not text, "is empty"),
        ("\0" in text, "holds a NUL"),
        (text.startswith("/"), "is absolute"),
        (".." in steps, "holds `..`"),
        ("." in steps or "" in steps, "holds an empty step or `.`"),
        (max(len(step.encode()) for step in steps) > _STEP, f"has a step of more than {_STEP} bytes"),
        (len(text.encode()) > _PATH, f"is longer than {_PATH} bytes"),
    )
    return next((what for wrong, what in faults if wrong), "")

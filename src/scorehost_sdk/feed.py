"""Takes files from a stream and lays them out: what is small comes into a host so, with no upload.

A host to which nothing was uploaded starts with `scorehost.hosts.blueprint.BOOTSTRAP`, which runs this file.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":  # nothing in the working directory stands for a module of the standard library
    sys.path[:] = [entry for entry in sys.path if entry not in ("", ".")]

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Set

FULL = ".full"  # below the root: what uses up the files that could still be made there
_ROOT = "/attempt"
_COARSE_CLOCK = 5  # CLOCK_REALTIME_COARSE of Linux, by which file systems keep their times
_MOST_FILES = 1024  # more than the controller allows to such a file system


def load(read: Callable[[int], bytes], root: str) -> None:
    """Lays out what `read(size)` gives below `root`, which this user can write.

    Four bytes of length, JSON `{"folders": [path], "files": [[path, size, executable]], "links": [[path,
    target]]}`, then the contents, one after another. Files become 0444 (0555 what may be executed). Folders
    stay 0755, since a copy of one has to take files; that the original takes none is what `fill` sees to.
    """
    header: Dict[str, Any] = json.loads(read(int.from_bytes(read(4), "big")).decode("ascii"))
    made: Set[str] = set()
    for folder in header["folders"]:
        _make(root, folder, made)
    for path, size, executable in header["files"]:
        _make(root, path.rpartition("/")[0], made)
        descriptor = os.open(os.fsencode(root + "/" + path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            data = memoryview(read(size))
            while data:
                data = data[os.write(descriptor, data) :]
            os.fchmod(descriptor, 0o555 if executable else 0o444)
        finally:
            os.close(descriptor)
    for path, target in header.get("links", ()):
        _make(root, path.rpartition("/")[0], made)
        os.symlink(target, os.fsencode(root + "/" + path))


def tick() -> int:
    """The time that the kernel gives to what changes now; 0 where it does not say."""
    try:
        return time.clock_gettime_ns(_COARSE_CLOCK)
    except OSError:
        return 0


def pass_tick(known: int) -> None:
    """Waits until what changes from now on gets another time than `known`: milliseconds at most."""
    if not known:
        time.sleep(0.01)
    while known and tick() == known:
        time.sleep(0.0005)


def _make(root: str, folder: str, made: Set[str]) -> None:
    place = root
    for part in folder.split("/") if folder else ():
        place += "/" + part
        if place not in made:
            os.mkdir(os.fsencode(place), 0o700)
            os.chmod(os.fsencode(place), 0o755)  # noqa: S103 - for the user of execs too
            made.add(place)


def fill(root: str) -> None:
    """Uses up what files the file system of `root` can still hold: nothing new can be made there any more.

    For an evaluator, its folders are then as closed as those that an upload makes for root, though they are
    its own user's. Where the kernel counts no files this does nothing; a change is found out all the same.
    """
    place = os.path.join(root, FULL)
    try:
        os.mkdir(place, 0o755)  # who walks through all of the root must not meet what he may not read
        for number in range(_MOST_FILES):
            os.mkdir("%s/%d" % (place, number), 0o755)
    except OSError:
        return
    for number in range(_MOST_FILES):
        os.rmdir("%s/%d" % (place, number))
    os.rmdir(place)


def _begin(read: Callable[[int], bytes]) -> None:
    """Takes runner and SDK, and becomes the runner as if its file had been started."""
    sys.dont_write_bytecode = True  # until the place is full: what is imported lies in folders of this user
    os.chmod(_ROOT, 0o755)  # noqa: S103 - whatever the image's own folder there lets others do
    load(read, _ROOT)
    path = _ROOT + "/.scorehost/runner.py"
    sys.argv[:] = [path]
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec", dont_inherit=True)
    namespace = sys.modules["__main__"].__dict__
    namespace["__file__"] = path
    exec(code, namespace)  # noqa: S102 - that is what this process is for


if __name__ == "__main__":
    _begin(globals()["_read"])

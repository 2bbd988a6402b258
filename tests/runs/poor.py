"""File systems that can do less: the calls that Python makes of the system, refused as those refuse them."""

# ruff: noqa: PTH100, PTH115 - what pathlib calls is replaced here
from __future__ import annotations

import errno
import io
import os
import pathlib

FORBIDDEN = set(':*?"<>|\\')  # in names, on FAT, exFAT and NTFS


def refusal(number, *names):
    return OSError(number, os.strerror(number), *names)


def like_exfat(  # noqa: C901 - one closure for each call
    monkeypatch, below, *, link=errno.EPERM, chmod=errno.EPERM, names=True, folders=0
):
    """No odd names, links or modes `below` a folder; what each is refused with, None where it is not.

    `folders`: what the sync of a folder is refused with; 0: nothing.
    """
    top = os.fspath(below) + "/"

    def is_below(path):
        if isinstance(path, int):
            path = os.readlink(f"/proc/self/fd/{path}")
        return os.path.abspath(os.fsdecode(path)).startswith(top)

    def checked(path):
        inside = os.path.abspath(os.fsdecode(path)).removeprefix(top) if not isinstance(path, int) else ""
        if names and inside and is_below(path) and FORBIDDEN & set(inside):
            raise refusal(errno.EINVAL, path)

    def guarded(module, name, places):
        real = getattr(module, name)

        def call(*given, **more):
            for place in places:
                checked(given[place])
            return real(*given, **more)

        monkeypatch.setattr(module, name, call)

    def refused(name, number, place=0):
        real = getattr(os, name)

        def call(*given, **more):
            if number and is_below(given[place]):
                raise refusal(number, given[place])
            return real(*given, **more)

        monkeypatch.setattr(os, name, call)

    guarded(os, "mkdir", [0])
    guarded(os, "rename", [0, 1])
    guarded(os, "replace", [0, 1])
    guarded(io, "open", [0])
    guarded(os, "open", [0])
    refused("link", link, 1)
    refused("symlink", errno.EPERM, 1)
    refused("fchmod", chmod)
    refused("chmod", chmod)
    real = os.fsync

    def fsync(descriptor):
        if folders and is_below(descriptor) and pathlib.Path(f"/proc/self/fd/{descriptor}").is_dir():
            raise refusal(folders)
        return real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)

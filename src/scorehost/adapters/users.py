"""`adapter_user`: another user for adapters, who cannot read what a submission's producer must not know."""

from __future__ import annotations

import os
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path

from scorehost.errors import UsageError
from scorehost.model.frozen import Frozen

_PROBE_SECONDS = 10
_HOME = "profiles.yaml, adapter_user"
# Prints one word per path: what the user can do with it.
_PROBE = """
for path in "$@"; do
  if [ -d "$path" ]; then if [ -r "$path" ] || [ -x "$path" ]; then echo reached; else echo shut; fi
  elif [ -r "$path" ] || [ -w "$path" ]; then echo reached
  else echo shut; fi
done
"""


class AdapterUser(Frozen):
    """A user of this machine; adapters get its one group and no other."""

    name: str
    uid: int
    gid: int


def find_user(name: str) -> AdapterUser:
    """The user called `name`. UsageError when there is none, it is root, or this process is not root."""
    if os.geteuid() != 0:
        raise UsageError(
            f"{_HOME}: `{name}` needs a job that runs as root", hint="Run it as root, or remove the key"
        )
    try:
        entry = pwd.getpwnam(name)
    except (KeyError, ValueError):
        hint = f"On Debian and Ubuntu: useradd --system --no-create-home {name}"
        raise UsageError(f"{_HOME}: there is no user `{name}` on this machine", hint=hint) from None
    if entry.pw_uid == 0:
        raise UsageError(f"{_HOME}: `{name}` is root, which can read everything", hint="Name another user")
    return AdapterUser(name=name, uid=entry.pw_uid, gid=entry.pw_gid)


def check_user(user: AdapterUser, *, private: Sequence[Path], needed: Sequence[Path]) -> None:
    """Asks the machine, as `user`, what it can reach. Slow (a process): belongs into a thread.

    UsageError for a path of `private` that it can read (or a socket that it can write), and for one of
    `needed` that it cannot read.
    """
    for path, reached in _reach(user, [*private, *needed]).items():
        if path in private and reached:
            raise UsageError(
                f"{_HOME}: `{user.name}` can read {path}", hint=f"Shut it: chmod -R go-rwx {path}"
            )
        if path in needed and not reached:
            hint = "Keep adapters outside the dataset, where that user may read them"
            raise UsageError(f"{_HOME}: `{user.name}` cannot read {path}", hint=hint)


def _reach(user: AdapterUser, paths: Sequence[Path]) -> dict[Path, bool]:
    if not paths:
        return {}
    done = subprocess.run(
        ["/bin/sh", "-c", _PROBE, "sh", *map(str, paths)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=_PROBE_SECONDS,
        cwd="/",
        env={"LC_ALL": "C.UTF-8"},
        user=user.uid,
        group=user.gid,
        extra_groups=[],
    )
    words = done.stdout.split()
    if len(words) != len(paths):
        raise UsageError(f"{_HOME}: nothing can be run as `{user.name}` here", hint="Choose another user")
    return {path: word == b"reached" for path, word in zip(paths, words, strict=True)}

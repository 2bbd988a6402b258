"""What every host's container must be held by, and what is said when an engine did not do it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.engine.unenforced import unenforced_words
from scorehost.model.failure import Failure, Phase, failure

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scorehost.hosts.messages import Promise

# What the keeper looks for in its own container (scorehost_sdk/confinement.py), by its words.
PROMISES: dict[Promise, str] = {
    "network": "it has a network",
    "read_only_root": "its root file system is writable",
    "seccomp": "scorehost's system call filter is not on",
    "no_new_privileges": "it may gain privileges (no-new-privileges is off)",
    "capabilities": "it has capabilities",
    "user": "it runs as root",
}
EVERYTHING = frozenset({*PROMISES, "limits"})
# Runtimes that share the machine's kernel. Others have their own, which our filter does not reach.
_SHARED_KERNEL = frozenset(
    {"", "runc", "crun", "youki", "io.containerd.runc.v2", "io.containerd.runtime.v1.linux"}
)
_HINT = "Mend the engine, or accept it with `--allow-unenforced` (Python: allow_unenforced=True)."


def excused(runtime: str, *, allow_unenforced: bool) -> frozenset[str]:
    """What need not hold in the hosts of a job."""
    if allow_unenforced:
        return EVERYTHING
    return frozenset() if runtime in _SHARED_KERNEL else frozenset({"seccomp"})


def not_held(host: str, unenforced: Iterable[Promise]) -> Failure:
    """The failure of an attempt whose container is not held as it must be."""
    what = ", ".join(PROMISES[name] for name in unenforced)
    text = f"the engine did not hold the host {host} as it was asked to: {what}; nothing was run in it"
    return failure(Phase.START, "start_failed", text, hint=_HINT, retryable=False)


def limits_discarded(host: str, said: Iterable[str]) -> Failure | None:
    """The failure of an attempt at whose host the engine says that it limits less than it was asked to."""
    found = unenforced_words(said)
    if not found:
        return None
    text = f"the engine does not limit the host {host} as it was asked to: {'; '.join(found)}"
    return failure(Phase.START, "start_failed", text, hint=_HINT, retryable=False)

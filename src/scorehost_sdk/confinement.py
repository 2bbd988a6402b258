"""What a container's own kernel says of how it is held: an engine may have left out what it was asked for."""

from __future__ import annotations

import os
from _socket import SOCK_RAW
from _socket import socket as new_socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List

_NETLINK = 16
_READ_ONLY = 1  # ST_RDONLY


def not_held() -> List[str]:
    """The promises that do not hold here, in the controller's words. What the kernel does not tell is not
    reported: the directory of a process is that of this one, before it takes any file.
    """
    said = _status()
    sets = [int(said[name], 16) for name in ("CapEff", "CapPrm", "CapBnd") if name in said]
    broken = {
        "network": _has_route(),
        "read_only_root": _root_is_writable(),
        "seccomp": said.get("Seccomp") == "0" or _netlink_opens(),
        "no_new_privileges": said.get("NoNewPrivs") == "0",
        "capabilities": any(sets),
        "user": os.geteuid() == 0,
    }
    return [name for name, is_broken in broken.items() if is_broken]


def _lines(path: str) -> List[List[str]]:
    try:
        with open(path, "rb") as file:  # bytes: a codec would be imported
            return [line.decode("ascii", "replace").split() for line in file]
    except OSError:
        return []


def _status() -> Dict[str, str]:
    return {words[0].rstrip(":"): words[1] for words in _lines("/proc/self/status") if len(words) > 1}


def _has_route() -> bool:
    """By routes, not by interfaces: where tunnel modules are loaded, every network has their idle devices."""
    four = [words[0] for words in _lines("/proc/net/route")[1:] if words]
    six = [words[-1] for words in _lines("/proc/net/ipv6_route") if words]
    return any(device != "lo" for device in four + six)


def _root_is_writable() -> bool:
    try:
        return not os.statvfs("/").f_flag & _READ_ONLY
    except OSError:
        return False


def _netlink_opens() -> bool:
    """A call that scorehost's own filter refuses, and an engine's default one does not."""
    try:
        new_socket(_NETLINK, SOCK_RAW, 0).close()
    except OSError:
        return False
    return True

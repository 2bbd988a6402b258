"""The system call filter by its own rules: no argument, however spelled, lets one process stop another."""

from __future__ import annotations

import json

import pytest

from scorehost.engine.seccomp import profile

SIGSTOP, F_GETFL, F_SETOWN, F_SETSIG = 19, 3, 8, 10
CALLS = {
    "kill": 1,
    "tkill": 1,
    "tgkill": 2,
    "rt_sigqueueinfo": 1,
    "rt_tgsigqueueinfo": 2,
    "pidfd_send_signal": 1,
}


def is_allowed(name: str, arguments: dict[int, int], *, file_locks: bool = False) -> bool:
    """What the kernel says to a call: allowed when all conditions of one rule hold."""
    syscalls = json.loads(profile(file_locks=file_locks))["syscalls"]
    rules = [rule for rule in syscalls if name in rule["names"]]
    assert all(rule["action"] == "SCMP_ACT_ALLOW" for rule in rules)
    return any(all(_holds(one, arguments) for one in rule.get("args", [])) for rule in rules)


def _holds(condition: dict[str, object], arguments: dict[int, int]) -> bool:
    given = arguments[int(str(condition["index"]))]
    if condition["op"] == "SCMP_CMP_MASKED_EQ":
        return given & int(str(condition["value"])) == condition["valueTwo"]
    assert condition["op"] == "SCMP_CMP_EQ"
    return given == condition["value"]


@pytest.mark.parametrize(("call", "index"), CALLS.items(), ids=CALLS)
def test_every_signal_may_be_sent_but_the_one_that_stops(call, index):
    sent = [number for number in range(65) if is_allowed(call, {index: number})]
    assert sent == [number for number in range(65) if number != SIGSTOP]
    for above in (1 << 32, 1 << 63, 0xFFFFFFFF << 32):
        assert not is_allowed(call, {index: above | SIGSTOP})


def test_no_file_has_the_kernel_send_the_signal_that_stops():
    assert not is_allowed("fcntl", {1: F_SETSIG, 2: SIGSTOP})
    assert not is_allowed("fcntl", {1: 1 << 32 | F_SETSIG, 2: 1 << 32 | SIGSTOP})
    assert not is_allowed("fcntl", {1: F_SETSIG, 2: 1 << 32 | SIGSTOP})
    assert is_allowed("fcntl", {1: F_SETSIG, 2: 10})
    for command in (0, 1, 2, F_GETFL, F_SETOWN, 1025, 1033):
        assert is_allowed("fcntl", {1: command, 2: SIGSTOP})


# As fcntl.h numbers them.
F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW = 6, 7, 37, 38
F_GETLK, F_OFD_GETLK, F_SETLEASE, F_NOTIFY = 5, 36, 1024, 1026
LOCKS = (F_SETLK, F_SETLKW, F_OFD_SETLK, F_OFD_SETLKW)


@pytest.mark.parametrize("command", LOCKS)
def test_parts_of_files_are_locked_only_where_a_task_asks_for_it(command):
    assert not is_allowed("fcntl", {1: command, 2: 0})
    assert not is_allowed("fcntl", {1: 1 << 32 | command, 2: 0})
    assert is_allowed("fcntl", {1: command, 2: 0}, file_locks=True)


@pytest.mark.parametrize("file_locks", [False, True])
def test_leases_and_watches_of_folders_are_refused_and_what_holds_no_memory_is_not(file_locks):
    for command in (F_SETLEASE, F_NOTIFY, 12, 13, 14, 39, 1029, 1039):
        for above in (0, 1 << 32):
            assert not is_allowed("fcntl", {1: above | command, 2: 0}, file_locks=file_locks)
    for command in (0, 1, 2, 3, 4, F_GETLK, F_OFD_GETLK, 1025, 1030, 1031, 1032, 1033, 1034):
        assert is_allowed("fcntl", {1: command, 2: 0}, file_locks=file_locks)
    assert is_allowed("flock", {1: 2})


@pytest.mark.parametrize(("call", "flags"), [("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)])
def test_nothing_is_sent_out_of_band(call, flags):
    oob, dontwait, nosignal, more = 1, 0x40, 0x4000, 0x8000
    assert is_allowed(call, {flags: dontwait | nosignal | more})
    assert not is_allowed(call, {flags: oob})
    assert not is_allowed(call, {flags: dontwait | oob})
    assert not is_allowed(call, {flags: 1 << 32 | oob})


@pytest.mark.parametrize("family", range(64))
def test_sockets_are_local_or_of_the_internet_protocols(family):
    local, four, six = 1, 2, 10
    opened = [
        (kind, protocol)
        for kind in range(1, 6)
        for protocol in (0, 1, 6, 15, 17, 132)
        if is_allowed("socket", {0: family, 1: kind, 2: protocol})
    ]
    assert bool(opened) == (family in (local, four, six))
    assert {protocol for _, protocol in opened} <= ({0, 1, 6, 15, 17, 132} if family == local else {0, 6, 17})

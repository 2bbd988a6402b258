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


def is_allowed(name: str, arguments: dict[int, int]) -> bool:
    """What the kernel says to a call: allowed when all conditions of one rule hold."""
    rules = [rule for rule in json.loads(profile())["syscalls"] if name in rule["names"]]
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
    for command in (0, 1, 2, F_GETFL, F_SETOWN, 1024, 1033):
        assert is_allowed("fcntl", {1: command, 2: SIGSTOP})

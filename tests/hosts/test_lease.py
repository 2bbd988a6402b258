"""Leases tell a living owner from a dead one, and say nothing about other machines."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace

import pytest

from scorehost.files.lease import Lease, Standing, own_lease


def test_this_process_is_alive():
    assert own_lease().standing() is Standing.ALIVE
    assert own_lease().pid == os.getpid()


def test_a_lease_is_read_back_from_its_label():
    assert Lease.parse(str(own_lease())) == own_lease()


@pytest.mark.parametrize("text", ["", "a:b:c", "m:b:n:x:1", "m:b:n:1:", "m:b:n:-1:1", "m:b:n:1:1:1"])
def test_a_label_that_is_no_lease_is_none(text):
    assert Lease.parse(text) is None


def test_a_process_that_ended_is_dead():
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert replace(own_lease(), pid=ended.pid).standing() is Standing.DEAD


def test_a_reused_pid_is_dead():
    other = replace(own_lease(), start_ticks=own_lease().start_ticks + 1)
    assert other.standing() is Standing.DEAD


def test_another_process_that_runs_is_alive():
    parent = os.getppid()
    with open(f"/proc/{parent}/stat", encoding="utf-8") as file:  # noqa: PTH123 - one line
        ticks = int(file.read().rpartition(")")[2].split()[19])
    lease = replace(own_lease(), pid=parent, start_ticks=ticks)
    assert lease.standing() is Standing.ALIVE


def test_before_the_last_boot_everything_is_dead():
    assert replace(own_lease(), boot="another").standing() is Standing.DEAD


@pytest.mark.parametrize("field", ["machine", "pid_namespace"])
def test_of_another_machine_or_namespace_nothing_is_known(field):
    assert replace(own_lease(), **{field: "another"}).standing() is Standing.FOREIGN


def test_a_process_that_only_waits_for_its_parent_owns_nothing_any_more():
    zombie = subprocess.Popen(["true"])
    try:
        with open(f"/proc/{zombie.pid}/stat", encoding="utf-8") as file:  # noqa: PTH123 - one line
            text = file.read()
        ticks = int(text.rpartition(")")[2].split()[19])
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        lease = replace(own_lease(), pid=zombie.pid, start_ticks=ticks)
        assert lease.standing() is Standing.DEAD
    finally:
        zombie.wait()

"""What SIGINT and SIGTERM do to a process that runs a job."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import anyio
import pytest

from scorehost.api.signals import stop_on_signals

PROGRAM = """
import signal, sys, time, anyio
from scorehost.api.signals import stop_on_signals

# Whoever runs the tests may ignore these (nohup, a background job); then they are none of ours to hear.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)

async def main():
    stop, hurry = anyio.Event(), anyio.Event()
    with stop_on_signals(stop, lambda: "20261130-074512-7f3a", hurry):
        print("ready", flush=True)
        await stop.wait()
        print("stopping", flush=True)
        if sys.argv[1] == "held":
            time.sleep(60)  # the loop is held up: the second signal must work all the same
        if sys.argv[1] == "hurry":
            await hurry.wait()
            await anyio.sleep(0.3)
            print("hurried", flush=True)
        if sys.argv[1].startswith("until"):
            await anyio.to_thread.run_sync(sys.stdin.readline)
            print("cleaned", flush=True)
        await anyio.sleep(60 if sys.argv[1] == "slow" else 0)
    sys.exit(7)

anyio.run(main)
"""


def started(how):
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_asks_the_job_to_stop(number):
    process = started("quick")
    process.send_signal(number)
    said, complaint = process.communicate(timeout=20)
    assert said == "stopping\n"
    assert process.returncode == 7
    assert "stopping. Once more hurries it" in complaint


@pytest.mark.parametrize("how", ["slow", "held"])
@pytest.mark.parametrize("signals", [2, 3])
def test_the_second_ends_within_seconds_and_the_third_at_once_naming_the_command_that_cleans_up(how, signals):
    process = started(how)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "stopping\n"
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    if signals > 2:
        assert "4 s for the clean-up" in "".join(process.stderr.readline() for _ in range(4))
        process.send_signal(signal.SIGTERM)
    _, complaint = process.communicate(timeout=20)
    assert time.monotonic() - begun < (5.5 if signals == 2 else 2)
    assert process.returncode == 130
    assert "scorehost clean --job 20261130-074512-7f3a" in complaint
    assert "Traceback" not in complaint


def test_the_second_has_the_job_clean_up_for_what_that_takes():
    process = started("hurry")
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline() == "stopping\n"
    process.send_signal(signal.SIGINT)
    said, complaint = process.communicate(timeout=20)
    assert said == "hurried\n"
    assert process.returncode == 7
    assert "ended at once" not in complaint


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGINT])
def test_a_terminal_that_goes_may_hang_up_more_than_once_and_the_job_still_cleans_up(first):
    process = started("until a line comes")
    process.send_signal(first)
    assert process.stdout.readline() == "stopping\n"
    process.send_signal(signal.SIGHUP)
    said, complaint = process.communicate("go on\n", timeout=20)
    assert said == "cleaned\n"
    assert process.returncode == 7
    assert "ended at once" not in complaint


def test_the_handlers_of_before_are_back_afterwards():
    before = signal.getsignal(signal.SIGTERM)

    async def main():
        with stop_on_signals(anyio.Event(), lambda: ""):
            assert signal.getsignal(signal.SIGTERM) != before

    anyio.run(main)
    assert signal.getsignal(signal.SIGTERM) == before

"""Output that is kept in halves, and time limits that can stand still."""

from __future__ import annotations

import time

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorehost.files.capture import Capture
from scorehost.hosts.clock import StandingClock


def test_output_within_the_limit_is_kept_whole():
    capture = Capture(10)
    capture.add(b"01234")
    capture.add(b"56789")
    assert (capture.content(), capture.truncated, capture.total) == (b"0123456789", False, 10)


def test_output_past_the_limit_keeps_both_ends_and_says_what_is_missing():
    capture = Capture(10)
    for piece in (b"abc", b"defgh", b"ij", b"klmnopqrstuvwxy", b"z"):
        capture.add(piece)
    # 26 letters: the first 5, the last 5, 16 between them
    assert capture.content() == b"abcde\n[scorehost: 16 bytes left out here]\nvwxyz"
    assert (capture.truncated, capture.total) == (True, 26)


def test_an_odd_limit_gives_the_odd_byte_to_the_end():
    capture = Capture(3)
    capture.add(b"abcde")
    assert capture.content() == b"a\n[scorehost: 2 bytes left out here]\nde"


@given(st.lists(st.binary(max_size=50), max_size=40), st.integers(2, 60))
def test_pieces_make_no_difference(pieces, limit):
    whole, parts = Capture(limit), Capture(limit)
    whole.add(b"".join(pieces))
    for piece in pieces:
        parts.add(piece)
    assert parts.content() == whole.content()
    if sum(map(len, pieces)) <= limit:
        assert parts.content() == b"".join(pieces)


def test_no_more_than_the_limit_and_one_piece_is_held():
    capture = Capture(1000)
    for _ in range(1000):
        capture.add(b"x" * 700)
        held = len(capture._head) + sum(map(len, capture._tail))
        assert held <= 1000 + 700


@pytest.mark.anyio
async def test_a_clock_runs_out_after_its_seconds():
    clock = StandingClock(0.05)
    begun = anyio.current_time()
    clock.start()
    with anyio.fail_after(5):
        await clock.expired()
    assert anyio.current_time() - begun >= 0.05


@pytest.mark.anyio
async def test_a_clock_that_was_not_started_never_runs_out():
    clock = StandingClock(0.01)
    with clock.standing():
        pass
    with anyio.move_on_after(0.1) as waited:
        await clock.expired()
    assert waited.cancelled_caught


@pytest.mark.anyio
async def test_a_clock_stands_while_any_of_several_pauses_lasts():
    clock = StandingClock(0.1)
    clock.start()
    ended: list[float] = []
    begun = anyio.current_time()

    async def watch():
        await clock.expired()
        ended.append(anyio.current_time() - begun)

    async def pause(seconds: float):
        with clock.standing():
            await anyio.sleep(seconds)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            group.start_soon(pause, 0.2)
            group.start_soon(pause, 0.4)
    assert ended[0] >= 0.5


@pytest.mark.anyio
async def test_a_clock_started_during_a_pause_runs_from_its_end():
    clock = StandingClock(0.05)
    begun = anyio.current_time()
    with clock.standing():
        clock.start()
        await anyio.sleep(0.2)
    with anyio.fail_after(5):
        await clock.expired()
    assert anyio.current_time() - begun >= 0.25


@pytest.mark.anyio
async def test_what_an_engine_is_late_with_an_answer_is_given_back(monkeypatch):
    monkeypatch.setattr("scorehost.hosts.clock.PROMPT_SECONDS", 0.05)
    clock = StandingClock(0.2)
    begun = anyio.current_time()
    clock.start()
    async with anyio.create_task_group() as group:

        async def late():
            with clock.asking():
                await anyio.sleep(0.5)

        group.start_soon(late)
        with anyio.fail_after(5):
            await clock.expired()
    assert anyio.current_time() - begun >= 0.65  # 0.2 of its own, 0.45 of the engine's lateness


@pytest.mark.anyio
async def test_questions_that_are_answered_promptly_stretch_no_time_however_many_there_are():
    clock = StandingClock(0.2)
    clock.start()
    begun = anyio.current_time()
    async with anyio.create_task_group() as group:

        async def asks():
            while True:
                with clock.asking():
                    await anyio.sleep(0.03)

        for _ in range(5):
            group.start_soon(asks)
        await clock.expired()
        group.cancel_scope.cancel()
    assert anyio.current_time() - begun < 0.6


@pytest.mark.anyio
async def test_what_this_process_slept_over_is_on_no_clock(monkeypatch):
    monkeypatch.setattr("scorehost.hosts.clock.LOOK_SECONDS", 0.05)
    clock = StandingClock(0.3)
    clock.start()
    ran = []

    async def expires():
        await clock.expired()
        ran.append("out")

    async with anyio.create_task_group() as group:
        group.start_soon(expires)
        await anyio.sleep(0.06)
        time.sleep(0.5)  # noqa: ASYNC251 - as a process that is stopped: nothing of it runs
        await anyio.sleep(0.06)
        assert not ran
        with anyio.fail_after(5):
            await clock.expired()

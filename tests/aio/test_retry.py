"""Retries as one value: how many tries, how long the pauses."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorehost.aio.retry import Retry


def pauses(retry: Retry, most: int = 10) -> list[float]:
    found = (retry.after(tried) for tried in range(1, most))
    return [pause for pause in found if pause is not None]


@pytest.mark.parametrize(
    ("retry", "expected"),
    [
        (Retry(1), []),
        (Retry(2), [0]),
        (Retry(3, pause=0.5, growth=2), [0.5, 1]),
        (Retry(3, pause=0.1, growth=5), [0.1, 0.5]),
        (Retry(5, pause=1, growth=10, most=30), [1, 10, 30, 30]),
        (Retry(None, pause=1), [1] * 9),
    ],
)
def test_there_are_so_many_tries_and_the_pauses_grow_up_to_the_longest(retry, expected):
    assert pauses(retry) == pytest.approx(expected)


def test_what_the_other_side_asks_for_takes_the_place_of_the_pause_but_gives_no_further_try():
    retry = Retry(2, pause=1)
    assert (retry.after(1, asked=7), retry.after(1, asked=0)) == (7, 0)
    assert retry.after(2, asked=7) is None


def test_jitter_only_lengthens_a_pause_and_by_no_more_than_its_share():
    retry = Retry(None, pause=2, jitter=0.25)
    found = pauses(retry, 200)
    assert min(found) >= 2
    assert max(found) <= 2.5
    assert len(set(found)) > 1


@given(
    tried=st.integers(1, 10**6),
    growth=st.floats(1, 1e3),
    pause=st.floats(0, 1e6),
    most=st.floats(0, 1e9),
    jitter=st.floats(0, 1),
)
def test_no_pause_is_ever_longer_than_the_longest_and_its_jitter(tried, growth, pause, most, jitter):
    found = Retry(None, pause=pause, growth=growth, most=most, jitter=jitter).after(tried)
    assert found is not None
    assert 0 <= found <= most * (1 + jitter)
    assert math.isfinite(found)

"""The engine's framing, cut in every way that a network may cut it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorehost.engine.frames import Demultiplexer, FramingError

NAMES = {1: "stdout", 2: "stderr"}


def frame(number: int, data: bytes) -> bytes:
    return bytes([number, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


@given(
    st.lists(st.tuples(st.sampled_from([1, 2]), st.binary(max_size=300)), max_size=12),
    st.lists(st.integers(min_value=1, max_value=40), min_size=1),
)
def test_any_fragmentation_gives_the_same_bytes_per_stream_in_order(frames, cuts):
    wire = b"".join(frame(number, data) for number, data in frames)
    frames_in = Demultiplexer()
    chunks = []
    position = turn = 0
    while position < len(wire):
        size = cuts[turn % len(cuts)]
        chunks += frames_in.feed(wire[position : position + size])
        position, turn = position + size, turn + 1
    for number, name in NAMES.items():
        expected = b"".join(data for kind, data in frames if kind == number)
        assert b"".join(chunk.data for chunk in chunks if chunk.stream == name) == expected
    assert frames_in.at_boundary


def test_a_frame_of_4_gb_is_passed_on_as_it_comes():
    frames_in = Demultiplexer()
    assert frames_in.feed(b"\x01\0\0\0\xff\xff\xff\xff") == []
    (chunk,) = frames_in.feed(b"part")
    assert chunk.data == b"part"
    assert not frames_in.at_boundary


def test_no_chunk_is_longer_than_64_kib():
    chunks = Demultiplexer().feed(frame(2, bytes(200_000)))
    assert [len(chunk.data) for chunk in chunks] == [65_536, 65_536, 65_536, 3_392]


def test_an_end_inside_a_header_is_no_clean_end():
    frames_in = Demultiplexer()
    frames_in.feed(b"\x01\0\0")
    assert not frames_in.at_boundary


@pytest.mark.parametrize("header", [b"\x07\0\0\0\0\0\0\1", b"\x03\0\0\0\0\0\0\1", b"HTTP/1.1"])
def test_bytes_that_are_no_frame_are_refused(header):
    with pytest.raises(FramingError):
        Demultiplexer().feed(header)

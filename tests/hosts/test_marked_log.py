"""The mark that ends a log is found in whatever pieces it comes, and everything else is kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scorehost.files.capture import Capture
from scorehost.hosts.marked_log import MarkedLog

MARK = b"\0scorehost 0123\n"


def marked(*pieces: bytes) -> tuple[bytes, bool]:
    kept = Capture(1 << 20)
    log = MarkedLog(kept, MARK)
    for piece in pieces:
        log.add(piece)
    ended = log.ended
    log.end()
    return kept.content(), ended


@given(text=st.binary(max_size=60), cuts=st.lists(st.integers(0, 90), max_size=6))
def test_a_mark_in_any_pieces_ends_the_log_and_is_not_in_it(text, cuts):
    data, places = text + MARK, sorted(cuts)
    pieces = [data[start:end] for start, end in zip([0, *places], [*places, len(data)], strict=True)]
    assert marked(*pieces) == (text.replace(MARK, b""), True)


PIECES = [b"\0", b"\0score", b"host ", b"\n", b"x", MARK[:-1], b""]


@given(pieces=st.lists(st.sampled_from(PIECES), max_size=8))
def test_what_only_begins_as_a_mark_is_kept(pieces):
    if MARK not in b"".join(pieces):
        assert marked(*pieces) == (b"".join(pieces), False)


def test_what_is_written_after_the_mark_is_kept_too():
    assert marked(b"a" + MARK, b"b") == (b"ab", True)

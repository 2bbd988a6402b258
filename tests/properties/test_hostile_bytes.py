"""Whatever bytes come from outside, only the declared errors come of them, in bounded memory."""

# ruff: noqa: PT017 - what an error says is checked where it is allowed, never required

from __future__ import annotations

import json
import time
import tracemalloc
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scorehost.attempt.binding import bind
from scorehost.engine.translate import refused, words_of
from scorehost.errors import AttemptFailed, SpecError
from scorehost.files.capture import Capture
from scorehost.files.lease import Lease, Standing, own_lease
from scorehost.hosts.frames import MAX_FRAME, ChannelViolation, FrameReader, new_key
from scorehost.model.json import BadJson, canonical, dump, parse
from scorehost.runs.journal import FILE, open_journal, read_history
from scorehost.runs.record import JobRecord
from scorehost.spec.task import Output
from scorehost.spec.yaml_reader import parse_yaml

MIB = 1024 * 1024
QUICK = settings(deadline=None, max_examples=200)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=12,
)
DEEP = b"[" * 100_000
LONG_NUMBER = b"1" * 50_000


@contextmanager
def at_most(mib: float, seconds: float = 2.0):
    """Fails when the block takes more new memory of Python, at its peak, or more time."""
    begun = time.perf_counter()
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= mib * MIB
    assert time.perf_counter() - begun <= seconds


# --- JSON ---------------------------------------------------------------------------------------------------


@QUICK
@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
@example(DEEP)
@example(LONG_NUMBER)
@example(b'{"a":' * 50_000)
@example(b'"\\ud800"')
def test_any_bytes_are_strict_json_or_bad_json(data):
    try:
        value = parse(data, max_bytes=1_000_000)
    except BadJson as error:
        assert len(str(error)) < 300
        return
    # What was taken can be written again, and is the same then.
    assert parse(canonical(value), max_bytes=4_000_000) == parse(dump(value), max_bytes=4_000_000)


def test_json_that_is_too_long_is_not_even_looked_at():
    data = b"[" + b"[]," * 4_000_000 + b"[]]"
    with at_most(0.1, 0.5), pytest.raises(BadJson, match="bytes"):
        parse(data, max_bytes=MIB)


# --- YAML ---------------------------------------------------------------------------------------------------

BOMB = b"a: &a [x,x,x,x,x,x,x,x,x]\n" + b"".join(
    b"%c: &%c [%s]\n" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in range(12)
)


@pytest.mark.parametrize(
    "data",
    [
        BOMB,
        b"a: &a [*a]\n",
        b"x: " + DEEP,
        b"- " * 50_000,
        b"? " * 50_000,
        b"a: " + LONG_NUMBER,
        b"&a " * 50_000,
        b"'" * 99_999,
        b"a: |\n" + b" x\n" * 30_000,
        b"%TAG ! x\n" * 10_000,
        b"\xff" * 100_000,
        b"#" * 100_000,
    ],
)
def test_yaml_made_to_hurt_ends_in_a_second_and_100_mib(data):
    with at_most(100, 1.0 * 3), suppress(SpecError):  # tracing slows it down about three times
        parse_yaml(data, file="t.yaml")


# --- the channel --------------------------------------------------------------------------------------------


@QUICK
@given(st.lists(st.binary(max_size=60), max_size=12))
def test_whatever_comes_on_the_channel_is_a_frame_or_a_violation_for_ever(pieces):
    reader = FrameReader(new_key())
    broken = False
    for piece in pieces:
        try:
            assert reader.feed(piece) == []  # nobody here knows the key
            assert not broken
        except ChannelViolation:
            broken = True


@pytest.mark.parametrize("size", [0, 64, MAX_FRAME + 1, 2**32 - 1])
def test_a_frame_that_says_an_impossible_size_is_refused_at_its_first_four_bytes(size):
    reader = FrameReader(new_key())
    with at_most(1), pytest.raises(ChannelViolation):
        reader.feed(size.to_bytes(4, "big"))


def test_a_reader_holds_no_more_than_a_frame_and_its_copies_of_what_is_never_finished():
    reader = FrameReader(new_key())
    piece = b"x" * 65_536
    with at_most(64, 20):
        reader.feed(MAX_FRAME.to_bytes(4, "big"))
        with pytest.raises(ChannelViolation):
            for _ in range(100_000_000 // len(piece)):
                reader.feed(piece)


# --- results ------------------------------------------------------------------------------------------------


@QUICK
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "status": st.sampled_from(["PASS", "FAIL", "ERROR", "pass", True, None]) | JSON,
            "score": st.floats() | st.integers() | JSON,
            "metrics": JSON,
            "checks": st.lists(
                st.fixed_dictionaries(
                    {"id": st.text() | JSON, "status": st.sampled_from(["PASS", "FAIL", "SKIP", "x"]) | JSON},
                    optional={"score": JSON, "details": JSON, "visibility": JSON, "exec": JSON, "tags": JSON},
                )
                | JSON,
                max_size=4,
            )
            | JSON,
        },
    )
    | JSON,
    st.sampled_from([Output(), Output(score_range=(-2.5, 10)), Output(score_range=None)]),
)
def test_whatever_an_evaluator_returns_is_a_verdict_in_range_or_a_named_failure(value, output):
    try:
        verdict = bind(value, output, task=Path(__file__).parent)
    except AttemptFailed as error:
        assert error.failure.kind in ("invalid_result", "result_too_large")
        assert error.failure.message.isprintable()
        return
    low, high = output.score_range or (float("-inf"), float("inf"))
    assert low <= verdict.score <= high
    assert len({check.id for check in verdict.checks}) == len(verdict.checks)
    assert all(warning.isprintable() for warning in verdict.warnings)
    # What is kept is strict JSON.
    parse(dump(dict(verdict.metrics)), max_bytes=4 * MIB)
    parse(dump([check.model_dump(mode="json") for check in verdict.checks]), max_bytes=64 * MIB)


# --- files of a job -----------------------------------------------------------------------------------------

LINES = st.lists(st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()), max_size=6).map(
    b"\n".join
)


@QUICK
@given(data=LINES)
@example(data=b"")
@example(data=DEEP + b"\n{}\n")
@example(data=b'{"prev": ' + LONG_NUMBER + b"}\n")
@example(data=b'{"kind": [], "key": "a"}\n{"kind": "attempt_finished", "key": "k", "result": {"a": NaN}}\n')
def test_a_journal_of_any_bytes_is_read_and_can_be_written_on(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("journal")
    (folder / FILE).write_bytes(data)
    history = read_history(folder / FILE)
    assert data[: history.end] + history.torn == data
    with open_journal(folder, history) as journal:
        journal.write("after", durable=True)
    again = read_history(folder / FILE)
    assert again.torn == b""
    assert again.lines == history.lines + 1 + bool(history.torn) + (history.broken is not None)


@QUICK
@given(st.binary(max_size=100) | JSON.map(lambda value: json.dumps(value).encode()))
@example(DEEP)
def test_job_json_of_any_bytes_is_a_record_or_a_validation_error(data):
    with suppress(ValueError):  # pydantic's ValidationError is one
        JobRecord.model_validate_json(data)


# --- leases -------------------------------------------------------------------------------------------------


@QUICK
@given(
    st.text() | st.lists(st.text(alphabet="0123456789²٣a", max_size=6), min_size=4, max_size=6).map(":".join)
)
@example("a:b:c:²:1")
@example("a:b:c:٣:1")
@example("a:b:c:1:" + "9" * 5_000)
@example("::::")
def test_a_label_of_any_text_is_a_lease_or_none(text):
    lease = Lease.parse(text)
    if lease is not None:
        assert str(lease) == text or lease.pid >= 0
        assert lease.standing() in Standing


def test_a_lease_reads_back_as_it_was_written():
    assert Lease.parse(str(own_lease())) == own_lease()
    assert own_lease().standing() is Standing.ALIVE


# --- words of an engine -------------------------------------------------------------------------------------


@QUICK
@given(st.binary(max_size=200) | JSON.map(lambda value: json.dumps({"message": value}).encode()))
@example(DEEP)
@example(b'{"message": ' + LONG_NUMBER + b"}")
def test_an_engines_words_of_any_kind_make_a_message(body):
    error = refused(500, words_of(body), "do it")
    assert error.message.startswith("The Docker engine refused to do it: ")
    assert len(error.message) < 2_200


# --- output -------------------------------------------------------------------------------------------------


@QUICK
@given(st.lists(st.binary(max_size=200), max_size=20), st.integers(2, 300))
def test_output_keeps_its_begin_and_end_and_says_what_is_missing(pieces, limit):
    whole = b"".join(pieces)
    capture = Capture(limit)
    for piece in pieces:
        capture.add(piece)
    kept = capture.content()
    assert capture.total == len(whole)
    if len(whole) <= limit:
        assert kept == whole
    else:
        head, mark, tail = kept.partition(b"\n[scorehost: %d bytes left out here]\n" % (len(whole) - limit))
        assert mark
        assert (head, tail) == (whole[: limit // 2], whole[-(limit - limit // 2) :])


@pytest.mark.parametrize("piece", [2, 1_000, 65_536])
def test_a_flood_in_pieces_of_any_size_takes_no_more_than_its_limit_and_a_little(piece):
    # Kept one by one, pieces of two bytes would take more than twenty times what they hold.
    capture = Capture(MIB)
    with at_most(2, 20):
        for number in range(min(20 * MIB // piece, 600_000)):
            capture.add((number % 65_536).to_bytes(2, "big") * (piece // 2))

"""The channel, from the controller's side: only what the runner may say now is heard."""

import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorehost.hosts.frames import (
    MAX_ARGV_ENV,
    MAX_EXECS,
    MAX_FRAME,
    MAX_LOG_LINES,
    MAX_OPEN,
    MAX_PART,
    Budget,
    BudgetSpent,
    ChannelViolation,
    Exec,
    FailedFrame,
    FrameReader,
    FrameWriter,
    Hello,
    Log,
    Open,
    Receive,
    Reset,
    ResultFrame,
    Start,
    new_key,
)

KEY = bytes(range(16))
HELLO = {"kind": "hello", "python": "3.11.2", "trees": {}}
USAGE = {"peak_memory_bytes": None, "cpu_seconds": 1}
RESULT = {"kind": "result", "value": {"status": "PASS"}}
ENDED = {
    "kind": "ended",
    "status": 0,
    "stopped": False,
    "broken": False,
    "oom_kills": 0,
    "usage": USAGE,
    "trees": {"/a": "sha256:0"},
}


def framed(document, counter, key=KEY, who=None):
    """A frame as docs/architecture.md spells it, without the code under test."""
    if who is None:
        who = b"k" if isinstance(document, dict) and document.get("kind") in ("hello", "ended") else b"e"
    body = who + (document if isinstance(document, bytes) else json.dumps(document).encode())
    mac = hmac.new(key, counter.to_bytes(8, "big") + body, hashlib.sha256).hexdigest().encode()
    return (64 + len(body)).to_bytes(4, "big") + mac + body


def stream(*documents, key=KEY):
    return b"".join(framed(document, counter, key) for counter, document in enumerate(documents))


def read(*documents):
    return FrameReader(KEY).feed(stream(*documents))


def request(kind, number, **fields):
    return {"kind": kind, "id": number, **fields}


def run(number=1, **fields):
    return request("exec", number, **{"name": "box", "argv": ["true"], **fields})


def test_an_exec_arrives_as_it_was_sent():
    stdin = base64.b64encode(b"\0\xff").decode()
    _, frame = read(HELLO, run(env={"A": "1"}, workdir="/tmp", timeout=3, stdin=stdin))
    assert frame == Exec(
        kind="exec",
        id=1,
        name="box",
        argv=("true",),
        env={"A": "1"},
        workdir="/tmp",
        timeout=3.0,
        stdin=b"\0\xff",
    )


@given(cuts=st.lists(st.integers(0, 900), max_size=8))
def test_frames_are_whole_however_their_bytes_are_cut(cuts):
    data = stream(HELLO, run(1), request("log", 2, text="é"), RESULT, ENDED)
    reader, frames, start = FrameReader(KEY), [], 0
    for end in [*sorted(cuts), len(data)]:
        frames += reader.feed(data[start:end])
        start = max(start, end)
    assert [frame.kind for frame in frames] == ["hello", "exec", "log", "result", "ended"]
    assert reader.ended
    assert not reader.mid_frame


@settings(max_examples=200)
@given(data=st.binary(max_size=400))
def test_random_bytes_are_silence_or_a_violation(data):
    reader = FrameReader(KEY)
    try:
        assert reader.feed(data) == []
    except ChannelViolation:
        with pytest.raises(ChannelViolation):
            reader.feed(b"")


@settings(max_examples=200)
@given(
    document=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["kind", "id", "name", "argv", "data", "x"]), inner, max_size=4)
        ),
        max_leaves=8,
    )
)
def test_well_signed_nonsense_is_a_violation(document):
    with pytest.raises(ChannelViolation):
        read(HELLO, document)


def test_a_reader_never_recovers_from_a_violation():
    reader = FrameReader(KEY)
    with pytest.raises(ChannelViolation):
        reader.feed(stream(HELLO, key=bytes(16)))
    with pytest.raises(ChannelViolation):
        reader.feed(stream(HELLO))


def test_a_frame_under_another_key_is_refused():
    with pytest.raises(ChannelViolation, match="did not make"):
        FrameReader(KEY).feed(stream(HELLO, key=new_key()))


def test_a_frame_played_again_is_refused():
    with pytest.raises(ChannelViolation, match="did not make"):
        FrameReader(KEY).feed(stream(HELLO) + framed(run(1), 1) + framed(run(1), 1))


def test_a_reply_of_the_controller_played_back_is_refused():
    writer = FrameWriter(KEY)
    with pytest.raises(ChannelViolation, match="did not make"):
        FrameReader(KEY).feed(writer.reply(1, None))


def test_a_frame_that_says_it_is_4_gb_is_refused_at_its_header():
    with pytest.raises(ChannelViolation, match="4294967295 bytes"):
        FrameReader(KEY).feed(b"\xff\xff\xff\xff")


@pytest.mark.parametrize("size", [0, 64])
def test_a_frame_without_a_body_is_refused(size):
    with pytest.raises(ChannelViolation):
        FrameReader(KEY).feed(size.to_bytes(4, "big") + b"0" * size)


@pytest.mark.parametrize("more", [run(1), request("log", 1, text=""), RESULT], ids=["exec", "log", "result"])
def test_only_the_keepers_last_word_may_follow_a_result(more):
    with pytest.raises(ChannelViolation, match="after its result"):
        read(HELLO, RESULT, more)
    assert read(HELLO, RESULT, ENDED)[-1].kind == "ended"


@pytest.mark.parametrize("last", [(RESULT, ENDED), (ENDED,)], ids=["result", "none"])
def test_nothing_may_follow_the_keepers_last_word(last):
    reader = FrameReader(KEY)
    reader.feed(stream(HELLO, *last))
    assert reader.ended
    with pytest.raises(ChannelViolation, match="last word"):
        reader.feed(b"\n")


@pytest.mark.parametrize(
    ("document", "who"),
    [(ENDED, b"e"), (RESULT, b"k"), (run(1), b"k"), (RESULT, b"x"), (ENDED, b"{")],
    ids=["the end told by the evaluator", "a result of the keeper's", "its exec", "nobody", "no letter"],
)
def test_keeper_and_evaluator_cannot_speak_for_each_other(document, who):
    with pytest.raises(ChannelViolation, match="keeper"):
        FrameReader(KEY).feed(stream(HELLO) + framed(document, 1, who=who))


def test_the_word_that_time_is_over_is_no_reply():
    data = FrameWriter(KEY).time_is_over()
    assert data[4:68] == hmac.new(KEY, b"time" + bytes(8) + data[68:], "sha256").hexdigest().encode()
    assert json.loads(data[68:]) == {"kind": "time"}


@pytest.mark.parametrize(
    "documents",
    [
        [run(1)],
        [RESULT],
        [HELLO, HELLO],
        [HELLO, RESULT, RESULT],
        [HELLO, run(2), run(2)],
        [HELLO, run(2), run(1)],
        [HELLO, request("stdin", 1, data="AA=="), request("log", 2, text="")],
        [HELLO, request("stdin", 1, data="AA=="), run(2)],
        [HELLO, request("stdin", 1, data="AA=="), RESULT],
    ],
    ids=lambda documents: "-".join(str(document.get("kind")) for document in documents),
)
def test_frames_out_of_order_are_refused(documents):
    with pytest.raises(ChannelViolation):
        read(*documents)


@pytest.mark.parametrize(
    "document",
    [
        run(number=True),
        run(0),
        run(1.0),
        run("1"),
        run(1, argv=[]),
        run(1, argv="true"),
        run(1, argv=["a\0b"]),
        run(1, argv=[1]),
        run(1, timeout="3"),
        run(1, timeout=-1),
        run(1, timeout=True),
        run(1, stdin="not base64!"),
        run(1, stdin=[1]),
        run(1, env={"A": None}),
        run(1, surprise=1),
        request("invent", 1),
        request("send", 1, process=1, data=base64.b64encode(b"x" * (MAX_PART + 1)).decode()),
        request("write_file", 1, name=None, path="", data="", more=False),
        {**RESULT, "value": ["PASS"]},
        {**RESULT, "trees": {}},
        {**ENDED, "usage": {"peak_memory_bytes": -1, "cpu_seconds": None}},
        {**ENDED, "status": 256},
        {key: value for key, value in ENDED.items() if key != "trees"},
        {**RESULT, "id": 1},
        {
            "kind": "failed",
            "error": {"kind": "PASS", "type": "", "place": "", "message": ""},
        },
        [],
        b"{",
        b'{"kind":"log","id":1,"id":2,"text":""}',
        b'{"kind":"log","id":1,"text":"\xff"}',
        b'{"kind":"exec","id":1,"name":"b","argv":["a"],"timeout":NaN}',
        b'{"kind":"exec","id":1,"name":"b","argv":["a"],"timeout":1e999}',
        b"[" * 100_000,
    ],
    ids=lambda document: str(document)[:60],
)
def test_a_malformed_frame_is_refused(document):
    with pytest.raises(ChannelViolation):
        read(HELLO, document)


def test_a_violation_quotes_nothing_of_the_frame():
    with pytest.raises(ChannelViolation) as caught:
        read(HELLO, run(1, argv=["the gold"], **{"a gold key": 1}))
    assert "gold" not in str(caught.value)


def test_parts_of_stdin_become_one():
    parts = [b"a" * 5, b"b" * 3]
    encoded = [base64.b64encode(part).decode() for part in parts]
    last = base64.b64encode(b"c").decode()
    frames = read(HELLO, *[request("stdin", 7, data=text) for text in encoded], run(7, stdin=last))
    assert frames[1].stdin == b"aaaaabbbc"


def test_stdin_has_a_limit_over_all_its_parts():
    part = base64.b64encode(bytes(MAX_PART)).decode()
    reader = FrameReader(KEY)
    reader.feed(stream(HELLO))
    for counter in range(1, 17):  # 16 parts of 4 MiB are the 64 MiB that are allowed
        reader.feed(framed(request("stdin", 1, data=part), counter))
    with pytest.raises(ChannelViolation, match="stdin"):
        reader.feed(framed(request("stdin", 1, data="AA=="), 17))


def test_a_result_keeps_what_the_evaluator_returned():
    value = {"status": "pass", "score": 10**400, "checks": [{"x": "\ud800"}]}
    _, frame = read(HELLO, {**RESULT, "value": value})
    assert isinstance(frame, ResultFrame)
    assert frame.value == value


def test_a_failure_is_read():
    error = {"kind": "evaluator_exception", "type": "ValueError", "place": "evaluator.py:3", "message": "m"}
    _, frame = read(HELLO, {"kind": "failed", "error": error})
    assert isinstance(frame, FailedFrame)
    assert frame.error.model_dump() == error


def test_hello_says_whether_the_runner_is_closed_to_others():
    (frame,) = read({**HELLO, "dumpable": True})
    assert isinstance(frame, Hello)
    assert frame.dumpable


def start_frame(**inputs):
    return Start(
        entrypoint="evaluator:evaluate",
        inputs=inputs,
        environments=("box",),
        single=False,
        trees=("/attempt/task",),
    )


def test_start_hands_over_the_key_and_all_fields():
    data = FrameWriter(KEY).start(start_frame(parameters={"a": [1]}))
    assert int.from_bytes(data[:4], "big") == len(data) - 4
    assert json.loads(data[4:]) == {
        "kind": "start",
        "key": "000102030405060708090a0b0c0d0e0f",
        "entrypoint": "evaluator:evaluate",
        "inputs": {"parameters": {"a": [1]}},
        "environments": ["box"],
        "gold": [],
        "single": False,
        "roles": [],
        "phase": "evaluate",
        "fed": False,
        "alone": False,
        "shared": [],
        "any_name": False,
        "excused": [],
        "trees": ["/attempt/task"],
        "limits": {
            "metrics_bytes": 1048576,
            "metrics_depth": 16,
            "checks_bytes": 8388608,
            "checks_rows": 10000,
            "frame_bytes": 16777216,
        },
    }


def test_replies_carry_a_mac_over_their_label_counter_and_body():
    writer = FrameWriter(KEY)
    writer.start(start_frame())
    replies = [
        writer.reply(3, {"stdout": b"\xff", "ended": True}),
        writer.refuse(4, "LimitReached", "enough"),
    ]
    for counter, data in enumerate(replies):
        mac, body = data[4:68], data[68:]
        assert (
            mac == hmac.new(KEY, b"reply" + counter.to_bytes(8, "big") + body, "sha256").hexdigest().encode()
        )
    assert json.loads(replies[0][68:]) == {
        "kind": "reply",
        "id": 3,
        "ok": True,
        "value": {"stdout": "/w==", "ended": True},
    }
    assert json.loads(replies[1][68:])["error"] == {"type": "LimitReached", "message": "enough"}


def test_a_reply_that_is_too_large_is_not_counted():
    writer = FrameWriter(KEY)
    with pytest.raises(ValueError, match="more than"):
        writer.reply(1, {"data": bytes(MAX_FRAME)})
    body = writer.reply(1, None)
    assert body[4:68] == hmac.new(KEY, b"reply" + bytes(8) + body[68:], "sha256").hexdigest().encode()


def test_execs_opens_and_resets_share_one_budget():
    budget = Budget()
    for number in range(1, MAX_EXECS - 1):
        budget.spend(Exec(kind="exec", id=number, name=None, argv=("a",)))
    budget.spend(Reset(kind="reset", id=3000, name="box"))
    budget.spend(Open(kind="open", id=3001, name="box", argv=("a",)))
    with pytest.raises(BudgetSpent, match="2000"):
        budget.spend(Exec(kind="exec", id=3002, name=None, argv=("a",)))
    budget.spend(Receive(kind="receive", id=3003, process=1))


def test_open_processes_are_counted_until_they_are_closed():
    budget = Budget()
    for number in range(1, MAX_OPEN + 1):
        budget.spend(Open(kind="open", id=number, name="box", argv=("a",)))
    another = Open(kind="open", id=99, name="box", argv=("a",))
    with pytest.raises(BudgetSpent, match="16 processes"):
        budget.spend(another)
    budget.closed()
    budget.spend(another)


def test_argv_and_env_together_have_a_limit_in_bytes():
    budget, half = Budget(), "é" * (MAX_ARGV_ENV // 4)  # two bytes each: half of what is allowed
    budget.spend(Exec(kind="exec", id=1, name=None, argv=(half,)))
    with pytest.raises(BudgetSpent, match="stdin"):
        budget.spend(Exec(kind="exec", id=2, name=None, argv=(half,), env={"A": half}))


def test_a_flood_of_journal_lines_is_a_violation():
    budget, line = Budget(), Log(kind="log", id=1, text="x")
    for _ in range(MAX_LOG_LINES):
        budget.spend(line)
    with pytest.raises(ChannelViolation):
        budget.spend(line)

"""Frames of sessions and of the run phase, checked as if hostile code had written them."""

from __future__ import annotations

import base64
import json

import pytest
from test_frames import HELLO, KEY, read, request

from scorehost.hosts.frames import ChannelViolation, FrameWriter
from scorehost.hosts.messages import MAX_PART, CloseSession, Invoke, Judge, Publish, Session

ASSERTION = {"id": "a", "description": "d"}
JUDGE = {"session": 1, "case_id": "c", "prompt": "", "output": "", "assertion": ASSERTION}


def text(data):
    return base64.b64encode(data).decode()


def test_every_frame_of_a_session_arrives_as_it_was_sent():
    frames = read(
        HELLO,
        request("session", 1, role="judge", environment=None),
        request("session", 2, role="judge", environment="box"),
        request("invoke", 3, session=1, prompt="ü"),
        request("judge", 4, **JUDGE),
        request("close_session", 5, session=1),
        request("publish", 6, artifact="a", step="file", path=text(b"\xff"), data=text(b"x"), more=True),
        request("publish", 7, artifact="a", step="end"),
    )
    assert frames[1:] == [
        Session(kind="session", id=1, role="judge"),
        Session(kind="session", id=2, role="judge", environment="box"),
        Invoke(kind="invoke", id=3, session=1, prompt="ü"),
        Judge(kind="judge", id=4, **JUDGE),
        CloseSession(kind="close_session", id=5, session=1),
        Publish(kind="publish", id=6, artifact="a", step="file", path=b"\xff", data=b"x", more=True),
        Publish(kind="publish", id=7, artifact="a", step="end"),
    ]


@pytest.mark.parametrize(
    "document",
    [
        request("session", 1),
        request("session", 1, role=7),
        request("session", 1, role="judge", environment=["box"]),
        request("session", 1, role="judge", model="another"),
        request("invoke", 1, session="1", prompt="p"),
        request("invoke", 1, session=1, prompt=None),
        request("invoke", 1, session=1, prompt="p", executor="openai"),
        request("invoke", 1, session=1, prompt="p" * (MAX_PART + 1)),
        request("judge", 1, **{**JUDGE, "case_id": ""}),
        request("judge", 1, **{**JUDGE, "assertion": "a"}),
        request("judge", 1, **{**JUDGE, "assertion": {"id": 1}}),
        request("judge", 1, **{**JUDGE, "assertion": {str(n): "x" for n in range(9)}}),
        request("publish", 1, artifact="a", step="finish"),
        request("publish", 1, artifact="a", step="file", path="no base64!"),
        request("publish", 1, artifact="a", step="file", data=text(b"x" * (MAX_PART + 1))),
        request("publish", 1, artifact="a", step="file", path=text(b"x" * 5000)),
        {"kind": "failed", "error": {"kind": "adapter_made_up", "type": "", "place": "", "message": ""}},
    ],
    ids=range(17),
)  # fmt: skip
def test_a_frame_that_says_more_less_or_else_is_a_violation(document):
    with pytest.raises(ChannelViolation):
        read(HELLO, document)


def body(frame):
    return json.loads(frame[4 + 64 :])


def test_a_refusal_carries_the_kind_of_a_failed_call_and_nothing_else_does():
    writer = FrameWriter(KEY)
    fault = body(writer.refuse(3, "AdapterFault", "it ended", "adapter_exit"))
    assert fault["error"] == {"type": "AdapterFault", "message": "it ended", "kind": "adapter_exit"}
    assert body(writer.refuse(4, "LimitReached", "no more"))["error"] == {
        "type": "LimitReached",
        "message": "no more",
    }

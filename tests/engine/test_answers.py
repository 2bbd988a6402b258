"""The engine's JSON as values."""

from __future__ import annotations

import pytest

from scorehost.engine.answers import engine_info, engine_seconds, state
from scorehost.engine.endpoint import Endpoint
from scorehost.engine.paths import quoted, quoted_reference
from scorehost.errors import EngineRefused


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10.123456789Z", "10.123456789"),
        ("1970-01-01T00:00:10.5Z", "10.500000000"),
        ("1970-01-01T00:00:10Z", "10.000000000"),
        ("1970-01-01T02:00:10.25+02:00", "10.250000000"),
        ("1969-12-31T19:00:10.000000001-05:00", "10.000000001"),
    ],
)
def test_the_engines_clock_keeps_its_nanoseconds(text, seconds):
    assert engine_seconds({"SystemTime": text}) == seconds


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [("created", 0, None), ("running", 0, None), ("paused", 0, None), ("exited", 0, 0), ("dead", 137, 137)],
)
def test_an_exit_code_is_told_only_once_there_is_one(status, code, expected):
    answer = {"Id": "c", "State": {"Status": status, "Running": status == "running", "ExitCode": code}}
    assert state(answer).exit_code == expected


def test_a_name_cannot_change_which_request_is_made():
    assert quoted("a/../b?force=1#x") == "a%2F..%2Fb%3Fforce%3D1%23x"


def test_a_reference_keeps_its_own_separators():
    assert quoted_reference("r.example:5000/a/b@sha256:0") == "r.example:5000/a/b@sha256:0"


@pytest.mark.parametrize("reference", ["", "../containers", "a/../b", "a//b", "/a"])
def test_a_reference_that_would_lead_elsewhere_is_refused(reference):
    with pytest.raises(EngineRefused):
        quoted_reference(reference)


@pytest.mark.parametrize(
    ("options", "names", "mapped"),
    [
        (["name=seccomp,profile=default"], ("seccomp",), False),
        (["name=seccomp,profile=builtin", "name=userns"], ("seccomp", "userns"), True),
        (["name=rootless", "name=cgroupns"], ("rootless", "cgroupns"), True),
        (["apparmor"], ("apparmor",), False),
        (None, (), False),
    ],
)
def test_an_engine_says_whether_it_maps_the_users_of_containers(options, names, mapped):
    endpoint = Endpoint("unix", "/run/s", 0, "here")
    info = engine_info({"SecurityOptions": options}, {}, endpoint)
    assert (info.security, info.maps_users) == (names, mapped)

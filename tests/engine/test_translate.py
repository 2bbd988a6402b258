"""Which of our exceptions each foreign one becomes: the whole table."""

from __future__ import annotations

import errno
import socket
import ssl

import anyio
import docker.errors
import pytest
import requests
import urllib3.exceptions

from scorehost.engine.endpoint import Endpoint
from scorehost.engine.translate import WORDS, translated, words_of
from scorehost.errors import Conflict, EngineRefused, EngineTimeout, EngineUnreachable, NotFound

UNIX = Endpoint("unix", "/var/run/docker.sock", 0, "the default")
TCP = Endpoint("tcp", "engine.example", 2376, "DOCKER_HOST")


def response(status: int, body: bytes = b'{"message": "the engine said so"}') -> requests.Response:
    answer = requests.Response()
    answer.status_code = status
    answer._content = body
    return answer


def http_error(status: int) -> requests.HTTPError:
    return requests.HTTPError("raw text", response=response(status))


def api_error(status: int) -> docker.errors.APIError:
    return docker.errors.APIError("raw text", response=response(status), explanation="the engine said so")


def os_error(number: int) -> OSError:
    return OSError(number, "words of the system")


def aborted(number: int) -> requests.ConnectionError:
    """The shape in which requests hands on what a unix socket's connect raised."""
    return requests.ConnectionError(urllib3.exceptions.ProtocolError("Connection aborted.", os_error(number)))


def caused(outer: BaseException, inner: BaseException) -> BaseException:
    outer.__cause__ = inner
    return outer


CASES = [
    (http_error(404), NotFound, "the engine said so"),
    (http_error(409), Conflict, "the engine said so"),
    (http_error(400), EngineRefused, "the engine said so"),
    (http_error(500), EngineRefused, "the engine said so"),
    (http_error(503), EngineRefused, "the engine said so"),
    (api_error(404), NotFound, "the engine said so"),
    (api_error(409), Conflict, "the engine said so"),
    (api_error(500), EngineRefused, "the engine said so"),
    (requests.ReadTimeout("x"), EngineTimeout, "in time"),
    (requests.ConnectTimeout("x"), EngineTimeout, "in time"),
    (urllib3.exceptions.ReadTimeoutError(None, "", "x"), EngineTimeout, "in time"),
    (TimeoutError(), EngineTimeout, "in time"),
    (aborted(errno.ENOENT), EngineUnreachable, "no Docker socket"),
    (os_error(errno.ENOENT), EngineUnreachable, "no Docker socket"),
    (aborted(errno.EACCES), EngineUnreachable, "No permission"),
    (os_error(errno.EPERM), EngineUnreachable, "No permission"),
    (aborted(errno.ECONNREFUSED), EngineUnreachable, "Nothing listens"),
    (
        caused(OSError("All attempts failed"), os_error(errno.ECONNREFUSED)),
        EngineUnreachable,
        "Nothing listens",
    ),
    (
        caused(OSError("All attempts failed"), ExceptionGroup("x", [os_error(errno.ECONNREFUSED)])),
        EngineUnreachable,
        "Nothing listens",
    ),
    (socket.gaierror(socket.EAI_NONAME, "x"), EngineUnreachable, "host name"),
    (ssl.SSLError(1, "x"), EngineUnreachable, "TLS"),
    (requests.exceptions.SSLError("x"), EngineUnreachable, "TLS"),
    (os_error(errno.EHOSTUNREACH), EngineUnreachable, "no way"),
    (aborted(errno.ECONNRESET), EngineUnreachable, "was lost"),
    (ConnectionResetError(errno.ECONNRESET, "x"), EngineUnreachable, "was lost"),
    (BrokenPipeError(errno.EPIPE, "x"), EngineUnreachable, "was lost"),
    (urllib3.exceptions.ProtocolError("x"), EngineUnreachable, "was lost"),
    (requests.exceptions.ChunkedEncodingError("x"), EngineUnreachable, "was lost"),
    (anyio.BrokenResourceError(), EngineUnreachable, "was lost"),
    (anyio.ClosedResourceError(), EngineUnreachable, "was lost"),
    (anyio.EndOfStream(), EngineUnreachable, "was lost"),
    (docker.errors.DockerException("x"), EngineUnreachable, "was lost"),
]


@pytest.mark.parametrize(("error", "kind", "words"), CASES)
def test_a_foreign_exception_becomes_ours(error, kind, words):
    ours = translated(error, doing="start the container x", endpoint=UNIX)
    assert type(ours) is kind
    assert words in ours.message
    assert "raw text" not in ours.message


@pytest.mark.parametrize("status", [400, 403, 404, 409, 500, 503])
def test_a_refusal_carries_its_http_status(status):
    ours = translated(http_error(status), doing="do it", endpoint=UNIX)
    assert isinstance(ours, EngineRefused)
    assert ours.status == status


@pytest.mark.parametrize(
    "error", [e for e, kind, _ in CASES if kind is EngineUnreachable], ids=lambda e: type(e).__name__
)
def test_every_way_not_to_reach_an_engine_says_what_to_type(error):
    hint = translated(error, doing="do it", endpoint=UNIX).hint
    assert "`" in hint or "DOCKER_" in hint


def test_an_error_that_the_caller_was_handling_does_not_colour_the_new_one():
    error = ConnectionResetError(errno.ECONNRESET, "x")
    error.__context__ = TimeoutError()
    assert type(translated(error, doing="do it", endpoint=UNIX)) is EngineUnreachable


def test_our_own_exception_passes_unchanged():
    ours = EngineTimeout("slow")
    assert translated(ours, doing="do it", endpoint=UNIX) is ours


def test_a_missing_file_means_a_missing_socket_only_where_there_is_one():
    assert "socket" not in translated(os_error(errno.ENOENT), doing="do it", endpoint=TCP).message


def test_the_engines_words_are_cut_at_their_limit():
    body = b'{"message": "' + b"x" * 100_000 + b'"}'
    ours = translated(requests.HTTPError(response=response(500, body)), doing="do it", endpoint=UNIX)
    assert len(ours.message) < WORDS + 200


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"message": "no such image"}', "no such image"),
        (b"plain text\n", "plain text"),
        (b'{"other": 1}', '{"other": 1}'),
        (b'{"message": 5}', '{"message": 5}'),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"", ""),
    ],
)
def test_an_error_body_gives_its_message_or_itself(body, words):
    assert words_of(body) == words

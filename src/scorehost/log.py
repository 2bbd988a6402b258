"""structlog, set up once: key=value lines on stderr, in which no secret and no control character appears."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from collections.abc import Mapping, MutableMapping

HIDDEN = "[secret]"
_SECRET_NAME = re.compile(r"token|secret|passw|api_?key|credential|private_?key|authorization", re.IGNORECASE)
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_BARE = re.compile(r"[\w./:@+\-\[\]]+", re.ASCII)
_SHORTEST_SECRET = 8  # shorter values of the environment would blank out ordinary words
_FIRST = ("time", "level", "event")


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Values of variables whose names say that they are secret, longest first."""
    found = {
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }
    return tuple(sorted(found, key=len, reverse=True))


def hide(text: str, secrets: tuple[str, ...]) -> str:
    """`text` without the secrets and without logins inside URLs."""
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return _LOGIN_IN_URL.sub(HIDDEN, text)


def _value(key: str, value: Any, secrets: tuple[str, ...]) -> str:
    if _SECRET_NAME.search(key) and value not in (None, ""):
        return HIDDEN
    text = hide(value if isinstance(value, str) else str(value), secrets)
    # JSON's ASCII form escapes line ends and terminal codes: one event stays one line.
    return text if _BARE.fullmatch(text) else json.dumps(text)


class KeyValueLine:
    """The last processor: one event as `time=… level=… event=… key=value …`."""

    def __init__(self, secrets: tuple[str, ...]) -> None:
        self._secrets = secrets

    def __call__(self, _logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
        """The line; an exception shows as its type only, since its text may quote gold."""
        error = event.pop("exc_info", None)
        if error:
            kind = sys.exc_info()[0] if error is True else type(error)
            event["exception"] = getattr(kind, "__name__", "unknown")
        keys = [key for key in _FIRST if key in event] + sorted(set(event) - set(_FIRST))
        return " ".join(f"{key}={_value(key, event[key], self._secrets)}" for key in keys)


class _StderrNow:
    """Writes to whatever sys.stderr is at the moment: a live display stands in for it while it runs."""

    def msg(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - the log is a print to stderr

    debug = info = warning = error = critical = exception = log = msg


def configure(verbose: int = 0) -> None:
    """Sets the log up for this process: warnings by default, `verbose` 1 adds information, 2 everything.

    Secrets are taken from the process's environment at this moment.
    """
    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            KeyValueLine(secrets_of(os.environ)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _StderrNow(),
        cache_logger_on_first_use=False,
    )
    # Libraries below us warn through `logging`, whose last resort prints raw text: theirs is not for users.
    logging.getLogger().addHandler(logging.NullHandler())

"""structlog, set up once: key=value lines on stderr, in which no secret and no control character appears."""

from __future__ import annotations

import json
import logging
import re
import sys
from typing import TYPE_CHECKING, Any

import structlog

if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping

HIDDEN = "[secret]"
_SECRET_NAME = re.compile(r"token|secret|passw|api_?key|credential|private_?key|authorization", re.IGNORECASE)
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_BARE = re.compile(r"[\w./:@+\-\[\]]+", re.ASCII)
_FIRST = ("time", "level", "event")


def _value(key: str, value: Any, mask: Callable[[str], str]) -> str:
    if _SECRET_NAME.search(key) and value not in (None, ""):
        return HIDDEN
    text = _LOGIN_IN_URL.sub(HIDDEN, mask(value if isinstance(value, str) else str(value)))
    # JSON's ASCII form escapes line ends and terminal codes: one event stays one line.
    return text if _BARE.fullmatch(text) else json.dumps(text)


class KeyValueLine:
    """The last processor: one event as `time=… level=… event=… key=value …`."""

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask

    def __call__(self, _logger: object, _method: str, event: MutableMapping[str, Any]) -> str:
        """The line; an exception shows as its type only, since its text may quote gold."""
        error = event.pop("exc_info", None)
        if error:
            kind = sys.exc_info()[0] if error is True else type(error)
            event["exception"] = getattr(kind, "__name__", "unknown")
        keys = [key for key in _FIRST if key in event] + sorted(set(event) - set(_FIRST))
        return " ".join(f"{key}={_value(key, event[key], self._mask)}" for key in keys)


class _StderrNow:
    """Writes to whatever sys.stderr is at the moment: a live display stands in for it while it runs."""

    def msg(self, line: str) -> None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - the log is a print to stderr

    debug = info = warning = error = critical = exception = log = msg


def configure(verbose: int = 0, *, mask: Callable[[str], str]) -> None:
    """Sets the log up for this process: warnings by default, `verbose` 1 adds information, 2 everything.

    `mask` takes the secrets that are known out of a text.
    """
    level = {0: logging.WARNING, 1: logging.INFO}.get(verbose, logging.DEBUG)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            KeyValueLine(mask),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: _StderrNow(),
        cache_logger_on_first_use=False,
    )
    # Libraries below us warn through `logging`, whose last resort prints raw text: theirs is not for users.
    logging.getLogger().addHandler(logging.NullHandler())

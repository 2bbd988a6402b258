"""Secrets that the controller itself holds, in its environment and the user's docker configuration."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scorehost.model.masking import (
    Masker,
    docker_config_secrets,
    environment_secrets,
    looks_secret,
    names_a_file,
)

_CONFIG_BYTES = 1024 * 1024
_INLINE = "DOCKER_AUTH_CONFIG"  # a docker configuration in a variable


_seen: tuple[dict[Any, Any], str, tuple[int, int] | None, Masker] | None = None


def own_masker() -> Masker:
    """A masker of what this process may not tell, as things are now; quick when nothing has changed."""
    global _seen  # noqa: PLW0603 - one process has one environment
    # Several times an attempt: to decode all variables each time took a tenth of the controller's work.
    raw: dict[Any, Any] = getattr(os.environ, "_data", None) or dict(os.environ)
    path, state = _config_state(os.environ)
    if _seen is not None and _seen[1:3] == (path, state) and _seen[0] == raw:
        return _seen[3]
    masker = _masker(tuple(os.environ.items()), path, state)
    _seen = (dict(raw), path, state, masker)
    return masker


def _config_state(environment: Mapping[str, str]) -> tuple[str, tuple[int, int] | None]:
    # Plain calls: this is called for every line that is kept.
    folder = environment.get("DOCKER_CONFIG") or os.path.expanduser("~/.docker")  # noqa: PTH111
    path = f"{folder}/config.json"
    try:
        status = os.stat(path)  # noqa: PTH116
    except OSError:
        return path, None
    return path, (status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=4)
def _masker(environment: tuple[tuple[str, str], ...], path: str, state: tuple[int, int] | None) -> Masker:
    variables = dict(environment)
    values = environment_secrets(variables) | secrets_in_files(variables)
    values |= docker_config_secrets(_parsed(variables.get(_INLINE, "").encode("utf-8", "surrogateescape")))
    if state is not None:
        values |= docker_config_secrets(_parsed(_read(path)))
    return Masker(values)


def secrets_in_files(environment: Mapping[str, str]) -> frozenset[str]:
    """What lies in the files that variables like PASSWORD_FILE name, as far as it can be read."""
    found: set[str] = set()
    for name, value in environment.items():
        if looks_secret(name) and names_a_file(name) and Path(value).is_file():
            found.add(_read(value).decode("utf-8", "surrogateescape").strip())
    return frozenset(found)


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(_CONFIG_BYTES)
    except OSError:
        return b""


def _parsed(data: bytes) -> object:
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None  # the docker SDK judges the file when credentials are asked for
    return value

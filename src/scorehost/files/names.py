"""Names of files as text that a person can read and a program can turn back into the same bytes."""

from __future__ import annotations

import re

from scorehost.files.tree import name_bytes
from scorehost.files.visible import visible

_ESCAPE = re.compile(rb"\\(?:\\|x([0-9a-f]{2}))")


def escaped(path: str) -> str:
    r"""`path` with `\xff` for a byte that is not UTF-8 and backslashes doubled: no two look the same."""
    return name_bytes(path.replace("\\", "\\\\")).decode("utf-8", "backslashreplace")


def on_one_line(path: str) -> str:
    """The same for a message: what a terminal would act on, such as a line break, is escaped too."""
    return visible(escaped(path), spell=lambda one: one.encode("unicode_escape").decode("ascii"))


def unescaped(path: str) -> str:
    """The path that `escaped` was given."""
    raw = _ESCAPE.sub(_raw, path.encode("utf-8", "surrogatepass"))
    return raw.decode("utf-8", "surrogateescape")


def _raw(found: re.Match[bytes]) -> bytes:
    return b"\\" if found[1] is None else bytes.fromhex(found[1].decode())

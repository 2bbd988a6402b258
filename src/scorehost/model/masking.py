"""Known secrets taken out of text that is kept: as they are, URL-encoded, JSON-escaped and in base64."""

from __future__ import annotations

import base64
import binascii
import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import unquote

HIDDEN = "[secret]"
SHORTEST = 8  # characters: shorter values stand in ordinary text by chance
_NAME = re.compile(
    r"(?!(?:max|min|num|n)_)\w*"
    r"(?:(?:key|token|secret|passw(?:or)?d|passphrase|credential|cookie|authorization)s?(?:_\w*)?|_(?:pwd|pass|auth))",
    re.IGNORECASE,
)
_PLACE = re.compile(r"\w*_(?:file|path|dir)", re.IGNORECASE)
_LOGIN = re.compile(r"://([^/@:\s]*):([^/@\s]+)@")
_PLAIN = re.compile(rb"[A-Za-z0-9._~-]+|\s+|.[\x80-\xbf]*", re.DOTALL)
_ALIGNMENTS = ((0, 0), (1, 2), (2, 3))  # bytes before the value, base64 digits that they take a part in


def looks_secret(name: str) -> bool:
    """Whether a variable or key of this name holds a secret, such as OPENAI_API_KEY or db_password."""
    return _NAME.fullmatch(name.replace("-", "_").replace(".", "_")) is not None


def names_a_file(name: str) -> bool:
    """Whether a variable of this name says where a secret lies (DB_PASSWORD_FILE), and holds none itself."""
    return _PLACE.fullmatch(name) is not None


def environment_secrets(environment: Mapping[str, str]) -> frozenset[str]:
    """Values of variables that are secret by name, and logins inside URLs of any variable."""
    found: set[str] = set()
    for name, value in environment.items():
        if looks_secret(name) and not names_a_file(name):
            found.add(value)
        found |= _logins(value)
    return frozenset(found)


def docker_config_secrets(config: object) -> frozenset[str]:
    """Registry credentials, proxy logins and secret headers of a parsed docker `config.json`."""
    found: set[str] = set()
    queue: list[tuple[str, object]] = [("", config)]
    while queue:
        name, value = queue.pop()
        if isinstance(value, dict):
            queue += [(str(key), child) for key, child in value.items()]
        elif isinstance(value, list):
            queue += [(name, child) for child in value]
        elif isinstance(value, str):
            found |= _logins(value)
            if name.lower() == "auth":
                found |= {value, *_basic_login(value)}
            elif looks_secret(name):
                found.add(value)
    return frozenset(found)


def _logins(text: str) -> set[str]:
    found: set[str] = set()
    for user, password in _LOGIN.findall(text) if "@" in text else ():
        found |= {f"{user}:{password}", password, unquote(password)}
    return found


def _basic_login(auth: str) -> set[str]:
    try:
        login = base64.b64decode(auth, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return set()
    return {login, login.partition(":")[2]}


class Masker:
    """Replaces each of some values by `[secret]`; values of fewer than eight characters are left alone."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self.values = frozenset(value for value in values if len(value.strip()) >= SHORTEST)
        forms = {form for value in self.values for form in _forms(value)}
        # The longest that begins at a place wins, so that no rest of it stays.
        ordered = sorted(forms, key=lambda form: (-form[1], form[0]))
        self._longest = ordered[0][1] if ordered else 0
        self._pattern = re.compile(b"|".join(form for form, _ in ordered)) if ordered else None

    def also(self, values: Iterable[str]) -> Masker:
        """One that knows more values."""
        return Masker(self.values | set(values))

    def data(self, data: bytes) -> bytes:
        """`data` without the values; the very same bytes when it holds none."""
        return data if self._pattern is None else self._pattern.sub(HIDDEN.encode(), data)

    def text(self, text: str) -> str:
        """`text` without the values."""
        if self._pattern is None:
            return text
        return self.data(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def tree(self, value: Any) -> Any:
        """A JSON value with every text of it masked; keys stay as they are."""
        if self._pattern is None:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {key: self.tree(child) for key, child in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.tree(child) for child in value]
        return value

    def stream(self) -> MaskedStream:
        """For text that comes in pieces: the outcome is that of `data` over all of it."""
        return MaskedStream(self._pattern, self._longest)


class MaskedStream:
    """Holds back as many bytes as the longest form may have, since a value may be cut by a piece's end."""

    def __init__(self, pattern: re.Pattern[bytes] | None, longest: int) -> None:
        self._pattern = pattern
        self._longest = longest
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """What can be told so far."""
        if self._pattern is None:
            return data
        held = self._held + data
        told = bytearray()
        # A form that begins before this place is there in full.
        sure = len(held) - self._longest + 1
        place = 0
        while place < sure:
            match = self._pattern.search(held, place)
            if match is None or match.start() >= sure:
                told += held[place:sure]
                place = sure
            else:
                told += held[place : match.start()] + HIDDEN.encode()
                place = match.end()
        self._held = held[place:]
        return bytes(told)

    def end(self) -> bytes:
        """The rest."""
        held, self._held = self._held, b""
        return held if self._pattern is None else self._pattern.sub(HIDDEN.encode(), held)


@functools.cache
def _forms(value: str) -> tuple[tuple[bytes, int], ...]:
    """(pattern, most bytes that it matches) of each form of a value."""
    raw = value.strip().encode("utf-8", "surrogateescape")
    parts = {_written(raw), *(_in_base64(raw, *alignment) for alignment in _ALIGNMENTS)}
    # Of a key file each line is a secret of its own: logs are cut and indented by lines.
    lines = [line.strip() for line in raw.splitlines()]
    if len(lines) > 1:
        parts |= {_written(line) for line in lines if len(line) >= 2 * SHORTEST and b"-----" not in line}
    return tuple(parts)


def _written(raw: bytes) -> tuple[bytes, int]:
    """The value as text, where each sign may be percent-encoded or escaped as in JSON."""
    pattern, longest = b"", 0
    for piece in _PLAIN.findall(raw):
        if re.fullmatch(rb"[A-Za-z0-9._~-]+", piece):
            pattern += re.escape(piece)
            longest += len(piece)
            continue
        text = piece.decode("utf-8", "replace")
        in_json = json.dumps(text)[1:-1].encode("ascii")
        units = b"".join(b"\\u%04x" % byte for byte in piece)  # how Go writes &, < and >
        spaces = (b" ", b"+" * len(piece)) if piece.isspace() else ()
        sizes = (3 * len(piece), len(in_json), len(units))
        ways: set[bytes] = {
            *(
                re.escape(way)
                for way in (piece, json.dumps(text, ensure_ascii=False)[1:-1].encode(), *spaces)
            ),
            *(b"(?i:" + re.escape(way) + b")" for way in (in_json, units)),
            b"".join(rb"(?:\+|%20)" if byte == ord(" ") else b"%%(?i:%02x)" % byte for byte in piece),
            b"".join(re.escape(b"\\" + piece[at : at + 1]) for at in range(len(piece))),
        }
        # The longest way first: a backslash before a sign belongs to it.
        ordered: list[bytes] = sorted(ways, key=lambda way: (-len(way), way))
        pattern += b"(?:" + b"|".join(ordered) + b")"
        longest += max(sizes)
    return pattern, longest


def _in_base64(raw: bytes, before: int, shared: int) -> tuple[bytes, int]:
    """The digits of base64 that depend on the value alone, with so many bytes of other text before it."""
    size = before + len(raw)
    digits = base64.b64encode(b"\0" * before + raw)[shared : size * 8 // 6]
    pattern = b""
    for digit in digits:
        sign = bytes([digit])
        either = {b"+": rb"(?:[+-]|%2[Bb])", b"/": rb"(?:[/_]|%2[Ff])"}
        pattern += either.get(sign, sign)
    whole, padding = (rb"(?:(?:=|%3[Dd]){0,2})", 6) if not before and size % 3 else (b"", 0)
    if whole:
        # Alone in its base64 text, the last digit holds the value's last bits and zeros.
        last = base64.b64encode(raw).rstrip(b"=")[len(digits) :]
        whole = b"(?:" + re.escape(last) + whole + b")?"
    return pattern + whole, 3 * len(digits) + 3 + padding

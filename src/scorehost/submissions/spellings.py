"""Whether a name on disk or in an archive is a declared one that another system spelled in its own way."""

from __future__ import annotations

import fnmatch
import os
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# Encodings that systems have written names in before UTF-8, and that archives still hold.
LEGACY = ("gb18030", "cp932", "big5", "cp949", "cp1252", "cp437", "cp850", "cp1251", "cp866")
# What an unpacking program took such bytes for when it wrote them as text.
_MISREAD = ("cp437", "cp850", "cp1252", "latin-1")
NORMAL_FORM = "in another Unicode normal form"


def same_name(name: str, declared: str) -> str:
    """How `name` spells `declared`, in words; "" when it is another name, or the very same.

    `name` carries bytes that are not UTF-8 as surrogates, as names on disk do.
    """
    if declared.isascii() or name == declared:
        return ""
    wanted = _normal(declared)
    if not has_raw_bytes(name):
        if _normal(name) == wanted:
            return NORMAL_FORM
        return next((f"misread by what unpacked it ({how})" for how in _misreadings(name, wanted)), "")
    raw = os.fsencode(name)
    return next((f"in {code}" for code in LEGACY if _decoded(raw, code) == wanted), "")


def the_one(names: Iterable[str], declared: str) -> tuple[str, str] | None:
    """The only one of `names` that spells `declared` otherwise, and how; None for none or several."""
    if declared.isascii():
        return None
    found = [(name, how) for name in names if (how := same_name(name, declared))]
    return found[0] if len(found) == 1 else None


def encoding_of(names: Sequence[bytes], declared: Iterable[str]) -> str | None:
    """The encoding in which a declared name is a step of one of the raw `names`; None if none."""
    wanted = {_normal(name) for name in declared if not name.isascii()}
    for code in LEGACY if wanted else ():
        texts = [_decoded(name, code) for name in names]
        if None not in texts and any(wanted & set((text or "").split("/")) for text in texts):
            return code
    return None


def has_raw_bytes(name: str) -> bool:
    """Whether a name holds bytes that are not UTF-8."""
    return not name.isascii() and any("\udc80" <= char <= "\udcff" for char in name)


def is_decomposed(name: str) -> bool:
    """Whether a name has letters and their accents apart, as macOS writes them."""
    return not name.isascii() and not has_raw_bytes(name) and not unicodedata.is_normalized("NFC", name)


def excluded(path: str, name: str, globs: Sequence[str]) -> bool:
    """Whether a tree artifact leaves out the entry `name` at `path` below it."""
    return any(fnmatch.fnmatchcase(path, glob) or fnmatch.fnmatchcase(name, glob) for glob in globs)


def _misreadings(name: str, wanted: str) -> Iterator[str]:
    for taken_for in _MISREAD:
        try:
            raw = name.encode(taken_for)
        except UnicodeEncodeError:
            continue
        for code in ("utf-8", *LEGACY):
            if code != taken_for and _decoded(raw, code) == wanted:
                yield f"{code} taken for {taken_for}"


def _decoded(raw: bytes, code: str) -> str | None:
    try:
        return _normal(raw.decode(code))
    except UnicodeDecodeError:
        return None


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)

"""What submissions are called: as they are where that can be a folder's name, else safely, with a label."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from itertools import chain, count
from typing import TYPE_CHECKING

from scorehost.errors import UsageError
from scorehost.files.names import escaped
from scorehost.files.tree import name_bytes
from scorehost.model.ids import SUBMISSION_NAME

if TYPE_CHECKING:
    from collections.abc import Container

SOLUTION = "solution"
EMPTY = "empty"
RUN = "run"  # no submission: the run phase of the tasks that have one makes the artifacts
WRONG = "wrong:"
RESERVED = (SOLUTION, EMPTY, RUN)
MAX_NAME = 64  # characters of a submission's name: it is a folder's name
MAX_LABEL = 256  # characters kept of the name that it was handed in by
_HASHED = 8
_BETWEEN = re.compile(r"[^A-Za-z0-9._]+")


def spelled(name: str) -> bool:
    """Whether a name can be a folder's: dots alone would walk out of the job's."""
    return SUBMISSION_NAME.fullmatch(name) is not None and name.strip(".") != ""


def usable(name: str) -> bool:
    """Whether a card may claim a name: one that nobody takes for what the dataset ships."""
    return spelled(name) and name.lower() not in RESERVED and not name.lower().startswith("wrong-")


def named(given: str, word: str, *, by_person: bool = False) -> tuple[str, str | None]:
    """The name of what was given as `given`, and its label, which is None where the name says it all.

    UsageError that quotes `word` for what names nothing or is reserved; `by_person`: by NAME=PATH.
    """
    if not given.strip(". "):
        raise UsageError(
            f"{word!r} does not give a submission's name: {given!r} has nothing but dots and spaces.",
            hint="Choose a NAME with letters or digits." if by_person else "Use NAME=PATH.",
        )
    if given in RESERVED:
        raise UsageError(
            f"{word!r} would be named {given}, which is reserved.",
            hint="Choose another NAME." if by_person else "Use NAME=PATH with another name.",
        )
    return (given, None) if spelled(given) else (derived(given), label_of(given))


def derived(given: str) -> str:
    """A safe name for any text: what of it can stand, and the first 8 hex digits of its SHA-256.

    The same for the same text, on every machine; another one for another text.
    """
    mark = hashlib.sha256(name_bytes(given)).hexdigest()[:_HASHED]
    plain = unicodedata.normalize("NFKD", given).encode("ascii", "ignore").decode()
    slug = _BETWEEN.sub("-", plain).strip("-._")[: MAX_NAME - _HASHED - 1].rstrip("-._")
    return f"{slug or 'submission'}-{mark}"


def free(given: str, longer: str, taken: Container[str]) -> tuple[str, str | None]:
    """The name of one of many, and its label: never a reserved one, or one that is in `taken` (casefolded).

    `longer` is what it is called in full, such as with its suffix.
    """
    for one in (given, longer):
        if spelled(one) and one.lower() not in RESERVED and one.lower() not in taken:
            return one, None if one == given else label_of(longer)
    # Somebody else may be called, on purpose, what this one's name would become.
    tries = chain((given, longer), (f"{longer} {number}" for number in count(2)))
    return next(name for name in map(derived, tries) if name.lower() not in taken), label_of(given)


def label_of(given: str) -> str:
    """What it was called, as text that JSON holds."""
    return storable(given)[:MAX_LABEL]


def storable(text: str) -> str:
    """A name or path as text that JSON holds: bytes that are not UTF-8 are escaped."""
    return text if _is_unicode(text) else escaped(text)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True

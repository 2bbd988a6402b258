"""What a reference of an image may look like: the grammar of `docker pull`, with words for what is wrong.

https://pkg.go.dev/github.com/distribution/reference
"""

from __future__ import annotations

import re

_STEP = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_HOST = rf"(?:{_LABEL}(?:\.{_LABEL})*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?"
_NAME = re.compile(rf"(?:(?P<host>{_HOST})/)?(?P<path>{_STEP}(?:/{_STEP})*)")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_ID = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{64}")
_LONGEST_NAME = 255
_PLAIN = re.compile(r"[A-Za-z0-9._/:@\[\]-]*")
_STRANGE = {" ": "a space", '"': "a quote", "'": "a quote", "$": "a variable"}
HINT = "Write it as `docker pull` takes it, such as python:3.12-slim or name@sha256:…"


def reference_fault(text: str) -> str:
    """Why no image can be called `text`, in words that do not quote it; "" for a reference that `docker pull`
    would take, and for an image's id.
    """
    if _ID.fullmatch(text):
        return ""
    if not text:
        return "it is empty"
    strange = _PLAIN.sub("", text)
    if strange:
        return f"it holds {_STRANGE.get(strange[0], 'a character that no name has')}"
    rest, at, digest = text.partition("@")
    name, tag = rest, None
    colon = rest.rfind(":")
    if colon > rest.rfind("/"):
        name, tag = rest[:colon], rest[colon + 1 :]
    faults = (
        (
            at and not _DIGEST.fullmatch(digest),
            "what stands after the @ is not a digest, sha256:…",
        ),
        (tag is not None and not _TAG.fullmatch(tag), _tag_words(tag or "")),
        (len(name) > _LONGEST_NAME, f"its name is longer than {_LONGEST_NAME} characters"),
        (not _is_name(name), _name_words(name)),
    )
    return next((words for wrong, words in faults if wrong), "")


def _is_name(name: str) -> bool:
    found = _NAME.fullmatch(name)
    if found is None:
        return False
    # Without a dot or a port, what stands before the first slash is a part of the path.
    host = found["host"] or ""
    return host == host.lower() or "." in host or ":" in host


def _tag_words(tag: str) -> str:
    if not tag:
        return "there is nothing after the colon"
    return "a tag is at most 128 letters, digits, `_`, `.` and `-`, and begins with neither of the last two"


def _name_words(name: str) -> str:
    if any(part == "" for part in name.split("/")):
        return "an empty step between slashes"
    if name.lower() != name and _NAME.fullmatch(name.lower()):
        return "the name of a repository has small letters only"
    return "a name is small letters and digits, with single `.`, `_`, `-` and `/` between them"

"""Names of files as text that a person can read and a program can turn back into the same bytes."""

from __future__ import annotations

from scorehost.files.tree import name_bytes


def escaped(path: str) -> str:
    r"""`path` with `\xff` for a byte that is not UTF-8 and backslashes doubled: no two look the same."""
    return name_bytes(path.replace("\\", "\\\\")).decode("utf-8", "backslashreplace")


def on_one_line(path: str) -> str:
    """The same for a message: what a terminal would act on, such as a line break, is escaped too."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
        for character in escaped(path)
    )

"""Names of files are UTF-8 everywhere: in formats, in containers, and here."""

from __future__ import annotations

import codecs
import sys

from scorehost.errors import UsageError


def require_utf8() -> None:
    """Raises UsageError where Python reads names of files in another encoding, and would damage them."""
    found = sys.getfilesystemencoding()
    if codecs.lookup(found).name != "utf-8":
        raise UsageError(
            f"Python reads names of files as {found} here; scorehost needs UTF-8, or names would be damaged.",
            hint="Set a UTF-8 locale, such as `export LC_ALL=C.UTF-8`, or PYTHONUTF8=1.",
        )

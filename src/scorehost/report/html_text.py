"""Text of others in HTML: no markup, and nothing that turns lines around."""

from __future__ import annotations

import html

from scorehost.files.visible import visible


def escape(text: str) -> str:
    """`text` for an element or an attribute in double quotes."""
    return html.escape(visible(text, keep="\n\t"))

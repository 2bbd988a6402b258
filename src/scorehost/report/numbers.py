"""Numbers as reports show them: `undefined` where there is none, never a made-up one."""

from __future__ import annotations

UNDEFINED = "undefined"


def figure(value: float | None) -> str:
    """Four significant digits."""
    return UNDEFINED if value is None else f"{value:.4g}"


def signed(value: float | None) -> str:
    """A difference, with its sign."""
    return UNDEFINED if value is None else f"{value:+.4g}" if value else "0"


def span(lower: float | None, upper: float | None) -> str:
    """`0.1 to 0.4`."""
    return UNDEFINED if lower is None or upper is None else f"{lower:.4g} to {upper:.4g}"

"""Small bar charts as SVG: every number stands beside its bar, so that colour is never all that tells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.report.html_text import escape
from scorehost.report.numbers import figure, span

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from scorehost.model.summary import Group

SHOWN = 60  # bars in one chart; the tables have all
COLOURS = {"PASS": "#2e7d32", "FAIL": "#c77700", "SCORED": "#3367a8", "ERROR": "#b3261e"}
_LINE, _LEFT, _WIDTH, _RIGHT, _LONGEST = 22, 230, 420, 260, 28


def verdict_chart(groups: Mapping[str, Group]) -> str:
    """PASS, FAIL, SCORED and ERROR of each group as parts of one bar."""
    bars = []
    title = f"Verdicts{_first(len(groups))}"
    for name, group in list(groups.items())[:SHOWN]:
        counts = {
            "PASS": group.counts.PASS,
            "FAIL": group.counts.FAIL,
            "SCORED": group.scored,
            "ERROR": group.counts.ERROR,
        }
        total = max(group.planned, 1)
        parts, x = [], 0.0
        for status, count in counts.items():
            width = _WIDTH * count / total
            parts.append(_rect(x, width, COLOURS[status], f"{count} {status}"))
            x += width
        told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        bars.append((name, "".join(parts), f"{told or 'none'} of {group.planned}"))
    return _chart(title, bars)


def mean_chart(groups: Mapping[str, Group], title: str) -> str:
    """The mean of each group as a bar, its bounds as a line over it; the worst first where there are many."""
    known = [(name, group) for name, group in groups.items() if group.mean_score is not None]
    if len(known) > SHOWN:
        title += f" (the {SHOWN} worst of {len(known)}; the table has all)"
        known = sorted(known, key=_worst_first)[:SHOWN]
    if not known:
        return ""
    ends = [value for _, group in known for value in _values(group)]
    low, high = min(0.0, *ends), max(1.0, *ends) if min(ends) >= 0 else max(0.0, *ends)
    scale = _WIDTH / (high - low) if high > low else 0.0

    def place(value: float) -> float:
        return (value - low) * scale

    bars = []
    for name, group in known:
        mean = group.mean_score or 0.0
        left, right = sorted((place(0.0), place(mean)))
        marks = [_rect(left, right - left, "#3367a8", f"mean {figure(mean)}")]
        bounds = group.bounds
        told = f"{figure(mean)} (n {group.n})"
        if bounds.lower is not None and bounds.upper is not None and bounds.lower != bounds.upper:
            marks.append(_whisker(place(bounds.lower), place(bounds.upper)))
            told += f", {span(bounds.lower, bounds.upper)}"
        bars.append((name, "".join(marks), told))
    return _chart(title, bars)


def _worst_first(item: tuple[str, Group]) -> tuple[float, str]:
    mean = item[1].mean_score or 0.0
    return -mean if item[1].direction == "minimize" else mean, item[0]


def _first(number: int) -> str:
    return f" (the first {SHOWN} of {number}; the table has all)" if number > SHOWN else ""


def _values(group: Group) -> Iterable[float]:
    found = (group.mean_score, group.bounds.lower, group.bounds.upper)
    return [value for value in found if value is not None]


def _chart(title: str, bars: Sequence[tuple[str, str, str]]) -> str:
    if not bars:
        return ""
    height = _LINE * len(bars) + 4
    width = _LEFT + _WIDTH + _RIGHT
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" {size}>']
    for number, (name, marks, told) in enumerate(bars):
        y = _LINE * number + 2
        short = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
        lines += [
            f'<g transform="translate(0 {y})">',
            f'<text x="{_LEFT - 8}" y="15" text-anchor="end">',
            f"<title>{escape(name)}</title>{escape(short)}</text>",
            f'<g transform="translate({_LEFT} 0)">{marks}</g>',
            f'<text x="{_LEFT + _WIDTH + 8}" y="15">{escape(told)}</text>',
            "</g>",
        ]
    return "\n".join([f"<figure><figcaption>{escape(title)}</figcaption>", *lines, "</svg></figure>"])


def _rect(x: float, width: float, colour: str, told: str) -> str:
    if width <= 0:
        return ""
    title = f"<title>{escape(told)}</title>"
    return f'<rect x="{x:.1f}" y="3" width="{width:.1f}" height="16" fill="{colour}">{title}</rect>'


def _whisker(left: float, right: float) -> str:
    path = f"M{left:.1f} 6V16M{left:.1f} 11H{right:.1f}M{right:.1f} 6V16"
    return f'<path d="{path}" class="bounds" fill="none"><title>bounds</title></path>'

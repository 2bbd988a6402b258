"""Values that are typed on the command line: KEY=VALUE pairs and durations."""

from __future__ import annotations

import json
import re
from typing import Any

import click

from scorehost.model.canonical import uncanonical
from scorehost.model.json import BadJson, parse

_VALUE_BYTES = 1_048_576
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def parameters(pairs: tuple[str, ...]) -> dict[str, Any]:
    """KEY=VALUE pairs of --set; VALUE is JSON where it is that, else text. BadParameter for others."""
    found: dict[str, Any] = {}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key.strip():
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE.", param_hint="--set")
        if key in found:
            raise click.BadParameter(f"{key!r} is given twice.", param_hint="--set")
        found[key] = _value(key, text)
    return found


def _value(key: str, text: str) -> Any:
    try:
        value = parse(text.encode("utf-8", "surrogateescape"), max_bytes=_VALUE_BYTES)
    except BadJson as error:
        if _looks_like_json(text):
            # A repeated key or NaN: taking it as text would hide a mistake that bears on scores.
            raise click.BadParameter(
                f"{key}: {error}. Write it as strict JSON, or as text in double quotes.", param_hint="--set"
            ) from None
        return text
    if fault := uncanonical(value):
        raise click.BadParameter(f"{key}: {fault}.", param_hint="--set")
    return value


def _looks_like_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


class Duration(click.ParamType[float]):
    """`90`, `90s`, `5m`, `1h`, `2d` as seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds; fails for anything else."""
        if isinstance(value, (int, float)):
            return float(value)
        match = _DURATION.fullmatch(str(value))
        if not match:
            self.fail(f"{value!r} is no duration such as 30s, 5m, 1h or 2d.", param, ctx)
        return float(match[1]) * _SECONDS[match[2] or "s"]

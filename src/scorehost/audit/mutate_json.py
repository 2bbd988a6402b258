"""One thing changed in a JSON file."""

from __future__ import annotations

import copy
import itertools
import json
from typing import TYPE_CHECKING, Any

from scorehost.model.json import BadJson, parse

if TYPE_CHECKING:
    import random

_ROOM = 4 * 1024 * 1024
_LEAVES = 10_000
Path = tuple[str | int, ...]


def change(content: bytes, way: str, chance: random.Random) -> tuple[bytes, str] | None:
    """`way`: value, line (a key or an item goes), type, order. None when there is nothing of the kind."""
    try:
        value = parse(content, max_bytes=_ROOM)
    except BadJson:
        return None
    places = _places(value)
    made = {"value": _value, "line": _dropped, "type": _type, "order": _order}[way](value, places, chance)
    if made is None:
        return None
    return json.dumps(made[0], ensure_ascii=False, indent=2).encode() + b"\n", made[1]


def _value(value: Any, places: list[Path], chance: random.Random) -> tuple[Any, str] | None:
    leaves = [place for place in places if not isinstance(_at(value, place), (dict, list))]
    if not leaves:
        return None
    place = chance.choice(leaves)
    old = _at(value, place)
    return _with(
        value, place, _another(old)
    ), f"{_shown(place)} changed from {_short(old)} to {_short(_another(old))}"


def _another(leaf: Any) -> Any:
    if isinstance(leaf, bool):
        return not leaf
    if isinstance(leaf, (int, float)):
        return leaf + 1 + abs(leaf) // 2  # far enough off for most tolerances
    return (leaf + "x") if isinstance(leaf, str) else 0


def _dropped(value: Any, places: list[Path], chance: random.Random) -> tuple[Any, str] | None:
    inside = [place for place in places if place]
    if not inside:
        return None
    place = chance.choice(inside)
    changed = copy.deepcopy(value)
    del _at(changed, place[:-1])[place[-1]]
    return changed, f"{_shown(place)} dropped"


def _type(value: Any, places: list[Path], chance: random.Random) -> tuple[Any, str] | None:
    leaves = [place for place in places if not isinstance(_at(value, place), (dict, list))]
    if not leaves:
        return None
    place = chance.choice(leaves)
    old = _at(value, place)
    if isinstance(old, bool):
        new: Any = int(old)
    elif isinstance(old, (int, float)):
        new = str(old)
    else:
        new = [old]
    return _with(value, place, new), f"{_shown(place)} turned from {_short(old)} into {_short(new)}"


def _order(value: Any, places: list[Path], chance: random.Random) -> tuple[Any, str] | None:
    lists = [
        place
        for place in places
        if isinstance(found := _at(value, place), list) and len({json.dumps(item) for item in found}) > 1
    ]
    if lists:
        place = chance.choice(lists)
        items = list(_at(value, place))
        turned = items[::-1] if items[::-1] != items else items[1:] + items[:1]
        return _with(value, place, turned), f"{_shown(place)} in another order"
    objects = [place for place in places if _exchangeable(_at(value, place))]
    if not objects:
        return None
    place = chance.choice(objects)
    found = _at(value, place)
    one, other = _exchangeable(found)
    changed = {**found, one: found[other], other: found[one]}
    return _with(value, place, changed), f"{_shown(place)}: values of {one} and {other} exchanged"


def _exchangeable(value: Any) -> tuple[str, ...]:
    """Two keys of an object whose values differ and are of one type; () when there are none."""
    if not isinstance(value, dict):
        return ()
    keys = list(value)
    for one, other in itertools.pairwise(keys):
        if type(value[one]) is type(value[other]) and value[one] != value[other]:
            return one, other
    return ()


def _places(value: Any) -> list[Path]:
    found: list[Path] = []
    waiting: list[Path] = [()]
    while waiting and len(found) < _LEAVES:
        place = waiting.pop()
        found.append(place)
        here = _at(value, place)
        if isinstance(here, dict):
            waiting += [(*place, key) for key in here]
        elif isinstance(here, list):
            waiting += [(*place, number) for number in range(len(here))]
    return found


def _at(value: Any, place: Path) -> Any:
    for step in place:
        value = value[step]
    return value


def _with(value: Any, place: Path, new: Any) -> Any:
    if not place:
        return new
    changed = copy.deepcopy(value)
    _at(changed, place[:-1])[place[-1]] = new
    return changed


def _shown(place: Path) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:39] + "…"  # noqa: PLR2004 - for a line

"""A tree bound to a frozen model: every misfit told with its place, unknown keys with the nearest name."""

from __future__ import annotations

import difflib
import json
import types
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from scorehost.model.frozen import Frozen
from scorehost.spec.wording import REASONS, wording
from scorehost.spec.yaml_tree import Entry, Loc, Map, Scalar, find, join, plain, walk, without_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic_core import ErrorDetails

    from scorehost.spec.problems import Problems

UNREAD = "unread"
_ROUNDS = 12  # each takes out what does not fit; a key, then a row that misses it, then its list, …
Bound = TypeVar("Bound", bound=Frozen)


def bind(
    model: type[Bound],
    tree: Map,
    problems: Problems,
    *,
    quote: bool = True,
    ignored: set[str] | None = None,
    silent: Iterable[Loc] = (),
) -> tuple[Bound | None, Map]:
    """The model of `tree`, every misfit added to `problems`, and the tree as far as it fits the model.

    With misfits the model is what the rest makes, so that further rules can be checked, or None.
    `ignored`: unknown keys go there instead of being problems. `silent`: places whose misfits were told.
    `quote=False`: no message holds a value.
    """
    refused = {loc for loc, node in walk(tree) if isinstance(node, Scalar) and node.kind == "refused"}
    quiet = refused | set(silent)
    for round_ in range(_ROUNDS):
        bound, errors = _validated(model, tree)
        if bound is not None:
            return bound, tree
        fresh = [error for error in errors if not any(error["loc"][: len(loc)] == loc for loc in quiet)]
        if round_ == 0:
            # What later rounds find follows from what was taken out in earlier ones.
            _tell(model, tree, fresh, problems, quote=quote, ignored=ignored)
        tree = _pruned(tree, errors)
    return None, tree


def _pruned(tree: Map, errors: list[ErrorDetails]) -> Map:
    # From the end, so that numbers of items before it stay true.
    for loc in sorted({find(tree, error["loc"]).loc for error in errors}, key=_order, reverse=True):
        tree = without_key(tree, *loc) if loc else _filled(tree, errors)
    return tree


def _order(loc: Loc) -> tuple[tuple[bool, int, str], ...]:
    return tuple((isinstance(step, str), step if isinstance(step, int) else 0, str(step)) for step in loc)


def _filled(tree: Map, errors: list[ErrorDetails]) -> Map:
    """A file without a key that it must have, as if some text stood there."""
    entries = dict(tree.entries)
    for error in errors:
        if error["type"] == "missing" and len(error["loc"]) == 1:
            entries[str(error["loc"][0])] = Entry(tree.place, Scalar(tree.place, "refused", UNREAD, UNREAD))
    return Map(tree.place, entries)


def _validated(model: type[Bound], tree: Map) -> tuple[Bound | None, list[ErrorDetails]]:
    try:
        # JSON mode: pydantic's strict Python mode takes no list for a tuple.
        return model.model_validate_json(json.dumps(plain(tree))), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _tell(
    model: type[Frozen],
    tree: Map,
    errors: list[ErrorDetails],
    problems: Problems,
    *,
    quote: bool,
    ignored: set[str] | None,
) -> None:
    groups: dict[Loc, list[ErrorDetails]] = {}
    for error in errors:
        if error["type"] == "extra_forbidden":
            _unknown(model, tree, error["loc"], problems, ignored)
        elif error["type"] == "missing":
            problems.add(find(tree, error["loc"]).place, join(error["loc"]), "is missing", "Write it")
        else:
            groups.setdefault(find(tree, error["loc"]).loc, []).append(error)
    for loc, group in groups.items():
        found = find(tree, loc)
        words = [wording(error, found.node, quote=quote) for error in group]
        text, hint = words[0]
        if len(words) > 1:
            # Members of a union: one message for all of them.
            text += "".join(f"; or it {other.text.split(', and')[0]}" for other in words[1:])
            hint = "Write one of these"
        problems.add(found.place, found.key, *REASONS.get(found.key, (text, hint)))


def _unknown(model: type[Frozen], tree: Map, loc: Loc, problems: Problems, ignored: set[str] | None) -> None:
    if ignored is not None:
        ignored.add(join(tuple(step if isinstance(step, str) else 0 for step in loc)).replace("[0]", "[]"))
        return
    found = find(tree, loc)
    name = str(loc[-1])
    known = fields_at(model, loc[:-1])
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"Did you mean `{close[0]}`?" if close else f"Known here: {', '.join(sorted(known))}"
    if where := _elsewhere(model, loc):
        hint = where
    problems.add(found.key_place, join(loc)[:200], "unknown key", hint)


def _elsewhere(model: type[Frozen], loc: Loc) -> str:
    """Where a key of this name has its place: at the top of the file, or in one of its mappings."""
    name = str(loc[-1])
    if name in model.model_fields:
        return f"`{name}` stands at the top of the file, without indentation"
    homes = [key for key in model.model_fields if key != loc[0] and name in fields_at(model, (key,))]
    return f"`{name}` stands below `{homes[0]}`" if len(homes) == 1 else ""


def fields_at(model: Any, loc: Loc) -> list[str]:
    """The names of the keys that `model` allows at `loc`; empty when any key may stand there."""
    kind = model
    for step in loc:
        kind = _inside(kind, step)
    kind = _models(kind)
    return list(kind[0].model_fields) if kind else []


def _inside(kind: Any, step: str | int) -> Any:
    for member in _members(kind):
        origin = get_origin(member)
        if isinstance(member, type) and issubclass(member, BaseModel) and step in member.model_fields:
            return member.model_fields[str(step)].annotation
        if origin is dict and isinstance(step, str):
            return get_args(member)[1]
        if origin is tuple and isinstance(step, int):
            return get_args(member)[0]
    return None


def _models(kind: Any) -> list[type[BaseModel]]:
    return [m for m in _members(kind) if isinstance(m, type) and issubclass(m, BaseModel)]


def _members(kind: Any) -> tuple[Any, ...]:
    if get_origin(kind) in (Union, types.UnionType):
        return get_args(kind)
    return () if get_origin(kind) is Literal else (kind,)

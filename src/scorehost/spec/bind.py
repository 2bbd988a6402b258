"""A tree bound to a frozen model: every misfit told with its place, unknown keys with the nearest name."""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Iterable
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from scorehost.model.frozen import Frozen
from scorehost.spec.problems import Problems
from scorehost.spec.wording import REASONS, wording
from scorehost.spec.yaml_tree import Loc, Map, Scalar, find, join, plain, walk, without

Bound = TypeVar("Bound", bound=Frozen)


def bind(
    model: type[Bound],
    tree: Map,
    problems: Problems,
    *,
    quote: bool = True,
    ignored: set[str] | None = None,
    silent: Iterable[Loc] = (),
) -> Bound | None:
    """The model of `tree`, or None after its problems were added.

    `ignored`: unknown keys go there and are left out, instead of being problems. `silent`: places whose misfits
    were told already. `quote=False`: no message holds a value.
    """
    refused = {loc for loc, node in walk(tree) if isinstance(node, Scalar) and node.kind == "refused"}
    quiet = refused | set(silent)
    errors = _errors(model, tree)
    unknown = [error["loc"] for error in errors if error["type"] == "extra_forbidden"]
    for loc in unknown:
        _unknown(model, tree, loc, problems, ignored)
        tree = without(tree, loc)
    if unknown:
        errors = _errors(model, tree)
    for error in errors:
        if not any(error["loc"][: len(loc)] == loc for loc in quiet):
            _misfit(tree, error, errors, problems, quote)
    if errors or refused or (unknown and ignored is None):
        return None
    return model.model_validate_json(_json(tree))


def _json(tree: Map) -> str:
    # JSON mode: pydantic's strict Python mode takes no list for a tuple.
    return json.dumps(plain(tree))


def _errors(model: type[Frozen], tree: Map) -> list[ErrorDetails]:
    try:
        model.model_validate_json(_json(tree))
    except ValidationError as error:
        return error.errors(include_url=False)
    return []


def _misfit(
    tree: Map, error: ErrorDetails, errors: list[ErrorDetails], problems: Problems, quote: bool
) -> None:
    loc = error["loc"]
    found = find(tree, loc)
    if error["type"] == "missing":
        problems.add(found.place, join(loc), "is missing", "Write it")
        return
    if found.key in REASONS:
        text, hint = REASONS[found.key]
    else:
        text, hint = wording(error, found.node, quote=quote)
        others = [e for e in errors if e is not error and find(tree, e["loc"]).key == found.key]
        if others and not found.whole:
            # Members of a union: one message for all of them.
            first = next(e for e in errors if find(tree, e["loc"]).key == found.key)
            if first is not error:
                return
            more = [wording(e, found.node, quote=quote).text.split(", and")[0] for e in others]
            text = f"{text}; or it {', or '.join(more)}"
    problems.add(found.place, found.key, text, hint)


def _unknown(model: type[Frozen], tree: Map, loc: Loc, problems: Problems, ignored: set[str] | None) -> None:
    if ignored is not None:
        ignored.add(join(tuple(step if isinstance(step, str) else 0 for step in loc)).replace("[0]", "[]"))
        return
    found = find(tree, loc)
    name = str(loc[-1])
    known = fields_at(model, loc[:-1])
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    hint = f"Did you mean `{close[0]}`?" if close else f"Known here: {', '.join(sorted(known))}"
    problems.add(found.key_place, join(loc)[:200], "unknown key", hint)


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

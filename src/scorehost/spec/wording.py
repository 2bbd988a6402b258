"""What a value that does not fit its model is told: pydantic's error types in the house's words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from scorehost.spec.yaml_tree import Map, Node, Scalar, Sequence

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_SHOWN = 60
_PAIR = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*:(?!/).*", re.DOTALL)
_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}
_NUMBERS = {"int_type", "int_from_float", "float_type"}
_BOUNDS = {
    "greater_than": ("gt", "greater than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
}
_KINDS = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "a boolean",
    "null": "empty",
}
# Values that are refused for a reason that the list of allowed ones does not tell.
REASONS = {
    "evaluation.network": (
        "a scoring host never has a network, since what is inside could leave by it",
        "Write `network: none`, or leave the key out",
    ),
    "environment": (
        "scoring hosts are Docker containers, and named environments need them",
        "Write `environment: docker`",
    ),
    "run_host.network": (
        "the name of a network of the engine is wanted, or `none`; the machine's own is for nobody",
        "Write a name that `docker network ls` shows, such as `bridge`",
    ),
    "evaluate_host.isolated": (
        "named environments need scoring containers of their own",
        "Write `isolated: true`",
    ),
}


class Words(NamedTuple):
    """What is wrong, and what to do."""

    text: str
    hint: str


def shown(node: Node, *, quote: bool) -> str:
    """A value as a message may show it: its kind, and (with `quote`) what stands there."""
    if isinstance(node, Map):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    kind = _KINDS.get(node.kind, "refused")
    if not quote or node.kind == "null":
        return kind
    raw = node.raw.replace("\n", " ")
    return f"{kind} (`{raw[:_SHOWN]}{'…' if len(raw) > _SHOWN else ''}`)"


def missing_space(raw: str, *, quote: bool) -> Words:
    """What is said of `key:value`, which YAML takes for one text."""
    key, _, value = raw.partition(":")
    hint = f"Write `{key}: {value or 'VALUE'}`" if quote and len(raw) <= _SHOWN else "Put a space there"
    return Words("a space is missing after the colon", hint)


def _is_pair(node: Node) -> bool:
    return isinstance(node, Scalar) and node.kind == "text" and _PAIR.fullmatch(node.raw) is not None


def wording(error: ErrorDetails, node: Node, *, quote: bool) -> Words:
    """The words for one error of pydantic at `node`."""
    kind, context = error["type"], error.get("ctx", {})
    if _WANTED.get(kind) == "a mapping" and _is_pair(node):
        return missing_space(str(getattr(node, "raw", "")), quote=quote)
    if kind in _WANTED:
        return Words(
            f"{_WANTED[kind]} is wanted, and this is {shown(node, quote=quote)}", _hint(kind, node, quote)
        )
    if kind in _BOUNDS:
        name, relation = _BOUNDS[kind]
        return Words(f"must be {relation} {context[name]}", _instead(node, quote))
    if kind in {"literal_error", "enum"}:
        expected = str(context.get("expected", "")).replace("'", "`")
        what = shown(node, quote=quote)
        what = "another text" if what == "text" else what  # that may not be quoted
        return Words(f"must be {expected}, and this is {what}", "Write one of these")
    if kind in {"too_long", "too_short"}:
        length = context.get("max_length", context.get("min_length"))
        text = f"holds {context.get('actual_length')} values, where {length} are wanted"
        return Words(text, "Mend the list")
    return Words(error["msg"][:1].lower() + error["msg"][1:], "Change it")


def _hint(kind: str, node: Node, quote: bool) -> str:
    if not isinstance(node, Scalar):
        return "See docs/schema for what stands here"
    if kind == "string_type":
        if node.kind == "null":
            return "Write some text, or leave the key out"
        return f'quote it: "{node.raw[:_SHOWN]}"' if quote else "quote it"
    if kind in _NUMBERS and node.kind == "text" and _numeric(node.value):
        return "Remove the quotes"
    if kind == "bool_type":
        return "Write true or false, without quotes"
    return f"Write {_WANTED[kind]}"


def _numeric(value: Any) -> bool:
    try:
        float(value)
    except ValueError:
        return False
    return True


def _instead(node: Node, quote: bool) -> str:
    return f"Change {node.raw[:_SHOWN]}" if quote and isinstance(node, Scalar) else "Change the number"

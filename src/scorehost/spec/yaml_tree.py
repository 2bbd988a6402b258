"""What a strictly read YAML file holds, with the place of every key and value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from scorehost.spec.problems import Place

ScalarKind = Literal["text", "integer", "number", "boolean", "null", "refused"]
Loc = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Scalar:
    """A plain value. `refused`: it was reported already, and must not be reported again."""

    place: Place
    kind: ScalarKind
    value: str | int | float | bool | None
    raw: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    place: Place
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """One key of a mapping with its value."""

    key_place: Place
    node: Node


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping; its keys are text and different from each other."""

    place: Place
    entries: Mapping[str, Entry]

    def get(self, key: str) -> Node | None:
        """The value of `key`; None when it is absent."""
        entry = self.entries.get(key)
        return entry.node if entry else None


Node = Scalar | Sequence | Map


@dataclass(frozen=True, slots=True)
class Found:
    """Where a path of keys and numbers leads: as far as the tree has it."""

    key: str  # such as artifacts.publishable[0].path
    node: Node
    place: Place  # of the value
    key_place: Place  # of its key, or of the value when it has none
    whole: bool  # False: the path leads further than the tree


def join(loc: Loc) -> str:
    """A path as messages print it."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def find(tree: Node, loc: Loc) -> Found:
    """Follows `loc`; steps that the tree does not have (names of union members, say) end the way."""
    node, key_place, done = tree, tree.place, 0
    for step in loc:
        if isinstance(node, Map) and isinstance(step, str) and step in node.entries:
            entry = node.entries[step]
            node, key_place = entry.node, entry.key_place
        elif isinstance(node, Sequence) and isinstance(step, int) and 0 <= step < len(node.items):
            node = node.items[step]
            key_place = node.place
        else:
            break
        done += 1
    return Found(join(loc[:done]), node, node.place, key_place, whole=done == len(loc))


def plain(node: Node) -> Any:
    """The JSON value of a tree; what was refused becomes null."""
    if isinstance(node, Map):
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.value


def lay_under(lower: Map, upper: Map) -> Map:
    """`upper` with what only `lower` has; mappings key by key, everything else whole."""
    entries = dict(lower.entries)
    for key, entry in upper.entries.items():
        below = entries.get(key)
        if below is not None and isinstance(below.node, Map) and isinstance(entry.node, Map):
            entries[key] = Entry(entry.key_place, lay_under(below.node, entry.node))
        else:
            entries[key] = entry
    return Map(upper.place, entries)


def without(tree: Map, loc: Loc) -> Map:
    """The tree without the entry at `loc`; the same tree when there is none."""
    head, rest = loc[0], loc[1:]
    if not isinstance(head, str) or head not in tree.entries:
        return tree
    entries = dict(tree.entries)
    entry = entries.pop(head)
    if rest:
        entries[head] = Entry(entry.key_place, _without(entry.node, rest))
        entries = {key: entries[key] for key in tree.entries}
    return Map(tree.place, entries)


def _without(node: Node, loc: Loc) -> Node:
    if isinstance(node, Map):
        return without(node, loc)
    if isinstance(node, Sequence) and isinstance(loc[0], int) and len(loc) > 1:
        items = list(node.items)
        items[loc[0]] = _without(items[loc[0]], loc[1:])
        return Sequence(node.place, tuple(items))
    return node


def walk(node: Node, loc: Loc = ()) -> Iterator[tuple[Loc, Node]]:
    """Every node of a tree with its path, from the top."""
    yield loc, node
    if isinstance(node, Map):
        for key, entry in node.entries.items():
            yield from walk(entry.node, (*loc, key))
    elif isinstance(node, Sequence):
        for number, item in enumerate(node.items):
            yield from walk(item, (*loc, number))

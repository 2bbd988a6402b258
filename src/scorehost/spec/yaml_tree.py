"""What a strictly read YAML file holds, with the place of every key and value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

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
    numbers: tuple[int, ...] | None = None  # where the items stood, when some were taken out


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
    loc: Loc
    node: Node
    place: Place  # of the value
    key_place: Place  # of its key, or of the value when it has none


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
    node, key_place, done, way = tree, tree.place, 0, list(loc)
    for step in loc:
        if isinstance(node, Map) and isinstance(step, str) and step in node.entries:
            entry = node.entries[step]
            node, key_place = entry.node, entry.key_place
        elif isinstance(node, Sequence) and isinstance(step, int) and 0 <= step < len(node.items):
            way[done] = node.numbers[step] if node.numbers else step
            node = node.items[step]
            key_place = node.place
        else:
            break
        done += 1
    return Found(join(tuple(way[:done])), loc[:done], node, node.place, key_place)


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


def without(node: Node, loc: Loc) -> Node:
    """The tree without what is at `loc`, a key with its value or an item; the same when there is none."""
    step, rest = loc[0], loc[1:]
    if isinstance(node, Map) and isinstance(step, str) and step in node.entries:
        entries = dict(node.entries)
        if rest:
            entries[step] = Entry(entries[step].key_place, without(entries[step].node, rest))
        else:
            del entries[step]
        return Map(node.place, entries)
    if isinstance(node, Sequence) and isinstance(step, int) and 0 <= step < len(node.items):
        if rest:
            items = [without(item, rest) if n == step else item for n, item in enumerate(node.items)]
            return Sequence(node.place, tuple(items), node.numbers)
        numbers = node.numbers or tuple(range(len(node.items)))
        left = [n for n in range(len(numbers)) if n != step]
        return Sequence(node.place, tuple(node.items[n] for n in left), tuple(numbers[n] for n in left))
    return node


def without_key(tree: Map, *loc: str | int) -> Map:
    """`without` of a mapping's inside, which leaves a mapping."""
    pruned = without(tree, loc)
    return pruned if isinstance(pruned, Map) else tree


def walk(node: Node, loc: Loc = ()) -> Iterator[tuple[Loc, Node]]:
    """Every node of a tree with its path, from the top."""
    yield loc, node
    if isinstance(node, Map):
        for key, entry in node.entries.items():
            yield from walk(entry.node, (*loc, key))
    elif isinstance(node, Sequence):
        for number, item in enumerate(node.items):
            yield from walk(item, (*loc, number))

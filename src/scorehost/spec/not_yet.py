"""Keys that the formats give and whose behaviour is not there yet; the table shrinks as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scorehost.spec.yaml_tree import Loc, Map, Node, Scalar, find, join, walk, without_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from scorehost.spec.problems import Problems

ANY = "*"


def _always(_node: Node) -> bool:
    return True


def _equals(value: object) -> Callable[[Node], bool]:
    return lambda node: isinstance(node, Scalar) and node.value == value and type(node.value) is type(value)


class NotYet(NamedTuple):
    """A key (and, by `when`, only some of its values) that is refused."""

    loc: tuple[str, ...]
    when: Callable[[Node], bool]
    what: str
    instead: str


_HOST = ("evaluation", "environments", ANY)
TASK = (
    NotYet((*_HOST, "platform"), _always, "choosing a platform", "Remove the key"),
    NotYet((*_HOST, "gpus"), _always, "scoring hosts with GPUs", "Remove the key"),
    NotYet((*_HOST, "exclusive"), _always, "hosts that have the machine alone", "Remove the key"),
    NotYet(
        ("evaluation", "runtime"),
        _equals("command"),
        "evaluators that are commands",
        "Write `runtime: python`, and call the command by scoring.exec",
    ),
)


def refuse(tree: Map, table: tuple[NotYet, ...], problems: Problems) -> Map:
    """The tree without the keys of `table`, each of them added to `problems`."""
    for loc, node in list(walk(tree)):
        for row in table:
            if _matches(loc, row.loc) and row.when(node):
                problems.add(find(tree, loc).key_place, join(loc), f"not yet: {row.what}", row.instead)
                tree = without_key(tree, *loc)
    return tree


def _matches(loc: Loc, pattern: tuple[str, ...]) -> bool:
    return len(loc) == len(pattern) and all(
        want in (ANY, step) for step, want in zip(loc, pattern, strict=True)
    )

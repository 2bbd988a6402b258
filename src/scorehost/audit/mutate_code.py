"""One thing changed in a Python file, in its syntax tree, so that the outcome still parses."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

Site = tuple[int, Callable[[ast.AST], ast.AST | None], str]
"""Number of a node in a walk over the tree, what to put in its place, what that is in words."""

_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


def change(content: bytes, way: str, chance: random.Random) -> tuple[bytes, str] | None:
    """`way`: value (a constant, an operator), line (a statement), type (what is returned), order (operands).

    None when the file does not parse or offers nothing of the kind. Only insides of functions are touched.
    """
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):
        return None
    sites = list({"value": _values, "line": _lines, "type": _types, "order": _orders}[way](tree))
    if not sites:
        return None
    number, make, words = chance.choice(sites)
    before = ast.unparse(tree)
    after = ast.unparse(ast.fix_missing_locations(_Put(number, make).visit(copy.deepcopy(tree))))
    return None if after == before else (after.encode() + b"\n", words)


class _Put(ast.NodeTransformer):
    """Replaces the node with one number of the walk in `_nodes`."""

    def __init__(self, number: int, make: Callable[[ast.AST], ast.AST | None]) -> None:
        self._number, self._make, self._at = number, make, -1

    def visit(self, node: ast.AST) -> Any:
        """Counts nodes from the outside in, as `_nodes` does."""
        self._at += 1
        if self._at == self._number:
            return self._make(node)
        return self.generic_visit(node)


def _nodes(tree: ast.AST) -> Iterator[tuple[int, ast.AST, bool]]:
    """Number, node, and whether it lies inside a function; outermost first, in the order of the source."""
    count = -1

    def walk(node: ast.AST, inside: bool) -> Iterator[tuple[int, ast.AST, bool]]:
        nonlocal count
        count += 1
        yield count, node, inside
        within = inside or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for child in ast.iter_child_nodes(node):
            yield from walk(child, within)

    return walk(tree, inside=False)


def _values(tree: ast.AST) -> Iterator[Site]:
    texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for number, node, inside in _nodes(tree):
        if not inside:
            continue
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            yield number, _constant, f"line {line}: constant {node.value} changed"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
            yield number, _constant, f"line {line}: a text changed"
        elif isinstance(node, ast.Compare) and type(node.ops[0]) in _OTHER:
            yield number, _compare, f"line {line}: comparison turned round"
        elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in _OTHER:
            yield number, _operator, f"line {line}: operator changed"


def _constant(node: ast.AST) -> ast.AST:
    value = getattr(node, "value", 0)
    if isinstance(value, bool):
        return ast.Constant(value=not value)
    return ast.Constant(value=value + "x" if isinstance(value, str) else value + 1)


def _compare(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Compare)  # noqa: S101 - tells mypy what `_values` chose
    node.ops[0] = _OTHER[type(node.ops[0])]()  # type: ignore[call-overload]
    return node


def _operator(node: ast.AST) -> ast.AST:
    node.op = _OTHER[type(node.op)]()  # type: ignore[attr-defined]
    return node


def _lines(tree: ast.AST) -> Iterator[Site]:
    for number, node, inside in _nodes(tree):
        simple = isinstance(
            node, (ast.Assign, ast.AugAssign, ast.Return, ast.Expr, ast.Raise, ast.If, ast.For)
        )
        text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if inside and simple and not text:
            yield number, lambda _node: ast.Pass(), f"line {getattr(node, 'lineno', 0)} dropped"


def _types(tree: ast.AST) -> Iterator[Site]:
    for number, node, inside in _nodes(tree):
        if inside and isinstance(node, ast.Return) and node.value is not None:
            yield number, _as_list, f"line {node.lineno}: what is returned stands in a list"


def _as_list(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Return)  # noqa: S101 - tells mypy what `_types` chose
    assert node.value is not None  # noqa: S101
    return ast.Return(value=ast.List(elts=[node.value], ctx=ast.Load()))


def _orders(tree: ast.AST) -> Iterator[Site]:
    for number, node, inside in _nodes(tree):
        if not inside:
            continue
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Sub, ast.Div, ast.Mod, ast.FloorDiv)):
            yield number, _operands, f"line {node.lineno}: operands exchanged"
        elif isinstance(node, ast.Call) and len(node.args) > 1:
            yield number, _arguments, f"line {node.lineno}: arguments exchanged"
        elif isinstance(node, ast.Tuple) and len(node.elts) > 1 and isinstance(node.ctx, ast.Load):
            yield number, _elements, f"line {node.lineno}: items exchanged"


def _operands(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.BinOp)  # noqa: S101 - tells mypy what `_orders` chose
    return ast.BinOp(left=node.right, op=node.op, right=node.left)


def _arguments(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Call)  # noqa: S101 - tells mypy what `_orders` chose
    node.args[:2] = node.args[1], node.args[0]
    return node


def _elements(node: ast.AST) -> ast.AST:
    assert isinstance(node, ast.Tuple)  # noqa: S101 - tells mypy what `_orders` chose
    node.elts[:2] = node.elts[1], node.elts[0]
    return node

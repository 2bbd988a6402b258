"""Opening a YAML file of a known kind: read, and its format line checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.spec.yaml_reader import read_file
from scorehost.spec.yaml_tree import Map, Scalar, without_key

if TYPE_CHECKING:
    from pathlib import Path

    from scorehost.spec.problems import Problems


def open_kind(
    path: Path,
    wanted: tuple[str, ...],
    *,
    shown: str,
    problems: Problems,
    quote: bool = True,
    assumed: str | None = None,
) -> tuple[Map, str] | None:
    """The tree without its format line, and the format; None after a problem with either.

    `assumed`: the format of a file that has no such line; None when it must have one.
    """
    tree = read_file(path, file=shown, problems=problems, quote=quote)
    if tree is None:
        return None
    node = tree.get("format")
    if node is None and assumed is not None:
        return tree, assumed
    choice = " or ".join(f"`{each}`" for each in wanted)
    if node is None:
        problems.add(tree.place, "format", "is missing", f"Write `format: {wanted[0]}` as the first line")
        return None
    if not isinstance(node, Scalar) or node.value not in wanted:
        given = f", and this is `{node.raw[:60]}`" if isinstance(node, Scalar) and quote else ""
        problems.add(node.place, "format", f"must be {choice}{given}", f"Write `format: {wanted[0]}`")
        return None
    return without_key(tree, "format"), str(node.value)

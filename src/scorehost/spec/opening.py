"""Opening a YAML file of a known kind: read, and its format line checked."""

from __future__ import annotations

from pathlib import Path

from scorehost.spec.problems import Problems
from scorehost.spec.yaml_reader import read_file
from scorehost.spec.yaml_tree import Map, Scalar, without


def open_kind(
    path: Path, wanted: tuple[str, ...], *, shown: str, problems: Problems, quote: bool = True
) -> tuple[Map, str] | None:
    """The tree without its format line, and the format; None after a problem with either."""
    tree = read_file(path, file=shown, problems=problems, quote=quote)
    if tree is None:
        return None
    node = tree.get("format")
    choice = " or ".join(f"`{each}`" for each in wanted)
    if node is None:
        problems.add(tree.place, "format", "is missing", f"Write `format: {wanted[0]}` as the first line")
        return None
    if not isinstance(node, Scalar) or node.value not in wanted:
        given = f", and this is `{node.raw[:60]}`" if isinstance(node, Scalar) and quote else ""
        problems.add(
            node.place,
            "format",
            f"must be {choice}{given}",
            "Correct it, or open the file with its own program",
        )
        return None
    return without(tree, ("format",)), str(node.value)

"""One thing changed in the code of a notebook; outputs, counts and metadata decide nothing and stay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scorehost.audit import mutate_code
from scorehost.model.json import BadJson, dump, parse

if TYPE_CHECKING:
    import random


def change(content: bytes, way: str, chance: random.Random) -> tuple[bytes, str] | None:
    """`way` as `mutate_code.change` has it, in one of the code cells; None where none offers that."""
    try:
        notebook = parse(content, max_bytes=len(content))
    except BadJson:
        return None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    code = [
        (at, cell)
        for at, cell in enumerate(cells if isinstance(cells, list) else [])
        if isinstance(cell, dict) and cell.get("cell_type") == "code" and _source(cell)
    ]
    for at, cell in chance.sample(code, len(code)):
        made = mutate_code.change(_source(cell).encode(), way, chance)
        if made is not None:
            text = made[0].decode().rstrip("\n")
            cell["source"] = text if isinstance(cell["source"], str) else text.splitlines(keepends=True)
            return dump(notebook), f"cell {at + 1}: {made[1]}"
    return None


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return source if isinstance(source, str) else ""

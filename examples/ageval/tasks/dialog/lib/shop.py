"""The shop, as its data has it."""

import json
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]


def stock():
    """The items for sale."""
    return json.loads((HERE / "data" / "shop.json").read_text(encoding="utf-8"))["items"]

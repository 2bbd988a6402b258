"""Small cargo that goes over the channel into memory, in place of an upload."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable, Mapping

from scorehost.files.tree import Tree, pieces
from scorehost.hosts.blueprint import TOOLS
from scorehost.model.limits import MIB

# What is larger is uploaded: an upload's own cost is small beside it then, and memory is the evaluator's.
MAX_BYTES = MIB
MAX_NODES = 256  # files and folders
_LOADER = "scorehost_sdk/feed.py"


def is_small(trees: Mapping[str, Tree]) -> bool:
    """Whether these trees, apart from runner and SDK, are little enough to come over the channel."""
    cargo = [tree for folder, tree in trees.items() if folder != TOOLS]
    nodes = sum(1 + len(tree.entries) + len(tree.all_folders) for tree in cargo)
    return nodes <= MAX_NODES and sum(tree.size for tree in cargo) <= MAX_BYTES


@functools.lru_cache(maxsize=4)
def tools_feed(tools: Tree) -> bytes:
    """What a fed host's first process waits for: the program that takes files, then runner and SDK."""
    (loader,) = (entry for entry in tools.entries if entry.path == _LOADER)
    code = b"".join(pieces(loader, _LOADER))
    return len(code).to_bytes(4, "big") + code + feed([(TOOLS, tools)])


def feed(trees: Iterable[tuple[str, Tree]]) -> bytes:
    """The trees, each below its folder, as `scorehost_sdk.feed.load` takes them.

    Raises ChangedWhileSent when a content is not what its entry says.
    """
    folders: list[str] = []
    files: list[tuple[str, int, bool]] = []
    contents: list[bytes] = []
    links: list[tuple[str, str]] = []
    for folder, tree in trees:
        folders += [folder, *(f"{folder}/{name}" for name in tree.folders)]
        links += [(f"{folder}/{path}", target) for path, target in tree.links]
        for entry in tree.entries:
            path = f"{folder}/{entry.path}"
            files.append((path, entry.size, entry.executable))
            contents += pieces(entry, path)
    # ASCII: a name that is not UTF-8 travels as escaped lone surrogates.
    header = json.dumps({"folders": folders, "files": files, "links": links}, separators=(",", ":")).encode(
        "ascii"
    )
    return b"".join((len(header).to_bytes(4, "big"), header, *contents))

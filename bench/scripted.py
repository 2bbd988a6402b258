"""A runner as a program of the in-memory engine: it greets, sees the right trees, and passes."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Any

from scorehost.engine.memory_process import Context

RESULT = {
    "kind": "result",
    "value": {"status": "PASS", "score": 1.0, "metrics": {}, "checks": []},
    "usage": {"peak_memory_bytes": None, "cpu_seconds": None},
}


class Voice:
    """Speaks the runner's authenticated frames (docs/architecture.md, "The channel")."""

    def __init__(self, context: Context, key: bytes) -> None:
        self._context, self._key, self._counter = context, key, 0

    async def __call__(self, document: dict[str, Any]) -> None:
        """Sends one frame."""
        body = json.dumps(document).encode()
        mac = hmac.new(self._key, self._counter.to_bytes(8, "big") + body, hashlib.sha256).hexdigest()
        self._counter += 1
        await self._context.write((64 + len(body)).to_bytes(4, "big") + mac.encode() + body)


async def start_frame(context: Context) -> dict[str, Any]:
    """The controller's first frame."""
    size = int.from_bytes(await context.read_exactly(4), "big")
    frame: dict[str, Any] = json.loads(await context.read_exactly(size))
    return frame


def digest_of(context: Context, folder: str) -> str:
    """The digest of a folder of the in-memory container."""
    whole = hashlib.sha256()
    prefix = folder + "/"
    for path in sorted(path.encode() for path in context.files.below(folder)):
        content = hashlib.sha256(context.files.read(path.decode())).hexdigest().encode()
        mode = b"x" if context.files.node(path.decode()).mode & 0o100 else b"-"
        whole.update(path[len(prefix) :] + b"\0" + mode + b"\0" + content + b"\n")
    return "sha256:" + whole.hexdigest()


async def passing(context: Context) -> int:
    """The whole program."""
    start = await start_frame(context)
    speak = Voice(context, bytes.fromhex(start["key"]))
    trees = {folder: digest_of(context, folder) for folder in start["trees"]}
    await speak({"kind": "hello", "python": "3.11.2", "trees": trees, "dumpable": False})
    await speak({**RESULT, "trees": trees})
    return 0

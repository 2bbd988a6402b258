"""A runner for programs of the in-memory engine: takes what a host is fed, greets, and speaks the frames."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scorehost.engine.memory_files import MemoryFiles
    from scorehost.engine.memory_process import Context

ROOT = "/attempt"
_FED = "-c"  # the word in the command of a host that takes its files from its standard input


@dataclass(slots=True)
class MemoryRunner:
    """The channel of one scripted runner (docs/architecture.md, "The channel")."""

    context: Context
    start: dict[str, Any] = field(default_factory=dict)
    trees: dict[str, str] = field(default_factory=dict)
    _sent: int = 0

    @classmethod
    async def greeted(cls, context: Context) -> MemoryRunner:
        """Takes all that comes before an evaluation, and says hello with the true digests of its folders."""
        if _FED in context.launch.argv:
            await _sized(context)  # the program that would take the files
            await _take(context)
        runner = cls(context, json.loads(await _sized(context)))
        if runner.start["fed"]:
            await _take(context)
        runner.trees = {folder: digest_of(context.files, folder) for folder in runner.start["trees"]}
        await runner.say({"kind": "hello", "python": "3.11.2", "trees": runner.trees, "dumpable": False})
        return runner

    async def say(self, document: dict[str, Any]) -> None:
        """Sends one frame, authenticated and counted."""
        body = json.dumps(document).encode()
        key, counter = bytes.fromhex(self.start["key"]), self._sent.to_bytes(8, "big")
        self._sent += 1
        mac = hmac.new(key, counter + body, hashlib.sha256).hexdigest().encode()
        await self.context.write((64 + len(body)).to_bytes(4, "big") + mac + body)


def digest_of(files: MemoryFiles, folder: str) -> str:
    """The digest of docs/architecture.md, over a folder of an in-memory container."""
    whole = hashlib.sha256()
    prefix = folder + "/"
    for path in sorted(path.encode() for path in files.below(folder)):
        content = hashlib.sha256(files.read(path.decode())).hexdigest().encode()
        mode = b"x" if files.node(path.decode()).mode & 0o100 else b"-"
        whole.update(path[len(prefix) :] + b"\0" + mode + b"\0" + content + b"\n")
    return "sha256:" + whole.hexdigest()


async def _sized(context: Context) -> bytes:
    return await context.read_exactly(int.from_bytes(await context.read_exactly(4), "big"))


async def _take(context: Context) -> None:
    """What `scorehost_sdk.feed.load` does in a real host."""
    header = json.loads(await _sized(context))
    for path, size, executable in header["files"]:
        mode = 0o755 if executable else 0o644
        content = await context.read_exactly(size)
        context.files.write(f"{ROOT}/{path}", content, uid=context.launch.user, mode=mode)

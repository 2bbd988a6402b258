"""A runner for programs of the in-memory engine: takes what a host is fed, greets, and speaks the frames."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from scorehost.engine.memory_process import Ended

if TYPE_CHECKING:
    from scorehost.engine.memory_files import MemoryFiles
    from scorehost.engine.memory_process import Context

ROOT = "/attempt"
_LAST, _KEEPERS = ("result", "failed"), ("usage", "trees")
_LEFT = 3  # how a runner exits whose standard input ends
_FED = "-c"  # the word in the command of a host that takes its files from its standard input


@dataclass(slots=True)
class MemoryRunner:
    """The channel of one scripted runner (docs/architecture.md, "The channel")."""

    context: Context
    start: dict[str, Any] = field(default_factory=dict)
    trees: dict[str, str] = field(default_factory=dict)
    _sent: int = 0

    @classmethod
    async def greeted(cls, context: Context, **said: Any) -> MemoryRunner:
        """Takes all that comes before an evaluation, and says hello with the true digests of its folders, and
        with what is `said` besides.
        """
        try:
            if _FED in context.launch.argv:
                await _sized(context)  # the program that would take the files
                await _take(context)
            runner = cls(context, json.loads(await _sized(context)))
            if runner.start["fed"]:
                await _take(context)
        except EOFError:  # given up by its controller: no defect of the program
            raise Ended(_LEFT) from None
        runner.trees = {folder: digest_of(context.files, folder) for folder in runner.start["trees"]}
        hello = {"kind": "hello", "python": "3.11.2", "trees": runner.trees, "dumpable": False}
        await runner.say({**hello, **said})
        return runner

    async def say(self, document: dict[str, Any]) -> None:
        """Sends one frame, as the keeper sends it. A result or a failure has the keeper's last word after it:
        its `trees` and `usage` go there.
        """
        ended = {name: document[name] for name in _KEEPERS if name in document}
        if document["kind"] not in _LAST:
            await self._frame(document)
            return
        await self._frame({name: value for name, value in document.items() if name not in _KEEPERS})
        await self.vouch(**ended)

    async def vouch(self, *, status: int = 0, **told: Any) -> None:
        """Sends the keeper's last word, and the end of the log."""
        usage = {"peak_memory_bytes": None, "cpu_seconds": None}
        facts = {"stopped": False, "broken": False, "oom_kills": 0, "usage": usage, "trees": self.trees}
        await self._frame({"kind": "ended", "status": status, **facts, **told})
        await self.context.write_error(b"\0scorehost " + self._mac(b"log", 0, b"") + b"\n")

    async def _frame(self, document: dict[str, Any]) -> None:
        who = b"k" if document["kind"] in {"hello", "ended"} else b"e"
        body = who + json.dumps(document).encode()
        mac = self._mac(b"", self._sent, body)
        self._sent += 1
        await self.context.write((64 + len(body)).to_bytes(4, "big") + mac + body)

    def _mac(self, label: bytes, counter: int, body: bytes) -> bytes:
        said = label + counter.to_bytes(8, "big") + body
        return hmac.new(bytes.fromhex(self.start["key"]), said, hashlib.sha256).hexdigest().encode()


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

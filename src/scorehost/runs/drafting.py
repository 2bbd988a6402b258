"""The folder of an attempt that runs: what it keeps is written by the job's one thread, in order."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio

from scorehost.errors import DiskTrouble, Interrupted
from scorehost.model.check import CheckRow
from scorehost.model.masking import Masker
from scorehost.model.result import Result
from scorehost.runs.draft import Draft, draft_of
from scorehost.runs.writer import Steps, Writer

DROP_SECONDS = 10.0  # for a draft that nobody wants to go; the next sweep takes what a hanging disk keeps


class Drafting:
    """A draft that is written elsewhere: `write` waits for nothing, and `publish` tells what failed."""

    def __init__(self, writer: Writer, draft: Draft) -> None:
        self._writer = writer
        self._failure: BaseException | None = None
        self.draft = draft

    @property
    def staging(self) -> Path:
        """As `Draft.staging`."""
        return self.draft.staging

    def write(self, path: str, data: bytes) -> None:
        """One file, written soon."""
        self.post(lambda: self.draft.write(path, data))

    def post(self, call: Callable[[], object]) -> None:
        """Something that writes into the draft, done soon, in the writer's thread."""

        def work() -> None:
            if self._failure is None:
                try:
                    call()
                except BaseException as error:
                    self._failure = error
                    raise

        self._writer.post(work, _told_by_publish, lazy=True)

    async def publish(self, close: Callable[[], tuple[Result, tuple[CheckRow, ...]]]) -> Result:
        """Closes the draft with what `close` gives, asked in the writer's thread once all else is written.

        It is durable, and shown, when this returns. Raises DiskTrouble.
        """

        def steps() -> Steps[Result]:
            if self._failure is not None:
                raise self._failure
            result, checks = close()
            self.draft.close(result, checks)
            yield from self.draft.publishing()
            return result

        return await self._writer.durable(steps())


def _told_by_publish(_error: BaseException) -> None:
    """Nobody waits for a single file."""


@asynccontextmanager
async def drafting(writer: Writer, target: Path, masker: Callable[[], Masker]) -> AsyncIterator[Drafting]:
    """A draft that is `target` once it is published, and nothing at all when the block raises.

    `target` must not exist.
    """
    draft = Draft(draft_of(target), target, masker)
    made = Drafting(writer, draft)
    made.post(draft.begin)
    try:
        yield made
    except BaseException:
        with anyio.move_on_after(DROP_SECONDS, shield=True), suppress(DiskTrouble, Interrupted):
            await writer.do(draft.drop)
        raise

"""A dataset held open for scoring in a loop: the engine, the hosts and the folders of a scorer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import structlog

from scorehost.aio.opened import opened_aside
from scorehost.aio.retry import Retry
from scorehost.api.scorer import Scorer
from scorehost.attempt.fitting import limits_of, room_for
from scorehost.attempt.resources import open_resources
from scorehost.engine.door import EngineInfo
from scorehost.engine.opener import OpenEngine
from scorehost.engine.opening import open_engine
from scorehost.errors import UsageError
from scorehost.files.removal import remove_tree
from scorehost.files.scratch import made_scratch
from scorehost.model.ids import new_job_id
from scorehost.runs.claim import made_folder
from scorehost.runs.folder import JobFolder
from scorehost.spec.loading import load_dataset

_log = structlog.get_logger()
REMOVE = Retry(20, pause=0.1)  # a thread that nobody waits for may still write


@asynccontextmanager
async def open_scorer(
    dataset: Path | str,
    *,
    profiles: Path | None = None,
    gold: Path | None = None,
    parameters: Mapping[str, Any] | None = None,
    keep: Path | str | None = None,
    at_a_time: int | None = None,
    allow_unenforced: bool = False,
    say: Callable[[str], None] | None = None,
    engine: OpenEngine = open_engine,
) -> AsyncIterator[Scorer]:
    """A scorer on a dataset, whose hosts are all removed at the end of the block.

    `keep` is a runs folder in which every attempt stays; without it attempts are removed once they are
    read. `at_a_time` bounds how many run side by side; None lets the engine's cores and memory decide. The
    profile's `evaluate_host.warm` says how many hosts wait for each that runs. `allow_unenforced` takes an
    engine that cannot enforce every limit. `say` is told what is slow or could not be cleaned up (the log has
    it otherwise). Scores that still run when the block ends are broken off. What the block raises comes out
    as it is. Raises SpecError, UsageError, EngineError.
    """
    if at_a_time is not None and at_a_time < 1:
        raise UsageError(
            f"at_a_time is {at_a_time}; it must be 1 or more.", hint="None lets the engine decide."
        )
    found = load_dataset(Path(dataset), profiles=profiles, gold=gold, parameters=parameters)
    raised: BaseException | None = None
    try:
        async with AsyncExitStack() as stack:
            opened = await stack.enter_async_context(engine(found.profiles.engine.host))
            _check_enforced(await opened.info(), allowed=allow_unenforced)
            runs = Path(keep) if keep is not None else await stack.enter_async_context(_temporary())
            made = made_folder(
                runs,
                new_job_id(),
                "scorer",
                keep=lambda path: keep is None or JobFolder(path).has_attempts,
            )
            folder = await stack.enter_async_context(opened_aside(made))
            holder: list[Scorer] = []
            resources = await stack.enter_async_context(
                open_resources(
                    opened,
                    found,
                    job_id=folder.name,
                    folder=folder,
                    say=say or _logged,
                    upcoming=lambda count: holder[0].upcoming(count) if holder else [],
                    allow_unenforced=allow_unenforced,
                )
            )
            group = await stack.enter_async_context(anyio.create_task_group())
            room = at_a_time or room_for(found.tasks.values(), found, resources.info)
            scorer = Scorer(resources, folder, group, keep=keep is not None, at_a_time=room)
            holder.append(scorer)
            stack.callback(scorer.close)
            try:
                yield scorer
            except BaseException as error:
                raised = error
                raise
    except BaseExceptionGroup as errors:
        # The groups that hosts and scores run in wrap whatever passes through them. A cancel that comes with
        # other errors is theirs: the block was cancelled because of them.
        if raised is None or isinstance(raised, anyio.get_cancelled_exc_class()):
            raise _first(errors) from None
    if raised is not None:
        raise raised


def _first(errors: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = errors
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _check_enforced(info: EngineInfo, *, allowed: bool) -> None:
    if not allowed and (unenforced := limits_of(info)):
        text = "\n".join(finding.text for finding in unenforced)
        raise UsageError(text, hint="Mend the engine's machine, or accept it with allow_unenforced=True.")


@asynccontextmanager
async def _temporary() -> AsyncIterator[Path]:
    """A folder that is gone at the end, also when a thread of a cancelled attempt still writes into it."""
    folder = made_scratch("scorer")
    try:
        yield folder
    finally:
        tried = 1
        with anyio.CancelScope(shield=True):
            while not (gone := _gone(folder)) and await REMOVE.wait(tried):
                tried += 1
        if not gone:
            _log.warning("a temporary folder could not be removed", folder=str(folder))


def _logged(text: str) -> None:
    _log.warning(text)


def _gone(folder: Path) -> bool:
    with suppress(OSError):
        remove_tree(folder)
    return not folder.exists()

"""Whether an engine works, asked about things that are not there: no container can spoil the answers."""

from __future__ import annotations

from collections.abc import Awaitable

import anyio

from scorehost.engine.door import Engine
from scorehost.errors import EngineError, EngineHangs, NotFound

NOBODYS = "0" * 64  # the id of no container and of no exec
WORKS_SECONDS = 15.0  # for all the questions together, which take a quiet engine some 20 ms


async def works(engine: Engine, *, after: EngineError | None = None) -> bool:
    """Whether the engine answers each sort of question that is asked about containers and execs.

    One that says of what is not there that it is not there does: then trouble with one container is that
    container's own. One that hung (`after`) did not work then, however soon it does again.
    """
    if isinstance(after, EngineHangs):
        return False
    try:
        with anyio.fail_after(WORKS_SECONDS):
            await engine.info()
            return (
                await _not_there(engine.inspect(NOBODYS))
                and await _not_there(engine.exec_exit_code(NOBODYS))
                and await _not_there(
                    engine.exec_create(NOBODYS, ("true",), user=1, env={}, workdir="/", stdin=False)
                )
                and await _not_there(_started(engine))
            )
    except (EngineError, TimeoutError):
        return False


async def _started(engine: Engine) -> None:
    async with engine.exec_start(NOBODYS):
        return


async def _not_there(answer: Awaitable[object]) -> bool:
    try:
        await answer
    except NotFound:
        return True
    return False

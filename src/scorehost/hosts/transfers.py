"""Files that move into and out of hosts in parts, each part into or out of the same host as the first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scorehost.hosts.execs import ExecOrder
from scorehost.hosts.host import Host
from scorehost.hosts.messages import MAX_PART, ReadFile, WriteFile
from scorehost.hosts.sessions import Refused
from scorehost.model.exec_result import ExecResult

MAX_TRANSFERS = 256  # begun and not ended; of more, the oldest are forgotten


@dataclass(slots=True)
class Stay:
    """The host that one use after another has to meet; none before the first."""

    host: Host | None = None


@dataclass(slots=True)
class _Transfer:
    name: str | None
    path: str
    written: int = 0
    stay: Stay = field(default_factory=Stay)


Run = Callable[[WriteFile | ReadFile, ExecOrder, Stay], Awaitable[ExecResult]]
"""Runs a program in a request's host: the one of the stay, or none, which is told as a lost host."""


class Transfers:
    """The files of an attempt that are on their way. `run` runs `dd`, at most `seconds` for each part."""

    def __init__(self, run: Run, seconds: float) -> None:
        self._run = run
        self._seconds = seconds
        self._writing: dict[int, _Transfer] = {}
        self._reading: dict[int, _Transfer] = {}

    async def write(self, request: WriteFile) -> Mapping[str, Any] | None:
        """Writes a part; the first begins the file anew, whatever of it was there. Raises Refused."""
        what = f"{request.path} cannot be written"
        if request.transfer is None:
            for number, other in tuple(self._writing.items()):
                if (other.name, other.path) == (request.name, request.path):
                    del self._writing[number]  # what is left of it would end up in this file
            number, transfer = request.id, _Transfer(request.name, request.path)
        else:
            number = request.transfer
            transfer = self._known(self._writing, number, request, what)
            if request.offset != transfer.written:
                raise Refused("ScoringError", f"{what}: a part of it is missing")
        append = ("oflag=append", "conv=notrunc") if request.offset else ()
        argv = ("dd", f"of={request.path}", "status=none", *append)
        order = ExecOrder(argv, self._seconds, 4096, stdin=request.data)
        self._writing.pop(number, None)  # only a part that arrived is followed by another
        done = await self._run(request, order, transfer.stay)
        _expect_done(done, what)
        if not request.more:
            return None
        transfer.written = request.offset + len(request.data)
        _keep(self._writing, number, transfer)
        return {"transfer": number}

    async def read(self, request: ReadFile) -> Mapping[str, Any]:
        """Reads a part. Raises Refused."""
        what = f"{request.path} cannot be read"
        number = request.id if request.transfer is None else request.transfer
        transfer = _Transfer(request.name, request.path)
        if request.transfer is not None:
            transfer = self._known(self._reading, number, request, what)
        argv = (
            "dd",
            f"if={request.path}",
            "iflag=fullblock,skip_bytes",
            f"skip={request.offset}",
            f"bs={MAX_PART}",
            "count=1",
            "status=none",
        )
        done = await self._run(request, ExecOrder(argv, self._seconds, 2 * MAX_PART), transfer.stay)
        _expect_done(done, what)
        ended = len(done.stdout) < MAX_PART
        if ended:
            self._reading.pop(number, None)
        else:
            _keep(self._reading, number, transfer)
        return {"data": done.stdout, "ended": ended, "transfer": number}

    @staticmethod
    def _known(
        among: dict[int, _Transfer], number: int, request: WriteFile | ReadFile, what: str
    ) -> _Transfer:
        transfer = among.get(number)
        if transfer is None or (transfer.name, transfer.path) != (request.name, request.path):
            raise Refused("ScoringError", f"{what}: it was broken off, or begun anew; begin again")
        return transfer


def _keep(among: dict[int, _Transfer], number: int, transfer: _Transfer) -> None:
    among[number] = transfer
    while len(among) > MAX_TRANSFERS:
        del among[next(iter(among))]


def _expect_done(done: ExecResult, what: str) -> None:
    if done.host_lost:
        raise Refused("HostLost", f"{what}: the host ended")
    if done.timed_out or done.exit_code != 0:
        said = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise Refused("ScoringError", f"{what}: {said or done.exit_code}")

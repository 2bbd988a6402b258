"""Hosts that stay on the engine for a person to look into, and how one enters them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

import anyio

from scorehost.errors import EngineError, NotFound
from scorehost.hosts.blueprint import ROOT
from scorehost.hosts.host import Host

SECONDS = 60.0  # for all that is asked of the engine at the end of one attempt


@dataclass(slots=True)
class KeptHosts:
    """The hosts of one attempt: each waits here, in place of its removal, for how the attempt ends.

    `address` is where the engine is when it is not the one that the docker command finds by itself.
    """

    address: str | None = None
    hosts: list[Host] = field(default_factory=list)

    def take(self, host: Host) -> None:
        """Has the host from now on; it is not removed by anybody else."""
        self.hosts.append(host)

    async def commands(self) -> list[str]:
        """For each host the line that enters it, with what it holds."""
        with anyio.move_on_after(SECONDS):
            return [await self._line(host) for host in self.hosts]
        return [f"{host.blueprint.name}: {enter(host, self.address)}" for host in self.hosts]

    async def _line(self, host: Host) -> str:
        try:
            runs = (await host.engine.inspect(host.container)).running
        except NotFound:
            return f"{host.blueprint.name} is gone"
        except EngineError:
            runs = True
        start = "" if runs else f"{docker(self.address)} start {host.name} && "
        gold = "; the gold set lies in it" if host.blueprint.gold else ""
        return f"{host.blueprint.name}: {start}{enter(host, self.address)}{gold}"

    async def remove(self) -> list[str]:
        """Removes all of them; the names of those that the engine did not give up."""
        lost: list[str] = []
        with anyio.move_on_after(SECONDS, shield=True):
            while self.hosts:
                host = self.hosts[-1]
                try:
                    await host.engine.remove(host.container)
                except NotFound:
                    pass
                except EngineError:
                    lost.append(host.name)
                self.hosts.pop()
        return lost + [host.name for host in self.hosts]


def enter(host: Host, address: str | None = None) -> str:
    """The command that opens a shell in a host, as the user that its execs run as."""
    user = host.users.execs
    return f"{docker(address)} exec -it -u {user}:{user} -w {ROOT} {host.name} sh"


def docker(address: str | None) -> str:
    """The docker command, for an engine at `address` when it is not the default one."""
    return "docker" if address is None else f"docker -H {shlex.quote(address)}"

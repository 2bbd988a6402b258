"""Peak memory and CPU time of a host, from its control group."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import anyio

from scorehost.engine.door import Engine
from scorehost.errors import EngineError

READ_SECONDS = 3.0
_MEMORY_V1 = "/sys/fs/cgroup/memory/memory.max_usage_in_bytes"
_CPU_V1 = "/sys/fs/cgroup/cpuacct/cpuacct.usage"
_MEMORY_V2 = "/sys/fs/cgroup/memory.peak"
_CPU_V2 = "/sys/fs/cgroup/cpu.stat"
_SWAP_V1 = "/sys/fs/cgroup/memory/docker/{}/memory.memsw.max_usage_in_bytes"


@dataclass(frozen=True, slots=True)
class Usage:
    """Bytes and seconds; None where the engine's machine does not tell."""

    peak_memory_bytes: int | None = None
    cpu_seconds: float | None = None


async def read_usage(engine: Engine, container: str, user: int, *, running: bool) -> Usage:
    """The usage of a host so far.

    The engine's own stats call takes up to a second. Where this process sees the engine's control groups
    (the same machine), it reads them; else, while the host runs, `cat` inside does, as the user of the main
    process. That is a claim of the image, and only as good as its `cat`.
    """
    local = _local(container)
    if local is not None or not running:
        return local or Usage()
    try:
        with anyio.move_on_after(READ_SECONDS):
            text = await _cat(engine, container, user)
            return _parse(text)
    except EngineError:
        pass  # a host that cannot be asked has no usage to tell; its end is judged elsewhere
    return Usage()


def local_peak(container: str) -> int | None:
    """The peak of what a host's limit counts, in bytes, where this machine has its control group; else None.

    Under cgroup v1 the limit counts what was swapped out, too.
    """
    local = _local(container)
    if local is None or local.peak_memory_bytes is None:
        return None
    try:
        swapped = int(Path(_SWAP_V1.format(container)).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        swapped = 0
    return max(local.peak_memory_bytes, swapped)


def killed_for_memory(container: str) -> int:
    """How many processes of a host the kernel has killed for want of memory, the machine's or the host's own;
    0 where this machine cannot tell.
    """
    for path in (
        f"/sys/fs/cgroup/memory/docker/{container}/memory.oom_control",
        f"/sys/fs/cgroup/system.slice/docker-{container}.scope/memory.events",
        f"/sys/fs/cgroup/docker/{container}/memory.events",
    ):
        try:
            rows = dict(line.split() for line in Path(path).read_text(encoding="utf-8").splitlines())
        except (OSError, ValueError):
            continue
        return int(rows.get("oom_kill", 0))
    return 0


def crowded_out(container: str) -> int:
    """How often a host was refused one more process by its pids limit; 0 where this machine cannot tell."""
    for path in (
        f"/sys/fs/cgroup/pids/docker/{container}/pids.events",
        f"/sys/fs/cgroup/system.slice/docker-{container}.scope/pids.events",
        f"/sys/fs/cgroup/docker/{container}/pids.events",
    ):
        try:
            words = Path(path).read_text(encoding="utf-8").split()
        except OSError:
            continue
        if words[:1] == ["max"]:
            return int(words[1])
    return 0


def _local(container: str) -> Usage | None:
    for memory, cpu in (
        (
            f"/sys/fs/cgroup/memory/docker/{container}/memory.max_usage_in_bytes",
            f"/sys/fs/cgroup/cpuacct/docker/{container}/cpuacct.usage",
        ),
        (
            f"/sys/fs/cgroup/system.slice/docker-{container}.scope/memory.peak",
            f"/sys/fs/cgroup/system.slice/docker-{container}.scope/cpu.stat",
        ),
        (f"/sys/fs/cgroup/docker/{container}/memory.peak", f"/sys/fs/cgroup/docker/{container}/cpu.stat"),
    ):
        try:
            return _parse(Path(memory).read_text(encoding="utf-8") + Path(cpu).read_text(encoding="utf-8"))
        except OSError:
            continue
    return None


async def _cat(engine: Engine, container: str, user: int) -> str:
    argv = ["cat", _MEMORY_V1, _CPU_V1, _MEMORY_V2, _CPU_V2]
    exec_id = await engine.exec_create(container, argv, user=user, env={}, workdir="/", stdin=False)
    text = b""
    async with engine.exec_start(exec_id) as stream:
        while (chunk := await stream.receive()) is not None:
            if chunk.stream == "stdout" and len(text) < 4096:  # noqa: PLR2004 - a page is plenty
                text += chunk.data
    return text.decode("ascii", "replace")


def _parse(text: str) -> Usage:
    peak: int | None = None
    cpu: float | None = None
    for line in text.splitlines():
        word, _, value = line.partition(" ")
        if word == "usage_usec" and value.isdigit():
            cpu = int(value) / 1e6
        elif word.isdigit() and not value:
            if peak is None:
                peak = int(word)
            elif cpu is None:
                cpu = int(word) / 1e9  # cpuacct counts nanoseconds
    return Usage(peak, cpu)

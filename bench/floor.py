"""The floor: what one attempt needs of the engine, by its API alone, with no checks and nothing kept."""

from __future__ import annotations

import io
import subprocess
import tarfile
import threading
from collections.abc import Callable
from typing import Any

import docker

from scorehost.engine.container_config import container_config
from scorehost.engine.door import ContainerSpec, Tmpfs

IMAGE = "scorehost/python:3"
ROOT = "/attempt"
MIB = 1024 * 1024
_local = threading.local()


def client() -> docker.APIClient:
    """A client of this thread's own: the sessions of the SDK are not to be shared."""
    if not hasattr(_local, "client"):
        _local.client = docker.APIClient(version="auto", timeout=120)
    found: docker.APIClient = _local.client
    return found


def spec(command: tuple[str, ...], *, network_by_runtime: bool = False) -> ContainerSpec:
    """A container as isolated as a scoring host; `network_by_runtime`: see ADR 0014."""
    return ContainerSpec(
        name="",
        image=IMAGE,
        command=command,
        user=200_001,
        labels={"scorehost.bench": "floor"},
        env={"HOME": "/tmp", "TMPDIR": "/tmp", "LC_ALL": "C.UTF-8"},  # noqa: S108 - in the container
        cleared_env=(),
        workdir=ROOT,
        memory=2048 * MIB,
        cpus=1.0,
        pids=256,
        shm=16 * MIB,
        volumes=(ROOT,),
        names_itself=network_by_runtime,
        tmpfs=(Tmpfs("/tmp", 32 * MIB, 8192), Tmpfs(f"{ROOT}/output", 32 * MIB, 8192)),  # noqa: S108
    )


def small_archive() -> bytes:
    """One small file."""
    return archive_of("evaluation/gold.txt", b"gold")


def archive_of(name: str, data: bytes) -> bytes:
    """A tar archive of one file."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


def create(command: tuple[str, ...], *, network_by_runtime: bool = False) -> str:
    """Creates the container; its id."""
    made = spec(command, network_by_runtime=network_by_runtime)
    config = container_config(made, default_runtime="runc")
    return str(client().create_container_from_config(config)["Id"])


def attempt(*, network_by_runtime: bool = False) -> None:
    """Create, upload, start, wait, remove: the whole floor of one attempt."""
    container = create(("python3", "-c", "pass"), network_by_runtime=network_by_runtime)
    client().put_archive(container, ROOT, small_archive())
    client().start(container)
    client().wait(container)
    client().remove_container(container, v=True, force=True)


def docker_run() -> None:
    """The same by the docker command, as people know it."""
    subprocess.run(["docker", "run", "--rm", "--network", "none", IMAGE, "python3", "-c", "pass"], check=True)


class Running:
    """A container that waits, for what is measured inside one."""

    def __enter__(self) -> str:
        self._id = create(("sleep", "3600"))
        client().start(self._id)
        return self._id

    def __exit__(self, *_: object) -> None:
        client().remove_container(self._id, v=True, force=True)


def raw_exec(container: str, argv: list[str]) -> bytes:
    """One exec by the API alone, its output collected."""
    made: dict[str, Any] = client().exec_create(container, argv, user="200002:200002", workdir="/")
    output: bytes = client().exec_start(made["Id"])
    client().exec_inspect(made["Id"])
    return output


def upload(container: str, data: bytes) -> None:
    """One raw upload of a file into the volume of a container."""
    client().put_archive(container, ROOT, archive_of("artifacts/big.bin", data))


def in_threads(count: int, workers: int, call: Callable[[], None]) -> None:
    """Makes `count` calls, `workers` at a time."""
    numbers = iter(range(count))
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                if next(numbers, None) is None:
                    return
            call()

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

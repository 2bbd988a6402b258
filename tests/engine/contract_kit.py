"""What the contract's containers run, with the same programs scripted for the in-memory engine."""

from __future__ import annotations

import io
import tarfile

import anyio

IMAGE = "scorehost/python:3"
MIB = 1024 * 1024
USER = 200_001
BOTH_STREAMS = "echo out; echo err >&2; exit 3"
PRINT_ENV = "env"
SHOW_FILE = "cat /attempt/given/file"
FLOOD = "head -c 3000000 /dev/zero; echo end"


def tar_of(files: dict[str, bytes]) -> bytes:
    """A tar archive with these files and the folders above them."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for folder in sorted({name.rpartition("/")[0] for name in files} - {""}):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            tar.addfile(info, io.BytesIO(content))
    return data.getvalue()


async def play_cat(context):
    while data := await context.read():
        await context.write(data)


async def play_shell(context):
    script = context.launch.argv[2]
    if script == BOTH_STREAMS:
        await context.write(b"out\n")
        await context.write_error(b"err\n")
        return 3
    if script == PRINT_ENV:
        for name, value in context.launch.env.items():
            await context.write(f"{name}={value}\n".encode())
        return 0
    if script == SHOW_FILE:
        await context.write(context.files.read("/attempt/given/file"))
        return 0
    assert script == FLOOD
    await context.write(bytes(3_000_000))
    await context.write(b"end\n")
    return 0


async def read_all(stream) -> dict[str, bytes]:
    """Everything on both streams until their end."""
    found = {"stdout": b"", "stderr": b""}
    while (chunk := await stream.receive()) is not None:
        assert 0 < len(chunk.data) <= 64 * 1024
        found[chunk.stream] += chunk.data
    return found


async def exit_code(engine, exec_id: str) -> int:
    """The code of an exec whose output has ended; Docker tells it some milliseconds later."""
    with anyio.fail_after(10):
        while (code := await engine.exec_exit_code(exec_id)) is None:  # noqa: ASYNC110 - nothing else tells it
            await anyio.sleep(0.01)
    return code

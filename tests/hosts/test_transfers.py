"""Files in parts: each part into the host of the first, and never what another write left."""

from __future__ import annotations

import anyio
import pytest

from hosts.exec_places import named_host
from scorehost.hosts.messages import MAX_PART, ReadFile, Reset, WriteFile
from scorehost.hosts.sessions import Refused

pytestmark = pytest.mark.anyio
PATH = "/tmp/f"
WHOLE = bytes(MAX_PART) + b"rest"


class Disk:
    """Plays `dd`, as the parts of a file are written and read with it; what it holds goes with its host."""

    def __init__(self):
        self.files = {}

    async def __call__(self, context):
        words = dict(word.partition("=")[::2] for word in context.launch.argv[1:])
        if "if" in words:
            start = int(words["skip"])
            await context.write(self.files[words["if"]][start : start + MAX_PART])
            return
        data = b""
        while piece := await context.read():
            data += piece
        before = self.files.get(words["of"], b"") if words.get("oflag") == "append" else b""
        self.files[words["of"]] = before + data


def part(number, data, *, more=False, transfer=None, offset=0):
    return WriteFile(
        kind="write_file",
        id=number,
        name="work",
        path=PATH,
        data=data,
        more=more,
        transfer=transfer,
        offset=offset,
    )


def ask(number, offset=0, transfer=None):
    return ReadFile(kind="read_file", id=number, name="work", path=PATH, offset=offset, transfer=transfer)


@pytest.fixture
async def files():
    disk = Disk()
    async with named_host(disk) as place, anyio.create_task_group() as group:

        async def answer(request):
            return await place.requests.answer(request, group)

        async def replaced():
            await answer(Reset(kind="reset", id=1000, name="work"))
            disk.files.clear()

        answer.disk, answer.replaced = disk.files, replaced
        yield answer


async def test_parts_of_one_write_become_one_file_and_are_read_back_in_parts(files):
    assert await files(part(1, WHOLE[:MAX_PART], more=True)) == {"transfer": 1}
    assert await files(part(2, WHOLE[MAX_PART:], transfer=1, offset=MAX_PART)) is None
    assert files.disk[PATH] == WHOLE
    first = await files(ask(3))
    second = await files(ask(4, len(first["data"]), first["transfer"]))
    assert (first["data"] + second["data"], first["ended"], second["ended"]) == (WHOLE, False, True)


async def test_a_write_that_was_broken_off_leaves_nothing_to_the_next_one(files):
    await files(part(1, b"old part|", more=True))
    await files(part(2, b"new"))
    assert files.disk[PATH] == b"new"
    with pytest.raises(Refused, match="broken off, or begun anew"):
        await files(part(3, b"old rest", transfer=1, offset=9))
    assert files.disk[PATH] == b"new"


async def test_a_part_in_the_wrong_place_is_refused(files):
    await files(part(1, b"first|", more=True))
    with pytest.raises(Refused, match="a part of it is missing"):
        await files(part(2, b"third", transfer=1, offset=12))


async def test_the_second_part_never_goes_into_another_host_than_the_first(files):
    await files(part(1, b"first half|", more=True))
    await files.replaced()
    with pytest.raises(Refused, match="the host ended") as refused:
        await files(part(2, b"second half", transfer=1, offset=11))
    assert refused.value.kind == "HostLost"
    assert files.disk == {}
    await files(part(3, b"whole"))
    assert files.disk[PATH] == b"whole"


async def test_a_file_is_never_read_from_two_hosts(files):
    files.disk[PATH] = WHOLE
    first = await files(ask(1))
    await files.replaced()
    files.disk[PATH] = b"another file"
    with pytest.raises(Refused) as refused:
        await files(ask(2, MAX_PART, first["transfer"]))
    assert refused.value.kind == "HostLost"

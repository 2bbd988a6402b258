"""Contents are stored once, whole, whoever stores them at the same time."""

from __future__ import annotations

import hashlib
import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from scorehost.files.lease import own_lease
from scorehost.runs.blobs import Blobs


def stored(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_a_content_is_stored_once_under_its_sha256(tmp_path):
    blobs = Blobs(tmp_path / "b")
    first = blobs.put(iter([b"ab", b"c"]), executable=False)
    second = blobs.put(iter([b"abc"]), executable=False)
    # sha256 of "abc", FIPS 180-2 appendix B.1
    name = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert first == second == (name, tmp_path / "b" / "ba" / name)
    assert stored(tmp_path / "b") == [first[1]]
    assert first[1].read_bytes() == b"abc"


def test_modes_are_private_and_what_may_be_executed_is_a_blob_of_its_own(tmp_path):
    blobs = Blobs(tmp_path / "b")
    _, plain = blobs.put(iter([b"abc"]), executable=False)
    _, runs = blobs.put(iter([b"abc"]), executable=True)
    assert plain != runs
    assert stat.S_IMODE(plain.stat().st_mode) == 0o600
    assert stat.S_IMODE(runs.stat().st_mode) == 0o700
    for folder in (tmp_path / "b", plain.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_many_writers_of_one_content_end_with_one_whole_blob(tmp_path):
    data = b"x" * 300_000

    def put(_):
        return Blobs(tmp_path / "b").put(iter([data[:100_000], data[100_000:]]), executable=False)

    with ThreadPoolExecutor(8) as pool:
        results = set(pool.map(put, range(40)))
    ((name, path),) = results
    assert name == hashlib.sha256(data).hexdigest()
    assert stored(tmp_path / "b") == [path]
    assert path.read_bytes() == data


def test_a_failed_writer_leaves_nothing(tmp_path):
    def pieces():
        yield b"abc"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Blobs(tmp_path / "b").put(pieces(), executable=False)
    assert stored(tmp_path / "b") == []


def test_a_blob_that_was_cut_short_is_replaced(tmp_path):
    blobs = Blobs(tmp_path / "b")
    _, path = blobs.put(iter([b"abc"]), executable=False)
    path.write_bytes(b"a")
    assert blobs.put(iter([b"abc"]), executable=False)[1].read_bytes() == b"abc"


def test_a_small_content_that_is_there_is_not_written_again(tmp_path):
    blobs = Blobs(tmp_path / "b")
    blobs.put(iter([b"abc"]), executable=False)
    (tmp_path / "b" / "incoming").rmdir()
    blobs.put(iter([b"abc"]), executable=False)
    assert not (tmp_path / "b" / "incoming").exists()


@pytest.mark.parametrize("pieces", [[], [b""], [b"a"], [b"a", b"b"], [b"a", b"b", b"c"]])
def test_pieces_are_stored_in_their_order(tmp_path, pieces):
    whole = b"".join(pieces)
    name, path = Blobs(tmp_path / "b").put(iter(pieces), executable=False)
    assert path.read_bytes() == whole
    assert name == hashlib.sha256(whole).hexdigest()


def test_half_copied_contents_of_dead_processes_are_swept_and_those_of_living_ones_stay(tmp_path):
    incoming = tmp_path / "b" / "incoming"
    incoming.mkdir(parents=True)
    mine = own_lease()
    dead = incoming / f"{replace(mine, start_ticks=mine.start_ticks + 1)}.aa"
    alive, unknown = incoming / f"{mine}.bb", incoming / "somebody-elses"
    for draft in (dead, alive, unknown):
        draft.write_bytes(b"half")
    Blobs(tmp_path / "b").sweep()
    assert sorted(path.name for path in incoming.iterdir()) == sorted((alive.name, unknown.name))

"""Trees of files: their digest, and the archive that carries them."""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest

from scorehost.files.tree import (
    TRUSTED_BYTES,
    ChangedWhileSent,
    Entry,
    Tree,
    archive,
    changed_source,
    read_tree,
)


def entry(path: str, source: Path, *, executable: bool = False) -> Entry:
    data = source.read_bytes()
    return Entry(path, source, hashlib.sha256(data).hexdigest(), len(data), executable)


def unpacked(*trees: tuple[str, Tree]) -> list[tarfile.TarInfo]:
    data = io.BytesIO(b"".join(archive(trees)))
    with tarfile.open(fileobj=data, errors="surrogateescape", encoding="utf-8") as tar:
        return tar.getmembers()


def test_the_digest_is_the_one_that_the_architecture_describes():
    # sha256 of b"" and of b"abc", from FIPS 180-2
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    # byte order: "B" (42) < "a/b" (61 2f) < "a0" (61 30) < "é" (c3 a9)
    tree = Tree(
        (
            Entry("é", Path("-"), abc, 3),
            Entry("a0", Path("-"), empty, 0),
            Entry("B", Path("-"), abc, 3, executable=True),
            Entry("a/b", Path("-"), empty, 0),
        )
    )
    lines = b"".join(
        (
            b"B\0x\0" + abc.encode() + b"\n",
            b"a/b\0-\0" + empty.encode() + b"\n",
            b"a0\0-\0" + empty.encode() + b"\n",
            b"\xc3\xa9\0-\0" + abc.encode() + b"\n",
        )
    )
    assert tree.digest == "sha256:" + hashlib.sha256(lines).hexdigest()
    assert tree.size == 6


def test_a_copy_in_memory_takes_whole_pages_and_one_for_each_file_and_folder():
    files = (Entry("a/b/empty", Path("-"), "", 0), Entry("a/x", Path("-"), "", 4097))
    assert Tree(files, ("a", "c")).in_memory == (1 + 2 + 3) * 4096
    assert Tree().in_memory == 0


def test_a_tree_without_files_has_the_digest_of_nothing():
    assert Tree().digest == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def test_files_are_read_with_their_execute_bit(tmp_path):
    plain, run = tmp_path / "plain", tmp_path / "run"
    plain.write_bytes(b"abc")
    run.write_bytes(b"")
    run.chmod(0o700)
    plain.chmod(0o600)
    tree = read_tree([("p", plain), ("r", run)])
    assert [(e.path, e.size, e.executable) for e in tree.entries] == [("p", 3, False), ("r", 0, True)]
    assert tree.entries[0].sha256.startswith("ba7816bf")


def test_all_in_the_archive_belongs_to_root_and_is_not_writable_by_others(tmp_path):
    source = tmp_path / "f"
    source.write_bytes(b"abc")
    tree = Tree((entry("deep/er/a", source), entry("run", source, executable=True)), ("bare",))
    found = {member.name: member for member in unpacked(("evaluation", tree), ("empty", Tree()))}
    assert set(found) == {
        "evaluation",
        "evaluation/bare",
        "evaluation/deep",
        "evaluation/deep/er",
        "evaluation/deep/er/a",
        "evaluation/run",
        "empty",
    }
    for member in found.values():
        assert (member.uid, member.gid, member.mtime) == (0, 0, 0)
        assert member.mode == (0o755 if member.isdir() or member.name.endswith("run") else 0o644)


def test_names_that_are_not_utf_8_or_long_and_every_byte_arrive(tmp_path):
    source = tmp_path / "f"
    source.write_bytes(bytes(range(256)) * 10)
    name = os.fsdecode(b"bad\xff\xfe\n name")
    long = "/".join(["d" * 200, "e" * 255])
    data = b"".join(archive([("a", Tree((entry(name, source), entry(long, source))))]))
    with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape", encoding="utf-8") as tar:
        assert os.fsencode(tar.getnames()[1]) == b"a/bad\xff\xfe\n name"
        assert tar.extractfile(f"a/{name}").read() == bytes(range(256)) * 10
        assert tar.extractfile(f"a/{long}").read() == bytes(range(256)) * 10


def test_a_sparse_file_is_streamed_in_small_pieces(tmp_path):
    source = tmp_path / "sparse"
    with source.open("wb") as file:
        file.truncate(64 * 1024 * 1024)
    pieces = [len(piece) for piece in archive([("a", read_tree([("f", source)]))])]
    assert sum(pieces) >= 64 * 1024 * 1024
    assert max(pieces) <= 2 * 1024 * 1024


@pytest.mark.parametrize("now", [b"abd", b"ab", b"abcd", b""])
def test_a_file_that_is_another_one_now_is_refused_by_its_path(tmp_path, now):
    source = tmp_path / "f"
    source.write_bytes(b"abc")
    tree = Tree((entry("deep/f", source),))
    source.write_bytes(now)
    with pytest.raises(ChangedWhileSent) as caught:
        list(archive([("evaluation", tree)]))
    assert caught.value.path == "evaluation/deep/f"


def test_a_file_that_is_gone_is_refused_by_its_path(tmp_path):
    source = tmp_path / "f"
    source.write_bytes(b"abc")
    tree = Tree((entry("f", source),))
    source.unlink()
    with pytest.raises(ChangedWhileSent) as caught:
        list(archive([("task", tree)]))
    assert caught.value.path == "task/f"


def test_a_large_file_that_its_receiver_digests_is_not_hashed_twice_and_found_by_its_path_later(
    tmp_path,
):
    source = tmp_path / "f"
    source.write_bytes(b"a" * TRUSTED_BYTES)
    trees = [("artifacts", read_tree([("f", source)]))]
    source.write_bytes(b"b" * TRUSTED_BYTES)
    assert b"".join(archive(trees, digested=True)).count(b"b") == TRUSTED_BYTES
    assert changed_source(trees) == "artifacts/f"


@pytest.mark.parametrize("size", [TRUSTED_BYTES - 1, TRUSTED_BYTES + 1])
def test_a_file_that_is_hashed_by_its_receiver_still_has_the_size_that_was_announced(tmp_path, size):
    source = tmp_path / "f"
    source.write_bytes(b"a" * TRUSTED_BYTES)
    tree = read_tree([("f", source)])
    source.write_bytes(b"a" * size)
    with pytest.raises(ChangedWhileSent):
        list(archive([("artifacts", tree)], digested=True))


def test_files_that_did_not_change_are_named_by_nobody(tmp_path):
    source = tmp_path / "f"
    source.write_bytes(b"abc")
    assert changed_source([("a", read_tree([("f", source)]))]) == ""

"""What is sent into a host is what was hashed, in an archive that any reader takes."""

from __future__ import annotations

import hashlib
import io
import tarfile

import pytest

from scorehost.files.tree import CHUNK, ChangedWhileSent, Entry, Tree, archive, name_bytes


def entry(tmp_path, path: str, data: bytes, *, executable: bool = False) -> Entry:
    source = tmp_path / hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()
    source.write_bytes(data)
    return Entry(path, source, hashlib.sha256(data).hexdigest(), len(data), executable)


@pytest.mark.parametrize("size", [0, 1, 511, 512, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 700])
def test_large_files_before_new_folders_come_out_whole(tmp_path, size):
    files = {"a/large": b"l" * size, "b/c/small": b"s", "b/large": b"m" * size, "\udcff/z" + "z" * 150: b"z"}
    trees = [
        ("first", Tree(tuple(entry(tmp_path, path, data) for path, data in files.items()))),
        ("second", Tree((entry(tmp_path, "x/y", b"y", executable=True),), ("empty",))),
        ("third", Tree()),
    ]
    data = b"".join(archive(trees))
    found = {}
    with tarfile.open(fileobj=io.BytesIO(data), errors="surrogateescape") as tar:
        for member in tar:
            assert (member.uid, member.gid, member.mtime) == (0, 0, 0)
            stream = tar.extractfile(member)
            found[member.name] = None if stream is None else stream.read()
            assert member.mode == (0o755 if stream is None or member.name == "second/x/y" else 0o644)
    folders = {
        "first",
        "first/a",
        "first/b",
        "first/b/c",
        "first/\udcff",
        "second",
        "second/x",
        "second/empty",
        "third",
    }
    assert {name for name, content in found.items() if content is None} == folders
    wanted = {f"first/{path}": content for path, content in files.items()} | {"second/x/y": b"y"}
    assert {name: content for name, content in found.items() if content is not None} == wanted


@pytest.mark.parametrize("after", [b"OTHER", b"longer than before", b"s", None])
def test_a_file_that_is_not_what_was_hashed_is_never_sent_whole(tmp_path, after):
    one = entry(tmp_path, "file", b"other")
    if after is None:
        one.source.unlink()
    else:
        one.source.write_bytes(after)
    with pytest.raises(ChangedWhileSent) as caught:
        list(archive([("evaluation", Tree((one,)))]))
    assert caught.value.path == "evaluation/file"


def test_names_are_the_bytes_of_the_file_system():
    assert name_bytes("\udcff\N{SNAKE}") == b"\xff\xf0\x9f\x90\x8d"

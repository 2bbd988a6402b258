"""What a run phase publishes, frame by frame, from a container that may say anything."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scorehost.attempt.shelf import Shelf
from scorehost.hosts.messages import Publish
from scorehost.hosts.sessions import Refused
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.intake import MAX_FILES

SPEC = TaskSpec(
    task_id="t",
    artifacts=(
        Artifact(id="one", path="artifacts/sub/one.txt", max_bytes=10),
        Artifact(id="tree", path="artifacts/tree", kind="tree", max_bytes=20),
    ),
)


@pytest.fixture
def shelf(tmp_path):
    return Shelf(SPEC, tmp_path / "staging")


def part(step, artifact="one", path=b"", data=b"", **more):
    return Publish(kind="publish", id=1, artifact=artifact, step=step, path=path, data=data, **more)


def put(shelf, *parts, artifact="one"):
    for each in (part("begin", artifact), *parts, part("end", artifact)):
        shelf.take(each)


def held(shelf):
    files = (path for path in shelf.done.rglob("*") if path.is_file())
    return {os.fsencode(path.relative_to(shelf.done)): path.read_bytes() for path in files}


def descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_file_in_parts_is_there_when_it_is_whole_and_not_before(shelf):
    shelf.take(part("begin"))
    shelf.take(part("file", data=b"abc", more=True))
    shelf.take(part("file", data=b"def"))
    assert held(shelf) == {}
    shelf.take(part("end"))
    assert held(shelf) == {b"artifacts/sub/one.txt": b"abcdef"}


def test_publishing_again_replaces_all_of_it(shelf):
    put(shelf, part("file", "tree", b"a/b", b"1"), part("file", "tree", b"c", b"2"), artifact="tree")
    put(shelf, part("file", "tree", b"a", b"3", executable=True), artifact="tree")
    assert held(shelf) == {b"artifacts/tree/a": b"3"}
    assert (shelf.done / "artifacts/tree/a").stat().st_mode & 0o777 == 0o700


def test_what_was_begun_again_or_left_does_not_count(shelf):
    put(shelf, part("file", data=b"first"))
    shelf.take(part("begin"))
    shelf.take(part("file", data=b"second", more=True))
    shelf.take(part("begin", "tree"))
    assert held(shelf) == {b"artifacts/sub/one.txt": b"first"}


def test_names_of_any_bytes_and_empty_folders_are_kept(shelf):
    name = b"\xff\xfe\n \xf0\x9f\x98\x80"
    put(shelf, part("folder", "tree", b"empty"), part("file", "tree", name, b"x"), artifact="tree")
    assert held(shelf) == {b"artifacts/tree/" + name: b"x"}
    assert (shelf.done / "artifacts/tree/empty").is_dir()


@pytest.mark.parametrize(
    "path",
    [b"../x", b"a/../../x", b"/etc/x", b"a//b", b"./a", b"a/.", b"", b"a\0b", b"x" * 256, b"a/" * 70 + b"b",
     b"/".join([b"y" * 250] * 10)],
)  # fmt: skip
def test_a_path_that_leads_elsewhere_is_refused_and_leaves_nothing(shelf, tmp_path, path):
    shelf.take(part("begin", "tree"))
    with pytest.raises(Refused, match="not published"):
        shelf.take(part("file", "tree", path, b"x"))
    with pytest.raises(Refused, match="begin it first"):
        shelf.take(part("end", "tree"))
    assert [path.name for path in tmp_path.iterdir()] == ["staging"]
    assert held(shelf) == {}


@pytest.mark.parametrize(
    "parts",
    [
        [part("file", data=b"x" * 11)],
        [part("file", data=b"x" * 6, more=True), part("file", data=b"x" * 5)],
        [part("file", "one", b"a", b"x")],
        [part("folder", "one", b"a")],
        [part("folder", "one", b"")],
        [part("file"), part("file")],
        [part("file", more=True), part("end")],
        [part("end")],
        [part("file", more=True), part("folder", "one", b"a")],
        [part("file", "tree", b"a")],
        [part("begin", "other")],
    ],
)
def test_parts_that_make_no_file_within_its_limit_are_refused(shelf, parts):
    shelf.take(part("begin"))
    with pytest.raises(Refused):
        for each in parts:
            shelf.take(each)
    assert held(shelf) == {}


@pytest.mark.parametrize(
    "parts",
    [
        [part("file", "tree", b"a"), part("file", "tree", b"a")],
        [part("file", "tree", b"a"), part("file", "tree", b"a/b")],
        [part("folder", "tree", b"a"), part("file", "tree", b"a")],
        [part("file", "tree", b"a"), part("folder", "tree", b"a")],
        [part("file", "tree", b"a", more=True), part("file", "tree", b"b")],
        [part("file", "tree", b"a", b"x" * 15), part("file", "tree", b"b", b"x" * 6)],
    ],
)
def test_a_tree_that_contradicts_itself_or_is_too_large_is_refused(shelf, parts):
    shelf.take(part("begin", "tree"))
    with pytest.raises(Refused):
        for each in parts:
            shelf.take(each)
    assert held(shelf) == {}


def test_files_have_an_end_over_all_artifacts(shelf):
    put(shelf, part("file"))
    shelf.take(part("begin", "tree"))
    for number in range(MAX_FILES - 1):
        shelf.take(part("folder", "tree", b"%d" % number))
    with pytest.raises(Refused, match=f"more than {MAX_FILES} files"):
        shelf.take(part("folder", "tree", b"last"))


def test_no_descriptor_stays_open_after_a_refusal(shelf):
    before = descriptors()
    for _ in range(20):
        shelf.take(part("begin", "tree"))
        shelf.take(part("file", "tree", b"a", more=True))
        with pytest.raises(Refused):
            shelf.take(part("file", "tree", b"b"))
    assert descriptors() == before

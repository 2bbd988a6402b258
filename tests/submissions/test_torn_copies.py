"""What changes while it is copied is copied again; what never stays the same is no submission's fault."""

from __future__ import annotations

import os
import time

import pytest

from scorehost.errors import AttemptFailed
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.intake import take_in
from scorehost.submissions.sample import Sample

FILE = Artifact(id="a", path="artifacts/a.bin")
TREE = Artifact(id="t", path="artifacts/t", kind="tree")


class Meddling(Blobs):
    """Does something while a content is stored, so many times."""

    def __init__(self, folder, meddle, times):
        super().__init__(folder)
        self.meddle, self.times, self.copies = meddle, times, 0

    def put(self, pieces, *, executable, link=None):
        def meddled():
            self.copies += 1
            for number, piece in enumerate(pieces):
                if number == 0 and self.times:
                    self.times -= 1
                    self.meddle()
                yield piece

        return super().put(meddled(), executable=executable, link=link)


def handed_in(tmp_path, *names):
    for name in names:
        path = tmp_path / "s" / "artifacts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"0" * 3_000_000)
    return Sample(tmp_path / "s")


def rewritten(path):
    """The same size, the other half new: as a program that saves again."""
    state = {"n": 0}

    def write():
        state["n"] += 1
        with path.open("r+b") as stream:
            stream.write(bytes([48 + state["n"] % 10]) * 3_000_000)

    return write


@pytest.mark.parametrize("times", [1, 2])
def test_a_file_that_is_rewritten_while_it_is_copied_is_taken_whole(tmp_path, times):
    sample = handed_in(tmp_path, "a.bin")
    path = tmp_path / "s/artifacts/a.bin"
    blobs = Meddling(tmp_path / "b", rewritten(path), times)
    taken = take_in(TaskSpec(task_id="t", artifacts=(FILE,)), sample, blobs)
    assert taken.artifacts["a"].entries[0].source.read_bytes() == path.read_bytes()
    assert blobs.copies == times + 1


def test_a_file_that_never_stays_the_same_is_no_fault_of_the_submission(tmp_path):
    sample = handed_in(tmp_path, "a.bin")
    blobs = Meddling(tmp_path / "b", rewritten(tmp_path / "s/artifacts/a.bin"), -1)
    with pytest.raises(AttemptFailed) as raised:
        take_in(TaskSpec(task_id="t", artifacts=(FILE,)), sample, blobs)
    failure = raised.value.failure
    assert (failure.kind, failure.blame, failure.phase) == ("changed_input", "dataset", "prepare")
    assert failure.message == (
        "artifacts/a.bin changed while it was copied; it was copied 3 times, and never stayed the same"
    )
    assert list((tmp_path / "b" / "incoming").iterdir()) == []


@pytest.mark.parametrize("meddle", ["added", "replaced", "removed"])
def test_a_tree_whose_names_change_while_it_is_copied_is_taken_as_it_is_then(tmp_path, meddle):
    sample = handed_in(tmp_path, "t/a", "t/b")
    place = tmp_path / "s/artifacts/t"

    def change():
        if meddle == "added":
            (place / "c").write_bytes(b"new")
        elif meddle == "removed":
            (place / "b").unlink()
        else:
            (place / "n").write_bytes(b"other")
            (place / "n").rename(place / "a")

    taken = take_in(TaskSpec(task_id="t", artifacts=(TREE,)), sample, Meddling(tmp_path / "b", change, 1))
    tree = taken.artifacts["t"]
    assert {e.path: e.source.read_bytes() for e in tree.entries} == {
        path.name: path.read_bytes() for path in place.iterdir()
    }


def test_a_change_within_one_tick_of_the_clock_is_seen(tmp_path):
    """A file that was written a moment ago is looked at again once the clock has moved on."""
    sample = handed_in(tmp_path, "a.bin")
    path = tmp_path / "s/artifacts/a.bin"
    rewritten(path)()
    before = path.stat().st_mtime_ns
    blobs = Meddling(tmp_path / "b", rewritten(path), 1)
    taken = take_in(TaskSpec(task_id="t", artifacts=(FILE,)), sample, blobs)
    assert path.stat().st_mtime_ns > before
    assert taken.artifacts["a"].entries[0].source.read_bytes() == path.read_bytes()
    assert blobs.copies == 2


def test_a_file_system_that_counts_whole_seconds_is_waited_for(tmp_path):
    sample = handed_in(tmp_path, "a.bin")
    path = tmp_path / "s/artifacts/a.bin"
    second = int(time.time())
    os.utime(path, (second, second))
    begun = time.monotonic()
    take_in(TaskSpec(task_id="t", artifacts=(FILE,)), sample, Blobs(tmp_path / "b"))
    assert time.monotonic() - begun > 0.9
    os.utime(path, (second - 10, second - 10))
    begun = time.monotonic()
    take_in(TaskSpec(task_id="t", artifacts=(FILE,)), sample, Blobs(tmp_path / "b"))
    assert time.monotonic() - begun < 0.9

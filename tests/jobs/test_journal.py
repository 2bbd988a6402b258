"""events.jsonl: a chain that shows every change, and a torn end that is kept."""

from __future__ import annotations

import hashlib
import json
import os
import tracemalloc

import pytest

from scorehost.errors import DiskFull
from scorehost.model.ids import AttemptKey
from scorehost.runs.journal import FILE, START, open_journal, read_history


def written(folder, *kinds):
    with open_journal(folder) as journal:
        for kind in kinds:
            journal.write(kind, durable=True)
        return journal.root_hash


def test_each_line_carries_the_hash_of_the_line_before(tmp_path):
    root = written(tmp_path, "a", "b", "c")
    last = START
    for line in (tmp_path / FILE).read_bytes().splitlines():
        assert json.loads(line)["prev"] == last
        last = hashlib.sha256(line).hexdigest()
    assert root == last


def test_the_chain_goes_on_when_the_journal_is_opened_again(tmp_path):
    written(tmp_path, "a")
    root = written(tmp_path, "b")
    history = read_history(tmp_path / FILE)
    assert (history.lines, history.broken, history.last) == (2, None, root)


@pytest.mark.parametrize("place", [0, 1])
def test_a_changed_line_breaks_the_chain(tmp_path, place):
    written(tmp_path, "aaaa", "bbbb", "cccc")
    path = tmp_path / FILE
    lines = path.read_bytes().splitlines(keepends=True)
    lines[place] = lines[place].replace(b"aaaa", b"AAAA").replace(b"bbbb", b"BBBB")
    path.write_bytes(b"".join(lines))
    assert read_history(path).broken == place + 2


def test_a_removed_line_breaks_the_chain(tmp_path):
    written(tmp_path, "a", "b", "c")
    path = tmp_path / FILE
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[2])
    assert read_history(path).broken == 2


def test_a_torn_last_line_is_kept_aside_and_told(tmp_path):
    written(tmp_path, "a", "b")
    path = tmp_path / FILE
    whole = path.read_bytes()
    torn = b'{"at":"2026-11-30T07:4'
    path.write_bytes(whole + torn)
    written(tmp_path, "c")
    assert path.read_bytes().startswith(whole)
    assert (tmp_path / "events.torn-3").read_bytes() == torn
    kinds = [json.loads(line)["kind"] for line in path.read_bytes().splitlines()]
    assert kinds == ["a", "b", "journal_repaired", "c"]
    assert read_history(path).broken is None


def test_every_way_to_tear_the_last_line_leaves_a_journal_that_goes_on(tmp_path):
    written(tmp_path, "a", "b")
    whole = (tmp_path / FILE).read_bytes()
    first = whole.index(b"\n") + 1
    for end in range(first, len(whole) + 1):
        folder = tmp_path / str(end)
        folder.mkdir()
        (folder / FILE).write_bytes(whole[:end])
        written(folder, "c")
        history = read_history(folder / FILE)
        assert (history.torn, history.broken) == (b"", None)
        assert (folder / FILE).read_bytes().startswith(whole[:first])


def test_a_last_line_that_never_reached_the_disk_is_torn_too(tmp_path):
    written(tmp_path, "a")
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes() + b"\0" * 40 + b"\n")
    written(tmp_path, "b")
    assert (tmp_path / "events.torn-2").read_bytes() == b"\0" * 40 + b"\n"
    assert read_history(path).broken is None


def test_a_full_disk_leaves_no_half_line(tmp_path, monkeypatch):
    with open_journal(tmp_path) as journal:
        journal.write("a")
        before = (tmp_path / FILE).read_bytes()
        write = os.write

        def half(descriptor, data):
            write(descriptor, bytes(data)[:7])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "write", half)
        with pytest.raises(DiskFull, match="missing"):
            journal.write("b")
        monkeypatch.undo()
        assert (tmp_path / FILE).read_bytes() == before
        journal.write("c")
    assert read_history(tmp_path / FILE).broken is None


def test_the_last_result_of_each_key_is_known_from_the_journal(tmp_path):
    key = AttemptKey(task_id="a", submission="s")
    other = AttemptKey(task_id="b", submission="s")
    with open_journal(tmp_path) as journal:
        journal.write("attempt_finished", key, {"result": "1"})
        journal.write("attempt_finished", other, {"result": "2"})
        journal.write("attempt_retried", other)
    assert read_history(tmp_path / FILE).results == {"a/s/1.1": "1"}


def test_the_journal_is_for_its_owner_only(tmp_path):
    written(tmp_path, "a")
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600


def test_a_long_journal_is_never_held_in_memory_as_a_whole(tmp_path):
    with open_journal(tmp_path) as journal:
        for _ in range(5000):
            journal.write("phase", fields={"phase": "evaluate"})
    tracemalloc.start()
    try:
        history = read_history(tmp_path / FILE)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (history.lines, history.broken) == (5000, None)
    assert peak < history.end / 4

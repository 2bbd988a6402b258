"""A packed attempt is the same bytes each time, and as a stream from strangers it can do no harm."""

from __future__ import annotations

import io
import json
import os

import pytest

from scorehost.errors import UsageError
from scorehost.model.result import Digests, Result, Versions
from scorehost.runs.draft import drafted
from scorehost.runs.packed import MAGIC, BadPack, PackCaps, pack, unpack
from scorehost.runs.reader import BadFile

KEY = "attempts/t/s/2.3"
RESULT = Result(
    job_id="20261130-074512-7f3a",
    task_id="t",
    submission="s",
    sample=2,
    repeat=3,
    try_number=4,
    status="PASS",
    infrastructure="ok",
    evaluation="passed",
    score=1.0,
    metrics={},
    error=None,
    warnings=(),
    started_at="2026-11-30T07:45:12.000Z",
    finished_at="2026-11-30T07:45:13.000Z",
    timing={},
    hosts=(),
    digests=Digests(scoring=None, submission=None, operational={}),
    versions=Versions(scorehost="0", engine="0", kernel="0", runtime="runc", architecture="x86_64"),
)
ODD = ("\udcff", r"\xff", "new\nline", "ü", "run.sh")


@pytest.fixture
def attempt(tmp_path):
    """An attempt with names of every kind, an empty folder, an empty file, and one that may be executed."""
    target = tmp_path / "job" / KEY
    with drafted(target) as draft:
        for name in ODD:
            draft.write(f"artifacts/tree/{name}", name.encode("utf-8", "surrogateescape") * 3)
        draft.write("logs/empty.log", b"")
        draft.write("logs/large.log", b"x" * 3_000_000)
        draft.make("artifacts/tree/empty")
        (target.with_name(".2.3.draft") / "artifacts/tree/run.sh").chmod(0o700)
        draft.close(RESULT, ())
    return target


def packed(folder) -> bytes:
    return b"".join(pack(folder))


def taken(data: bytes, target, **caps):
    return unpack(io.BytesIO(data), target, PackCaps(**caps))


def tree(folder):
    """Every path, with its content (None for a folder) and mode."""
    return {
        os.fsencode(path.relative_to(folder)): (
            None if path.is_dir() else path.read_bytes(),
            path.stat().st_mode & 0o777,
        )
        for path in folder.rglob("*")
    }


def test_what_is_unpacked_is_what_was_packed_to_the_byte_and_the_mode(attempt, tmp_path):
    manifest = taken(packed(attempt), tmp_path / "other" / KEY)
    assert tree(tmp_path / "other" / KEY) == tree(attempt)
    assert (manifest.task_id, manifest.try_number) == ("t", 4)
    assert [path.name for path in (tmp_path / "other" / KEY).parent.iterdir()] == ["2.3"]


def test_the_same_attempt_is_the_same_bytes_wherever_and_whenever_it_lies(attempt, tmp_path):
    data = packed(attempt)
    taken(data, tmp_path / "other" / KEY)
    for path in (tmp_path / "other").rglob("*"):
        os.utime(path, (0, 0))
    assert packed(tmp_path / "other" / KEY) == data
    assert all(len(piece) <= 1024 * 1024 for piece in list(pack(attempt))[1:])


@pytest.mark.parametrize("harm", ["changed", "added", "removed", "linked", "fifo"])
def test_an_attempt_that_is_not_its_manifests_is_not_packed(attempt, harm):
    place = attempt / "logs/large.log"
    if harm == "changed":
        place.write_bytes(b"y" * 3_000_000)
    elif harm == "added":
        (attempt / "logs/more.log").touch()
    else:
        place.unlink()
        if harm == "linked":
            place.symlink_to("/etc/passwd")
        if harm == "fifo":
            os.mkfifo(place)
    with pytest.raises(BadFile, match="logs/"):
        packed(attempt)


def forged(files, *, head=None, contents=b"", folders=(), executable=()):
    """A stream as a stranger may make one."""
    manifest = json.dumps(
        {
            "format": "scorehost.manifest/1",
            "job_id": "20261130-074512-7f3a",
            "task_id": "t",
            "submission": "s",
            "sample": 1,
            "repeat": 1,
            "attempt": 1,
            "files": [{"path": path, "size": size, "sha256": sha} for path, size, sha in files],
        }
    ).encode()
    given = {"executable": list(executable), "folders": list(folders), "manifest": len(manifest)}
    line = json.dumps({**given, **(head or {})}).encode()
    return MAGIC + b"%016x\n" % len(line) + line + manifest + contents


EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"  # sha256 of nothing, FIPS 180-4


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "cut short"),
        (b"scorehost.attempt/2\n" + b"x" * 99, "no packed attempt"),
        (MAGIC + b"ffffffffffffffff\n", "bytes of head"),
        (MAGIC + b"-000000000000001\n", "no length"),
        (forged([("../x", 0, EMPTY)]), "no plain path"),
        (forged([("/etc/x", 0, EMPTY)]), "no plain path"),
        (forged([("a//b", 0, EMPTY)]), "no plain path"),
        (forged([(r"a\x00b", 0, EMPTY)]), "no plain path"),
        (forged([("x" * 256, 0, EMPTY)]), "no plain path"),
        (forged([("/".join(["d"] * 81), 0, EMPTY)]), "too deep"),
        (forged([(r"\x61", 0, EMPTY)]), "wrongly spelled"),
        (forged([("manifest.json", 0, EMPTY)]), "itself"),
        (forged([("a", 0, EMPTY), ("a", 0, EMPTY)]), "twice"),
        (forged([("b", 0, EMPTY), ("a", 0, EMPTY)]), "out of order"),
        (forged([("a", 0, EMPTY), ("a/b", 0, EMPTY)]), "both as a file and as a folder"),
        (forged([("a", 0, EMPTY)], folders=["a"]), "both as a file and as a folder"),
        (forged([("a", 0, EMPTY)], folders=["../x"]), "no plain path"),
        (forged([("a", 0, EMPTY)], executable=["b"]), "it has not"),
        (forged([("a", -1, EMPTY)]), "less than no bytes"),
        (forged([("a", 3, EMPTY)], contents=b"ab"), "cut short"),
        (forged([("a", 3, EMPTY)], contents=b"abc"), "not what the packed manifest says"),
        (forged([("a", 0, EMPTY)], contents=b"abc"), "behind its end"),
        (forged([("a", 10**15, EMPTY)]), "are the most"),
        (forged([(f"{n:06}", 0, EMPTY) for n in range(60)]), "files and folders"),
        (forged([], head={"manifest": 10**12}), "bytes of manifest"),
        (forged([], head={"manifest": -1}), "bytes of manifest"),
        (forged([], head={"more": 1}), "head of the packed attempt does not parse"),
        (forged([], head={"manifest": 2}), "manifest of the packed attempt does not parse"),
    ],
)
def test_a_stream_that_lies_is_refused_and_leaves_nothing(tmp_path, data, said):
    with pytest.raises(BadPack, match=said):
        taken(data, tmp_path / "job" / KEY, files=50)
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []
    assert not (tmp_path / "job" / KEY).exists()


def test_folders_on_the_way_to_a_file_count_as_those_that_hold_nothing(tmp_path):
    files = [(f"{n}/" + "/".join("abcdefghi") + "/file", 0, EMPTY) for n in range(5)]  # 10 folders each
    with pytest.raises(BadPack, match="files and folders"):
        taken(forged(files), tmp_path / "no" / KEY, files=54)
    assert [path for path in tmp_path.rglob("*") if path.name in ("file", "a")] == []
    taken(forged(files), tmp_path / "yes" / KEY, files=55)
    assert len(list((tmp_path / "yes" / KEY).rglob("file"))) == 5


def test_a_stream_that_is_cut_anywhere_leaves_nothing(attempt, tmp_path):
    data = packed(attempt)
    for end in (10, 30, 60, 200, len(data) // 2, len(data) - 1):
        with pytest.raises(UsageError):
            taken(data[:end], tmp_path / "other" / KEY)
    assert [path for path in (tmp_path / "other").rglob("*") if path.is_file()] == []


def test_an_attempt_that_is_there_is_never_replaced(attempt):
    data = packed(attempt)
    with pytest.raises(OSError):
        taken(data, attempt)
    assert packed(attempt) == data

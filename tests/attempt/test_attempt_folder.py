"""An attempt's folder appears whole, private and listed in its manifest, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import stat

import pytest
from hand_ins import spec_of, taken, tree_artifact, write_raw

from scorehost.attempt.archived import link_submission
from scorehost.errors import DiskFull, Interrupted
from scorehost.model.check import CheckRow
from scorehost.model.json import canonical, parse
from scorehost.model.result import Digests, Result, Versions
from scorehost.runs.draft import drafted
from scorehost.runs.manifest import Manifest, read_manifest
from scorehost.runs.reader import Reader

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


@pytest.fixture
def target(tmp_path):
    return tmp_path / "attempts/t/s/2.3"


@pytest.fixture
def odd_hand_in(tmp_path):
    """A tree with names that are not UTF-8, and one that looks like the escaped form of another."""
    tree = tmp_path / "s/artifacts/tree"
    (tree / "empty").mkdir(parents=True)
    write_raw(tree, {name: b"content of " + name for name in (b"plain", b"\xff", rb"\xff", b"new\nline")})
    (tree / "plain").chmod(0o755)
    return taken(tmp_path, tmp_path / "s", tree_artifact())


def manifest_of(folder) -> Manifest:
    return read_manifest((folder / "manifest.json").read_bytes())


def names_in(folder) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def unescaped(path: str) -> bytes:
    return path.encode().decode("unicode_escape").encode("latin-1") if "\\" in path else path.encode()


def test_a_folder_appears_at_the_end_of_the_block_and_not_before(target):
    with drafted(target) as draft:
        draft.write("logs/evaluator.log", b"log")
        draft.close(RESULT, ())
        draft.settle()
        assert not target.exists()
    assert (target / "logs/evaluator.log").read_bytes() == b"log"
    assert names_in(target.parent) == ["2.3"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, DiskFull])
def test_what_ends_the_block_leaves_nothing(target, error):
    with pytest.raises(error), drafted(target) as draft:
        draft.write("logs/evaluator.log", b"log")
        raise error("broke off")
    assert names_in(target.parent) == []


def test_a_draft_that_a_dead_process_left_is_replaced(target):
    stale = target.parent / ".2.3.draft"
    (stale / "logs").mkdir(parents=True)
    (stale / "logs/old.log").write_text("old")
    with drafted(target) as draft:
        draft.close(RESULT, ())
    assert not stale.exists()
    assert not (target / "logs").exists()


def test_a_folder_that_is_there_is_never_replaced(target):
    with drafted(target) as draft:
        draft.close(RESULT, ())
    with pytest.raises(OSError), drafted(target) as draft:
        draft.write("x", b"second")
    assert names_in(target) == ["evaluation", "manifest.json", "result.json"]


def test_the_manifest_lists_every_file_with_its_size_and_a_digest_that_is_salted_where_it_is_private(
    target, odd_hand_in
):
    with drafted(target) as draft:
        link_submission(draft, spec_of(tree_artifact()), odd_hand_in)
        draft.write("logs/evaluator.log", b"\x00\xff")
        draft.close(RESULT, (CheckRow(id="c", status="PASS"),))
    manifest = manifest_of(target)
    assert (manifest.job_id, manifest.task_id, manifest.submission) == ("20261130-074512-7f3a", "t", "s")
    assert (manifest.sample, manifest.repeat, manifest.try_number) == (2, 3, 4)
    with Reader(target) as reader:
        salts = {unescaped(path): salt for path, salt in reader.salts().items()}
    listed = {unescaped(file.path): (file.size, file.digest) for file in manifest.files}
    found = {}
    for path in target.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            name = os.fsencode(path.relative_to(target))
            sha256 = hashlib.sha256(data)
            named = f"sha256:{sha256.hexdigest()}"
            if name != b"result.json":
                salted = hashlib.sha256(bytes.fromhex(salts.pop(name, "")) + sha256.digest())
                named = f"salted-sha256:{salted.hexdigest()}"
            found[name] = (len(data), named)
    del found[b"manifest.json"]
    assert listed == found
    assert salts == {}  # none too many
    assert len(manifest.files) == len(found) == 8  # seven, and the salts
    assert (target / "artifacts/tree/empty").is_dir()


def test_folders_are_0700_and_files_0600_but_for_the_execute_bit(target, odd_hand_in):
    with drafted(target) as draft:
        link_submission(draft, spec_of(tree_artifact()), odd_hand_in)
        draft.close(RESULT, ())
    for path in target.rglob("*"):
        private = 0o700 if path.is_dir() or path.name == "plain" else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == private, path
    assert stat.S_IMODE(target.stat().st_mode) == 0o700


def test_what_was_scored_is_linked_and_not_copied(target, odd_hand_in):
    with drafted(target) as draft:
        link_submission(draft, spec_of(tree_artifact()), odd_hand_in)
    assert (target / "artifacts/tree/plain").stat().st_nlink == 2


@pytest.mark.parametrize("number", [errno.EMLINK, errno.EPERM, errno.EXDEV])
def test_a_content_that_cannot_be_linked_once_more_is_copied(target, odd_hand_in, monkeypatch, number):
    def refuse(*_args, **_more):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    with drafted(target) as draft:
        link_submission(draft, spec_of(tree_artifact()), odd_hand_in)
        draft.settle()
    plain = target / "artifacts/tree/plain"
    assert plain.read_bytes() == b"content of plain"
    assert stat.S_IMODE(plain.stat().st_mode) == 0o700
    assert plain.stat().st_nlink == 1


def test_checks_json_and_result_json_are_what_their_models_read(target):
    row = CheckRow(id="c", status="FAIL", message="m", visibility="public", details={"k": [1, None]})
    with drafted(target) as draft:
        draft.close(RESULT, (row,))
    assert Result.model_validate_json((target / "result.json").read_bytes(), strict=True) == RESULT
    checks = parse((target / "evaluation/checks.json").read_bytes(), max_bytes=10_000)
    assert checks["format"] == "scorehost.checks/1"
    assert [CheckRow.model_validate_json(canonical(each), strict=True) for each in checks["checks"]] == [row]


def test_a_full_disk_is_told_with_the_bytes_that_are_missing_and_leaves_nothing(small_disk):
    target = small_disk / "attempts/t/s/1.1"
    with pytest.raises(DiskFull, match=r"6291456 bytes were due, .* are missing"), drafted(target) as draft:
        draft.write("logs/small.log", b"kept until then")
        draft.write("logs/large.log", b"x" * 6 * 2**20)
    assert names_in(target.parent) == []
    with drafted(target) as draft:
        draft.write("logs/small.log", b"fits")
    assert (target / "logs/small.log").read_bytes() == b"fits"


def test_a_submission_that_does_not_fit_is_a_full_disk_and_leaves_nothing(small_disk, tmp_path):
    (tmp_path / "s/artifacts").mkdir(parents=True)
    (tmp_path / "s/artifacts/a.txt").write_bytes(b"x" * 6 * 2**20)
    with pytest.raises(DiskFull, match="are missing"):
        taken(small_disk, tmp_path / "s")
    assert [path for path in (small_disk / "blobs").rglob("*") if path.is_file()] == []


def test_every_file_and_folder_is_on_disk_before_it_is_shown_and_the_name_after(
    target, odd_hand_in, monkeypatch
):
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(descriptor):
        done.append(os.path.realpath(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    def renamed(source, goal, **more):
        done.append("shown")
        rename(source, goal, **more)

    with drafted(target) as draft:
        link_submission(draft, spec_of(tree_artifact()), odd_hand_in)
        draft.write("logs/evaluator.log", b"log")
        draft.close(RESULT, ())
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", synced)
            patch.setattr(os, "rename", renamed)
            draft.publish()
    top = target.with_name(".2.3.draft").resolve()
    there = [top, *(top / path.relative_to(target) for path in target.rglob("*"))]
    before = done[: done.index("shown")]
    assert sorted(before) == sorted(map(str, there))
    assert done[done.index("shown") + 1 :] == [str(target.parent.resolve())]


def test_a_draft_that_nobody_waits_for_any_more_is_not_shown_by_its_thread(target):
    late = []
    with pytest.raises(KeyboardInterrupt), drafted(target) as draft:
        late.append(draft)
        raise KeyboardInterrupt
    target.with_name(".2.3.draft").mkdir()
    late[0].publish()
    assert not target.exists()


def test_a_thread_that_nobody_waits_for_any_more_links_nothing_into_a_draft(target, odd_hand_in):
    late = []
    with pytest.raises(KeyboardInterrupt), drafted(target) as draft:
        late.append(draft)
        raise KeyboardInterrupt
    with pytest.raises(Interrupted):
        link_submission(late[0], spec_of(tree_artifact()), odd_hand_in)
    assert names_in(target.parent) == []


def test_what_was_shown_before_the_block_was_broken_off_is_taken_back(target):
    with pytest.raises(KeyboardInterrupt), drafted(target) as draft:
        draft.close(RESULT, ())
        draft.publish()
        assert target.exists()
        raise KeyboardInterrupt
    assert names_in(target.parent) == []

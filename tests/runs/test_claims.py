"""A folder below runs/ belongs to whoever made it; a sweep takes what is the dead's, and nothing of worth."""

from __future__ import annotations

import errno
import os
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from scorehost.errors import DiskTrouble, UsageError
from scorehost.files.lease import own_lease
from scorehost.files.removal import remove_tree
from scorehost.model.ids import new_job_id
from scorehost.runs import sweep as sweeping
from scorehost.runs.blobs import Blobs, HeldBlobs
from scorehost.runs.claim import CLAIM_FILE, Claim, claimed, made_folder
from scorehost.runs.folder import JobFolder, known_folder, new_folder
from scorehost.runs.sweep import sweep
from scorehost.submissions.archives import unpack

KEPT = "attempts/t/candidate/1.1"
DEAD = replace(own_lease(), start_ticks=own_lease().start_ticks + 1)
FAR = replace(own_lease(), machine="another-machine")


def with_attempt(folder):
    (folder / KEPT).mkdir(parents=True)
    (folder / KEPT / "result.json").write_text("{}")


def scorer_folder(runs):
    return made_folder(runs, new_job_id(), "scorer", keep=lambda path: JobFolder(path).has_attempts)


def abandoned_folder(runs, lease, *files):
    folder = runs / "20200101-000000-aaaa"
    for path in (CLAIM_FILE, *files):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("{}")
    (folder / CLAIM_FILE).write_text(Claim(kind="job", lease=str(lease)).model_dump_json())
    return folder


def deep(folder, levels):
    """Folders in folders, deeper than any path may be long."""
    folder.mkdir(parents=True)
    above = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("deeper", dir_fd=above)
        below = os.open("deeper", os.O_RDONLY, dir_fd=above)
        os.close(above)
        above = below
    os.close(above)


def test_attempts_that_a_scorer_keeps_outlive_every_sweep_while_it_runs_and_afterwards(tmp_path):
    with scorer_folder(tmp_path) as folder:
        assert sweep(tmp_path) == ()
        assert folder.is_dir()
        with_attempt(folder)
        sweep(tmp_path)
        assert (folder / KEPT / "result.json").exists()
    sweep(tmp_path)
    assert (folder / KEPT / "result.json").exists()
    assert sorted(path.name for path in folder.iterdir()) == [".lock", "attempts"]


def test_kept_attempts_stay_also_where_nobody_ever_claimed_their_folder(tmp_path):
    folder = tmp_path / new_job_id()
    with_attempt(folder)
    sweep(tmp_path)
    assert (folder / KEPT / "result.json").exists()


def test_a_scorer_that_kept_nothing_leaves_nothing(tmp_path):
    with scorer_folder(tmp_path / "runs"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_dead_scorer_left_half_done_goes_and_what_it_had_published_stays(tmp_path):
    folder = abandoned_folder(tmp_path, DEAD, f"{KEPT}/result.json", "hand-in-x/answer.txt")
    (folder / "attempts/t/candidate/.1.2.draft/logs").mkdir(parents=True)
    sweep(tmp_path)
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert found == [".lock", f"{KEPT}/result.json"]
    assert not (folder / "attempts/t/candidate/.1.2.draft").exists()


@pytest.mark.parametrize("claim", [FAR, "no lease", None])
def test_what_may_be_alive_elsewhere_stays(tmp_path, claim):
    folder = abandoned_folder(tmp_path, claim, "incoming/x")
    if claim is None:
        (folder / CLAIM_FILE).write_text("torn")
    sweep(tmp_path)
    assert (folder / "incoming/x").exists()


def test_a_dead_ones_folder_that_holds_nothing_of_worth_goes(tmp_path):
    folder = abandoned_folder(tmp_path, DEAD, "incoming/x")
    sweep(tmp_path)
    assert not folder.exists()


def test_a_folder_that_is_claimed_is_nobody_elses(tmp_path):
    with new_folder(tmp_path) as folder, pytest.raises(UsageError, match="another process"):
        with claimed(folder.path, "audit"):
            pass


@pytest.mark.parametrize("number", [errno.EROFS, errno.EACCES, errno.ENOSPC, errno.EIO])
def test_a_folder_whose_lock_cannot_be_had_is_refused_with_what_to_do(tmp_path, monkeypatch, number):
    def refuse(lock, *_args, **_more):
        raise OSError(number, os.strerror(number), lock.lock_file)

    monkeypatch.setattr(FileLock, "acquire", refuse)
    with pytest.raises(UsageError, match="writable and has room") as refused, claimed(tmp_path, "job"):
        pass
    assert os.strerror(number) in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_link_that_looks_like_a_job_is_not_followed(tmp_path):
    (tmp_path / "precious" / "incoming").mkdir(parents=True)
    (tmp_path / "20200101-000000-aaaa").symlink_to("precious")
    sweep(tmp_path)
    assert (tmp_path / "precious" / "incoming").is_dir()


def test_a_tree_of_any_depth_is_removed(tmp_path):
    deep(tmp_path / "runs/20200101-000000-aaaa/incoming", 1500)
    assert sys.getrecursionlimit() < 1500
    assert sweep(tmp_path / "runs") == ()
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_lost_its_rights_is_removed_and_links_in_it_are_not_followed(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/file").touch()
    (tmp_path / "t/a/b").mkdir(parents=True)
    (tmp_path / "t/a/link").symlink_to(tmp_path / "kept")
    (tmp_path / "t/a/b/file").touch()
    os.mkfifo(tmp_path / "t/a/fifo")
    (tmp_path / "t/a/b").chmod(0)
    (tmp_path / "t/a").chmod(0o500)
    remove_tree(tmp_path / "t")
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "file"]
    remove_tree(tmp_path / "t")


def test_a_folder_that_cannot_be_swept_is_told_and_the_next_one_is_swept(tmp_path, monkeypatch):
    bad, good = (tmp_path / f"20200101-000000-{name}" for name in ("aaaa", "bbbb"))
    for folder in (bad, good):
        (folder / "incoming").mkdir(parents=True)

    def fails(path):
        if path == bad:
            raise OSError(errno.EIO, "Input/output error")
        remove_tree(path)

    monkeypatch.setattr(sweeping, "remove_tree", fails)
    (told,) = sweep(tmp_path)
    assert str(bad) in told
    assert "Input/output error" in told
    assert (bad.exists(), good.exists()) == (True, False)


def test_a_resume_clears_what_the_dead_sitting_left_and_an_orderly_end_leaves_no_claim(tmp_path):
    folder = abandoned_folder(tmp_path, DEAD, "job.json", "attempts/a/s/.1.1.draft/x")
    with known_folder(JobFolder(folder)):
        assert not (folder / "attempts/a/s/.1.1.draft").exists()
        assert (folder / CLAIM_FILE).exists()
    assert not (folder / CLAIM_FILE).exists()


def test_a_content_that_was_taken_in_again_is_not_forgotten_before_it_is_linked(tmp_path):
    blobs = Blobs(tmp_path / ".blobs")
    _, old = blobs.put(iter([b"answer"]), executable=False)
    os.utime(old, (0, 0))
    held = tmp_path / "held"
    held.mkdir()
    _, path = HeldBlobs(blobs, held).put(iter([b"answer"]), executable=False)
    blobs.forget(600)
    os.link(path, tmp_path / "linked")
    assert (tmp_path / "linked").read_bytes() == b"answer"


def test_a_content_that_is_forgotten_while_it_is_taken_is_stored_anew(tmp_path, monkeypatch):
    blobs = Blobs(tmp_path / ".blobs")
    _, old = blobs.put(iter([b"answer"]), executable=False)
    link = os.link

    def too_late(source, target, **more):
        if source == old:
            monkeypatch.undo()
            old.unlink()  # between the look at it and the link
        link(source, target, **more)

    monkeypatch.setattr(os, "link", too_late)
    name, path = blobs.put(iter([b"answer"]), executable=False, link=tmp_path / "held")
    assert path.read_bytes() == old.read_bytes() == b"answer"
    assert old.name == name


def test_contents_that_nothing_links_are_forgotten_and_others_stay(tmp_path):
    blobs = Blobs(tmp_path / ".blobs")
    for data in (b"old", b"linked", b"young"):
        _, path = blobs.put(iter([data]), executable=False)
        if data != b"young":
            os.utime(path, (0, 0))
        if data == b"linked":
            os.link(path, tmp_path / "x")
    blobs.forget(600)
    left = {path.read_bytes() for path in (tmp_path / ".blobs").rglob("*") if path.is_file()}
    assert left == {b"linked", b"young"}


def test_drafts_of_contents_have_names_that_every_file_system_takes(tmp_path, monkeypatch):
    seen = []
    rename = os.rename

    def renamed(source, target, **more):
        seen.append(Path(source).name)
        rename(source, target, **more)

    monkeypatch.setattr(os, "rename", renamed)
    Blobs(tmp_path).put(iter([b"x"]), executable=False)
    assert seen
    assert not set(seen[0]) & set('"*/:<>?\\|')


@pytest.mark.parametrize("number", [errno.EACCES, errno.EINVAL, errno.EPERM, errno.EIO])
def test_a_file_system_that_will_not_link_gets_a_copy(tmp_path, monkeypatch, number):
    def refuse(*_args, **_more):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", refuse)
    _, path = Blobs(tmp_path / "b").put(iter([b"x"]), executable=False, link=tmp_path / "held")
    assert (path, path.read_bytes()) == (tmp_path / "held", b"x")


def test_an_archive_of_folders_deeper_than_any_submission_is_refused_while_it_is_read(tmp_path):
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as tar:
        member = tarfile.TarInfo("/".join(["d"] * 1500))
        member.type = tarfile.DIRTYPE
        tar.addfile(member)
    unpacked = unpack(tmp_path / "x.tar.gz", tmp_path / "out")
    assert unpacked.odd.first() == "holds folders deeper than 128 levels"
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize(
    ("call", "number"),
    [
        *(("open", errno.EIO), ("write", errno.EIO)),  # a link that gives EIO is a copy
        *(("open", errno.EROFS), ("write", errno.EROFS), ("link", errno.EROFS)),
    ],
)
def test_a_disk_that_fails_while_a_submission_is_taken_in_is_no_defect_of_scorehost(
    tmp_path, monkeypatch, call, number
):
    blobs = Blobs(tmp_path / "b")
    (tmp_path / "held").mkdir()
    plain = getattr(os, call)

    def fails(first, *more, **words):
        if call == "open" and not more[0] & os.O_CREAT:
            return plain(first, *more, **words)
        raise OSError(number, os.strerror(number), first if call == "open" else None)

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(DiskTrouble, match=os.strerror(number)) as raised:
        HeldBlobs(blobs, tmp_path / "held").put(iter([b"answer"]), executable=False)
    assert str(tmp_path) in raised.value.message

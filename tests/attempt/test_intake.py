"""What a submission may be, and what is said of one that is something else."""

from __future__ import annotations

import hashlib
import os
import socket
import stat
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from hand_ins import contents, file_artifact, refusal, spec_of, taken, tree_artifact, write_raw

from scorehost.errors import AttemptFailed, DiskFull, Interrupted
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import Artifact
from scorehost.submissions import intake
from scorehost.submissions.intake import Nowhere, take_in
from scorehost.submissions.sample import Sample

AT = "artifacts/a.txt"


@pytest.fixture
def folder(tmp_path) -> Path:
    """A submission's folder with an empty artifacts/."""
    (tmp_path / "s" / "artifacts").mkdir(parents=True)
    return tmp_path / "s"


@pytest.mark.parametrize("target", ["nowhere", "/etc/passwd", "inside.txt", "../../secret.txt"])
def test_a_link_is_refused_by_its_name_and_never_followed(tmp_path, folder, target):
    (folder / "artifacts/inside.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / AT).symlink_to(target)
    assert refusal(tmp_path, folder) == f"{AT} is a link; only regular files and folders are taken"
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


def test_a_link_inside_of_a_tree_is_refused_with_its_whole_path(tmp_path, folder):
    (folder / "artifacts/tree/sub").mkdir(parents=True)
    (folder / "artifacts/tree/sub/l").symlink_to("/etc")
    said = refusal(tmp_path, folder, tree_artifact())
    assert said == "artifacts/tree/sub/l is a link; only regular files and folders are taken"


def test_a_parent_folder_that_is_a_link_is_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/a.txt").write_text("not handed in")
    (tmp_path / "s").mkdir()
    (tmp_path / "s/artifacts").symlink_to("../elsewhere")
    said = refusal(tmp_path, tmp_path / "s")
    assert said == f"{AT} is a link; only regular files and folders are taken"


def test_a_parent_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s/artifacts").write_text("a file")
    assert refusal(tmp_path, tmp_path / "s") == f"artifacts (in {AT}) is a file, not a folder"


def test_a_fifo_is_refused_at_once_though_nobody_writes_to_it(tmp_path, folder):
    os.mkfifo(folder / AT)
    begun = time.monotonic()
    assert refusal(tmp_path, folder) == f"{AT} is a FIFO, not a file"
    assert time.monotonic() - begun < 1


def test_a_socket_is_refused(tmp_path, folder, monkeypatch):
    monkeypatch.chdir(folder / "artifacts")  # a socket's path may have 107 bytes only
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("a.txt")
        assert refusal(tmp_path, folder) == f"{AT} is a socket; only regular files and folders are taken"


@pytest.mark.parametrize("kind", [stat.S_IFCHR, stat.S_IFBLK])
def test_a_device_is_refused(tmp_path, folder, kind):
    number = os.makedev(1, 3) if kind == stat.S_IFCHR else os.makedev(7, 255)
    try:
        os.mknod(folder / AT, kind | 0o600, number)
    except PermissionError:
        pytest.skip("only root makes devices")
    said = refusal(tmp_path, folder)
    assert said.startswith(f"{AT} is a device")


def test_a_folder_where_a_file_is_declared_is_refused_and_the_reverse(tmp_path, folder):
    (folder / AT).mkdir()
    assert refusal(tmp_path, folder) == f"{AT} is a folder, not a file"
    (folder / "artifacts/tree").write_text("a file")
    said = refusal(tmp_path, folder, tree_artifact())
    assert said == "artifacts/tree is a file, not a folder, as a tree artifact must be"


# Root reads everything: another user looks instead, in a process of its own.
AS_NOBODY = """
import os, sys
sys.path[:0] = {path!r}
from pathlib import Path
from hand_ins import refusal, tree_artifact, file_artifact
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
print(refusal(Path({tmp!r}), Path({folder!r}), {artifact}))
"""


@pytest.mark.parametrize(
    ("unreadable", "artifact", "said"),
    [
        ("artifacts/a.txt", "file_artifact()", "artifacts/a.txt is a file that cannot be read"),
        ("artifacts/tree/sub", "tree_artifact()", "artifacts/tree/sub is a folder that cannot be read"),
    ],
)
def test_what_may_not_be_read_is_refused(open_place, unreadable, artifact, said):
    folder = open_place / "s"
    (folder / "artifacts/tree/sub").mkdir(parents=True)
    (folder / AT).write_text("x")
    (folder / unreadable).chmod(0)
    script = textwrap.dedent(AS_NOBODY).format(
        path=sys.path, tmp=str(open_place / "out"), folder=str(folder), artifact=artifact
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == f"{said}: permission denied", done.stderr
    (folder / unreadable).chmod(0o700)


@pytest.fixture
def open_place(tmp_path_factory):
    """A folder that every user may reach and write in."""
    place = tmp_path_factory.mktemp("open")
    for step in (place, *place.parents):
        if step == Path(step.anchor) or step.stat().st_uid != os.getuid() or step == Path("/tmp"):
            break
        step.chmod(0o755)
    (place / "out").mkdir(mode=0o777)
    (place / "out").chmod(0o777)
    return place


def test_what_is_not_there_is_no_error(tmp_path, folder):
    assert taken(tmp_path, folder).artifacts == {}
    assert taken(tmp_path, folder, file_artifact("workspace/deep/er/x")).artifacts == {}
    assert taken(tmp_path, Sample()).artifacts == {}


def test_a_submission_folder_that_is_not_there_is_refused(tmp_path):
    said = refusal(tmp_path, tmp_path / "none")
    assert said == "the submission's folder cannot be opened: No such file or directory"


def test_a_hand_in_that_was_refused_before_says_why(tmp_path):
    assert refusal(tmp_path, Sample(refused="x.zip holds a link")) == "x.zip holds a link"


def test_exactly_max_bytes_is_taken_and_one_more_is_refused(tmp_path, folder):
    (folder / AT).write_bytes(b"12345")
    assert contents(taken(tmp_path, folder, file_artifact(max_bytes=5))) == {b"": b"12345"}
    said = refusal(tmp_path, folder, file_artifact(max_bytes=4))
    assert said == f"{AT} has 5 bytes, more than the 4 that are left for it"


def test_a_tree_may_hold_max_bytes_in_all(tmp_path, folder):
    (folder / "artifacts/tree").mkdir()
    for name in "ab":
        (folder / "artifacts/tree" / name).write_bytes(b"123")
    assert len(contents(taken(tmp_path, folder, tree_artifact(max_bytes=6)))) == 2
    said = refusal(tmp_path, folder, tree_artifact(max_bytes=5))
    assert said == "artifacts/tree/b has 3 bytes, more than the 2 that are left for it"


@pytest.mark.parametrize("allowed", [64 * 2**20, 4 * 2**30])
def test_a_sparse_file_of_50_gb_is_refused_at_once_and_uses_no_disk(tmp_path, folder, allowed):
    with (folder / AT).open("wb") as stream:
        stream.truncate(50 * 2**30)
    begun = time.monotonic()
    said = refusal(tmp_path, folder, file_artifact(max_bytes=allowed))
    assert time.monotonic() - begun < 1
    assert said == f"{AT} has 53687091200 bytes, more than the {allowed} that are left for it"
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


def test_two_artifacts_of_together_more_than_4_gib_are_refused_at_once(tmp_path, folder):
    for name in "ab":
        with (folder / f"artifacts/{name}").open("wb") as stream:
            stream.truncate(3 * 2**30)
    both = [Artifact(id=name, path=f"artifacts/{name}", max_bytes=4 * 2**30) for name in "ab"]
    with pytest.raises(AttemptFailed, match="more than 4 GiB in all, reached at artifacts/b"):
        take_in(spec_of(*both), Sample(folder), Nowhere())


def test_what_would_leave_too_little_disk_is_refused_before_it_is_written(tmp_path, folder, monkeypatch):
    (folder / AT).write_bytes(b"x" * 1000)
    free = 16 * 2**20 + 999  # the reserve is 16 MiB
    monkeypatch.setattr("scorehost.runs.blobs.shutil.disk_usage", lambda _: SimpleNamespace(free=free))
    with pytest.raises(DiskFull, match="at least 1 are missing"):
        taken(tmp_path, folder)
    assert not [path for path in (tmp_path / "blobs").rglob("*") if path.is_file()]


def test_ten_thousand_files_are_taken_and_one_more_is_refused(tmp_path, folder, monkeypatch):
    assert intake.MAX_FILES == 10_000
    monkeypatch.setattr(intake, "MAX_FILES", 100)
    monkeypatch.setattr(intake._Till, "__init__", _small_till)
    tree = folder / "artifacts/tree"
    tree.mkdir()
    for number in range(100):
        (tree / str(number)).touch()
    assert len(contents(taken(tmp_path, folder, tree_artifact()))) == 100
    (tree / "sub").mkdir()
    assert refusal(tmp_path, folder, tree_artifact()) == "more than 100 files"


def _small_till(self, blobs, stopped):
    self.blobs, self.stopped, self.files, self.size = blobs, stopped, 100, intake.MAX_BYTES


def test_a_folder_of_very_many_files_is_not_read_to_its_end(tmp_path, folder):
    tree = folder / "artifacts/tree"
    tree.mkdir()
    for number in range(10_001):
        os.mknod(tree / str(number))
    begun = time.monotonic()
    assert refusal(tmp_path, folder, tree_artifact()) == "more than 10000 files"
    assert time.monotonic() - begun < 1
    assert not (tmp_path / "blobs").exists() or not list((tmp_path / "blobs").rglob("??/*"))


ODD_NAMES = [
    b"with space",
    b"new\nline",
    "emoji \N{SNAKE}".encode(),
    b"\xff\xfe not utf-8",
    b"n" * 255,
    b"back\\slash",
    b"-rf",
    b"*",
    b".hidden",
]


def test_odd_names_are_carried_byte_for_byte(tmp_path, folder):
    write_raw(folder / "artifacts/tree", {name: name[::-1] for name in ODD_NAMES})
    found = contents(taken(tmp_path, folder, tree_artifact()))
    assert found == {name: name[::-1] for name in ODD_NAMES}


def test_a_name_that_a_terminal_would_act_on_is_shown_escaped(tmp_path, folder):
    tree = folder / "artifacts/tree"
    tree.mkdir()
    (tree / os.fsdecode(b"a\x1b[2J\n\xff\\")).symlink_to("x")
    said = refusal(tmp_path, folder, tree_artifact())
    assert said.startswith(r"artifacts/tree/a\x1b[2J\n\xff\\ is a link")


def test_all_byte_values_line_ends_and_empty_files_come_through(tmp_path, folder):
    tree = folder / "artifacts/tree"
    tree.mkdir()
    wanted = {b"all": bytes(range(256)) * 5000, b"crlf": b"a\r\nb\r\n", b"empty": b""}
    for name, data in wanted.items():
        (tree / name.decode()).write_bytes(data)
    hand_in = taken(tmp_path, folder, tree_artifact())
    assert contents(hand_in) == wanted
    for entry in hand_in.artifacts["a"].entries:
        assert entry.sha256 == hashlib.sha256(wanted[entry.path.encode()]).hexdigest()
        assert entry.size == len(wanted[entry.path.encode()])


def test_the_execute_bit_of_the_owner_is_kept_and_changes_the_digest(tmp_path, folder):
    (folder / AT).write_text("#!/bin/sh\n")
    (folder / AT).chmod(0o644)
    plain = taken(tmp_path, folder)
    (folder / AT).chmod(0o744)
    runs = taken(tmp_path, folder)
    assert [plain.artifacts["a"].entries[0].executable, runs.artifacts["a"].entries[0].executable] == [
        False,
        True,
    ]
    assert plain.digest != runs.digest


def test_excluded_names_and_paths_are_not_even_looked_at(tmp_path, folder):
    tree = folder / "artifacts/tree"
    (tree / ".git/objects").mkdir(parents=True)
    (tree / "src").mkdir()
    (tree / "src/keep.py").write_text("keep")
    (tree / "src/drop.pyc").write_text("drop")
    (tree / "top.txt").write_text("top")
    (tree / "link").symlink_to("/etc/passwd")
    globs = (".git", "*.pyc", "top.txt", "link")
    hand_in = taken(tmp_path, folder, tree_artifact(exclude=globs))
    assert contents(hand_in) == {b"src/keep.py": b"keep"}
    assert hand_in.artifacts["a"].folders == ("src",)


def test_empty_folders_are_kept(tmp_path, folder):
    (folder / "artifacts/tree/empty/er").mkdir(parents=True)
    tree = taken(tmp_path, folder, tree_artifact()).artifacts["a"]
    assert tree.entries == ()
    assert tree.folders == ("empty", "empty/er")


def test_a_tree_of_2000_levels_is_refused_and_leaves_no_descriptor_open(tmp_path, folder):
    (folder / "artifacts/tree").mkdir()
    descriptor = os.open(folder / "artifacts/tree", os.O_RDONLY)
    try:
        for _ in range(2000):
            os.mkdir("d", dir_fd=descriptor)
            below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
    finally:
        os.close(descriptor)
    before = len(list(Path("/proc/self/fd").iterdir()))
    said = refusal(tmp_path, folder, tree_artifact())
    assert said.startswith("artifacts/tree nests its folders deeper than 64 levels, below d/d/d")
    assert len(said) < 200
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    subprocess.run(["rm", "-rf", folder], check=True)


def test_64_levels_are_taken(tmp_path, folder):
    deep = folder / "artifacts/tree" / "/".join(["d"] * 63)
    deep.mkdir(parents=True)
    (deep / "f").write_text("deep")
    assert list(contents(taken(tmp_path, folder, tree_artifact())).values()) == [b"deep"]
    (deep / "d").mkdir()
    (deep / "d/d").mkdir()
    assert "deeper than 64 levels" in refusal(tmp_path, folder, tree_artifact())


def test_a_path_that_would_be_too_long_elsewhere_is_refused(tmp_path, folder):
    where = os.open(folder / "artifacts", os.O_RDONLY)
    for name in ("tree", *["n" * 250] * 9):
        os.mkdir(name, dir_fd=where)
        below = os.open(name, os.O_RDONLY, dir_fd=where)
        os.close(where)
        where = below
    os.close(where)
    said = refusal(tmp_path, folder, tree_artifact())
    assert "holds a path of more than 2048 bytes" in said
    assert len(said) < 200
    subprocess.run(["rm", "-rf", folder], check=True)


class Growing(Blobs):
    """Adds to the source whenever a piece of it has been stored."""

    def __init__(self, folder, source, times):
        super().__init__(folder)
        self._source, self._times = source, times

    def put(self, pieces, *, executable):
        def grown():
            for piece in pieces:
                yield piece
                if self._times:
                    self._times -= 1
                    with self._source.open("ab") as stream:
                        stream.write(b"more")

        return super().put(grown(), executable=executable)


def test_a_file_that_grows_while_it_is_copied_is_scored_as_it_was_hashed(tmp_path, folder):
    (folder / AT).write_bytes(b"start")
    hand_in = take_in(spec_of(), Sample(folder), Growing(tmp_path / "blobs", folder / AT, times=3))
    (entry,) = hand_in.artifacts["a"].entries
    assert entry.source.read_bytes() == b"startmoremoremore"
    assert entry.size == 17
    assert entry.sha256 == hashlib.sha256(b"startmoremoremore").hexdigest()


def test_a_file_that_grows_for_ever_is_refused_at_its_limit(tmp_path, folder):
    (folder / AT).write_bytes(b"start")
    with pytest.raises(AttemptFailed, match=f"{AT} grew while it was copied, past 50 bytes"):
        take_in(
            spec_of(file_artifact(max_bytes=50)),
            Sample(folder),
            Growing(tmp_path / "blobs", folder / AT, times=-1),
        )
    assert list((tmp_path / "blobs" / "incoming").iterdir()) == []


def test_what_grows_counts_into_the_total(tmp_path, folder, monkeypatch):
    monkeypatch.setattr(intake._Till, "__init__", _till_of_20_bytes)
    (folder / AT).write_bytes(b"start")
    with pytest.raises(AttemptFailed, match="in all, reached at"):
        take_in(spec_of(), Sample(folder), Growing(tmp_path / "blobs", folder / AT, times=-1))


def _till_of_20_bytes(self, blobs, stopped):
    self.blobs, self.stopped, self.files, self.size = blobs, stopped, 100, 20


def test_a_copy_that_nobody_waits_for_any_more_stops_and_leaves_nothing(tmp_path, folder):
    (folder / AT).write_bytes(b"x" * (3 * 2**20))
    asked = []

    def stopped() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(Interrupted):
        take_in(spec_of(), Sample(folder), Blobs(tmp_path / "blobs"), stopped)
    assert list((tmp_path / "blobs" / "incoming").iterdir()) == []


def test_a_text_is_the_artifacts_bytes(tmp_path):
    source = Sample(texts={"a": "é\r\n\N{SNAKE}"})
    assert contents(taken(tmp_path, source)) == {b"": b"\xc3\xa9\r\n\xf0\x9f\x90\x8d"}


@pytest.mark.parametrize(
    ("text", "artifact", "said"),
    [
        ("half a pair \ud83d", file_artifact(), "the text of artifact a is not valid Unicode"),
        ("12345", file_artifact(max_bytes=4), f"{AT} has 5 bytes, more than 4"),
        ("x", tree_artifact(), "the artifact a is a tree: a text cannot be one"),
    ],
)
def test_a_text_that_cannot_be_the_artifact_is_refused(tmp_path, text, artifact, said):
    assert refusal(tmp_path, Sample(texts={"a": text}), artifact) == said

"""Whatever is handed in as files, only the declared refusals come of it, and nothing outside is touched."""

# ruff: noqa: PT017, RUF005 - what an error says is checked where it is allowed, never required

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import stat
import tarfile
import tracemalloc
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scorehost.errors import AttemptFailed, SpecError, UsageError
from scorehost.files.tree import Entry, Tree, archive, name_bytes, read_tree
from scorehost.runs.blobs import Blobs
from scorehost.spec.files import relative_path_fault
from scorehost.spec.loading import load_dataset
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.archives import BadArchive, Caps, unpack
from scorehost.submissions.intake import take_in
from scorehost.submissions.predictions import read_predictions
from scorehost.submissions.sample import Sample
from trial import write_task

MIB = 1024 * 1024
SOME = settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SMALL = Caps(files=6, size=4_000, entries=10)

# --- archives -----------------------------------------------------------------------------------------------

NAMES = st.sampled_from(
    ("a", "b", "a/b", "a/b/c", "./a", "a//b", "..", "../x", "a/../../x", "/abs", "", ".", "a/")
    + ("x" * 300, "é", "a\\b", "a\nb", "\udcff", "x/" * 200 + "y")
)
KINDS = st.sampled_from(
    (tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE)
    + (tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.CONTTYPE, tarfile.GNUTYPE_SPARSE, b"Z")
)
MEMBERS = st.lists(st.tuples(NAMES, KINDS, st.binary(max_size=2_000), st.integers(0, 0o7777)), max_size=8)


def tarred(members) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, kind, content, mode in members:
            info = tarfile.TarInfo(name)
            info.type, info.mode, info.linkname = kind, mode, "../../outside"
            info.size = len(content) if kind in (tarfile.REGTYPE, tarfile.CONTTYPE, b"Z") else 0
            tar.addfile(info, io.BytesIO(content))
    return gzip.compress(data.getvalue())


def zipped(members) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as file:
        for name, kind, content, mode in members:
            info = zipfile.ZipInfo(name.encode("utf-8", "replace").decode() or "x")
            bits = {tarfile.SYMTYPE: stat.S_IFLNK, tarfile.FIFOTYPE: stat.S_IFIFO}.get(kind, stat.S_IFREG)
            info.external_attr = (bits | mode) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            file.writestr(info, content)
    return data.getvalue()


@SOME
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@given(members=MEMBERS, kind=st.sampled_from(["a.tar.gz", "a.zip"]))
def test_an_archive_is_unpacked_below_its_folder_within_its_caps_or_refused(tmp_path_factory, members, kind):
    place = tmp_path_factory.mktemp("archive")
    (place / kind).write_bytes(tarred(members) if kind.endswith("gz") else zipped(members))
    target = place / "in" / "target"
    with suppress(BadArchive):
        unpack(place / kind, target, SMALL)
    assert {entry.name for entry in place.iterdir()} <= {kind, "in"}
    if not target.exists():  # refused for its size, before a folder was made
        assert (place / kind).stat().st_size > SMALL.size
        return
    assert {entry.name for entry in (place / "in").iterdir()} == {"target"}
    found = [path for path in target.rglob("*") if not path.is_dir() or path.is_symlink()]
    assert all(stat.S_ISREG(path.lstat().st_mode) for path in found)
    assert all(path.lstat().st_mode & 0o7077 == 0 for path in found)
    assert len(found) <= SMALL.files
    assert sum(path.lstat().st_size for path in found) <= SMALL.size + 256 * 1024  # one piece past the cap


@pytest.mark.parametrize("kind", ["a.tar.gz", "a.zip"])
def test_a_bomb_costs_no_memory_that_grows_with_what_it_unpacks_to(tmp_path, kind):
    zeros = b"\0" * (64 * MIB)
    (tmp_path / kind).write_bytes(
        tarred([("a", tarfile.REGTYPE, zeros, 0o644)])
        if kind.endswith("gz")
        else zipped([("a", tarfile.REGTYPE, zeros, 0o644)])
    )
    del zeros
    tracemalloc.start()
    with pytest.raises(BadArchive, match="more than"):
        unpack(tmp_path / kind, tmp_path / "t", Caps(size=MIB))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 16 * MIB  # the list of a zip may take most of it
    assert sum(path.stat().st_size for path in (tmp_path / "t").rglob("*") if path.is_file()) <= 2 * MIB


# --- predictions --------------------------------------------------------------------------------------------

ROWS = st.lists(
    st.binary(max_size=60)
    | st.dictionaries(
        st.sampled_from(["task_id", "answer", "x", "tree"]),
        st.sampled_from(["t", "u", "", "\ud800"]) | st.none() | st.integers() | st.lists(st.text()),
    ).map(lambda row: json.dumps(row).encode()),
    max_size=6,
).map(b"\n".join)


@SOME
@given(data=ROWS, packed=st.booleans())
@example(data=b"[" * 100_000, packed=False)
@example(data=b'{"task_id": ' + b"1" * 50_000 + b"}", packed=True)
@example(data=b'{"task_id": "t", "answer": "\\ud800"}', packed=False)
def test_any_predictions_are_samples_or_told_by_their_line(tmp_path_factory, data, packed):
    place = tmp_path_factory.mktemp("predictions")
    dataset = load_dataset(write_task(place / "d", "x = 1\n"))
    path = place / ("p.jsonl.gz" if packed else "p.jsonl")
    path.write_bytes(gzip.compress(data) if packed else data)
    try:
        samples = read_predictions(path, dataset).samples
    except SpecError as error:
        assert all(problem.line >= 1 and problem.path == str(path) for problem in error.problems)
    except UsageError as error:
        assert str(path) in error.message
    else:
        assert set(samples) == {"t"}
        assert all(set(source.texts) <= {"answer"} for source in samples["t"])


@FEW
@given(data=st.binary(max_size=100))
def test_a_predictions_file_that_is_no_gzip_is_an_error_of_the_user(tmp_path_factory, data):
    place = tmp_path_factory.mktemp("predictions")
    dataset = load_dataset(write_task(place / "d", "x = 1\n"))
    (place / "p.jsonl.gz").write_bytes(data)
    with pytest.raises((SpecError, UsageError)):
        read_predictions(place / "p.jsonl.gz", dataset)


# --- submissions --------------------------------------------------------------------------------------------

PARTS = st.binary(min_size=1, max_size=12).filter(
    lambda part: part not in (b".", b"..") and not {0, 47} & set(part)
)
PLACED = st.sampled_from(["file", "folder", "link in", "link out", "dangling", "fifo", "unreadable"])


def put(place: bytes, kind: str, content: bytes, outside: bytes) -> None:
    if kind == "file":
        Path(os.fsdecode(place)).write_bytes(content)
    elif kind == "folder":
        os.mkdir(place)  # noqa: PTH102 - names of any bytes
    elif kind == "fifo":
        os.mkfifo(place)
    elif kind == "unreadable":
        Path(os.fsdecode(place)).write_bytes(content)
        os.chmod(place, 0)  # noqa: PTH101
    else:
        target = {"link in": b".", "link out": outside, "dangling": b"nowhere"}[kind]
        os.symlink(target, place)  # noqa: PTH211


@SOME
@given(
    files=st.dictionaries(PARTS, st.tuples(PLACED, st.binary(max_size=40)), max_size=5),
    below=st.dictionaries(PARTS, st.tuples(PLACED, st.binary(max_size=40)), max_size=3),
)
def test_a_tree_is_taken_byte_for_byte_or_refused_by_path(tmp_path_factory, files, below):
    place = tmp_path_factory.mktemp("tree")
    (place / "secret").write_text("outside")
    top = os.fsencode(place / "s/workspace/code")
    os.makedirs(top)  # noqa: PTH103
    outside = os.fsencode(place / "secret")
    for name, (kind, content) in files.items():
        put(os.path.join(top, name), kind, content, outside)  # noqa: PTH118
        if kind == "folder":
            for child, (inner, data) in below.items():
                put(os.path.join(top, name, child), inner, data, outside)  # noqa: PTH118
    spec = TaskSpec(task_id="t", artifacts=(Artifact(id="a", path="workspace/code", kind="tree"),))
    kinds = {kind for kind, _ in files.values()}
    if "folder" in kinds:
        kinds |= {kind for kind, _ in below.values()}
    plain = kinds <= ({"file", "folder", "unreadable"} if os.geteuid() == 0 else {"file", "folder"})
    try:
        tree = take_in(spec, Sample(place / "s"), Blobs(place / "blobs")).artifacts["a"]
    except AttemptFailed as error:
        assert error.failure.kind == "invalid_submission"
        assert error.failure.message.isprintable()
        assert not plain
        return
    assert plain
    taken = {name_bytes(entry.path): entry.source.read_bytes() for entry in tree.entries}
    expected = {name: content for name, (kind, content) in files.items() if kind in ("file", "unreadable")}
    for name, (kind, _) in files.items():
        if kind == "folder":
            expected |= {
                name + b"/" + child: data
                for child, (inner, data) in below.items()
                if inner in ("file", "unreadable")
            }
    assert taken == expected
    assert b"outside" not in taken.values() or b"outside" in expected.values()


@SOME
@given(
    st.text()
    | st.lists(st.sampled_from(["..", ".", "", "a", "\0", "/", "a b", "\\"]), max_size=5).map("/".join)
)
@example("artifacts/../../x")
@example("artifacts//x")
@example("/artifacts/x")
@example("artifacts/x\0")
def test_a_declared_path_is_refused_or_stays_below_its_folder(text):
    if relative_path_fault(text):
        return
    assert not text.startswith("/")
    assert "\0" not in text
    assert all(part not in ("", ".", "..") for part in text.split("/"))
    assert os.path.normpath("/top/" + text).startswith("/top/")


# --- what goes into a host ----------------------------------------------------------------------------------

TREES = st.dictionaries(
    st.lists(PARTS, min_size=1, max_size=4).map(b"/".join),
    st.tuples(st.binary(max_size=3_000), st.booleans()),
    max_size=6,
).filter(lambda files: not any(one != two and two.startswith(one + b"/") for one in files for two in files))


@FEW
@given(files=TREES)
@example(files={b"\xff" * 200 + b"/" + b"n" * 255: (b"x" * 513, True), b"a\nb": (b"", False)})
def test_what_is_archived_for_a_host_reads_back_the_same(tmp_path_factory, files):
    place = tmp_path_factory.mktemp("tree")
    entries = []
    for number, (name, (content, executable)) in enumerate(files.items()):
        (place / str(number)).write_bytes(content)
        sha = hashlib.sha256(content).hexdigest()
        entries.append(Entry(os.fsdecode(name), place / str(number), sha, len(content), executable))
    tree = Tree(tuple(entries))
    data = b"".join(archive([("top", tree), ("empty", Tree())]))
    with tarfile.open(fileobj=io.BytesIO(data), errorlevel=2) as tar:
        members = tar.getmembers()
        read = {
            os.fsencode(member.name): (tar.extractfile(member).read(), bool(member.mode & 0o100))
            for member in members
            if member.isreg()
        }
    assert read == {b"top/" + name: fact for name, fact in files.items()}
    assert {member.name for member in members if member.isdir()} >= {"top", "empty"}
    assert all(member.isreg() or member.isdir() for member in members)
    assert all((member.uid, member.gid, member.mtime) == (0, 0, 0) for member in members)
    assert all(member.mode in (0o644, 0o755) for member in members)
    names = [member.name for member in members]
    assert len(names) == len(set(names))
    # A folder stands before what is in it: an engine makes it with its own owner otherwise.
    folders = set()
    for member in members:
        parent = member.name.rpartition("/")[0]
        assert not parent or parent in folders
        folders |= {member.name} if member.isdir() else set()


def test_archiving_a_large_file_takes_a_few_pieces_of_memory(tmp_path):
    with (tmp_path / "big").open("wb") as file:
        file.truncate(200 * MIB)
    tree = read_tree([("big", tmp_path / "big")])
    tracemalloc.start()
    size = sum(len(piece) for piece in archive([("t", tree)]))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 200 * MIB
    assert peak < 10 * MIB

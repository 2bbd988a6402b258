"""An archive is judged as the folder that was packed, whatever packed it."""

from __future__ import annotations

import os
import tarfile
import unicodedata
import zipfile
import zlib

import pytest

from scorehost.submissions.wanted import Wanted
from submissions.packing import (
    ANSWER,
    COMPRESSORS,
    SITE,
    TAR_FORMATS,
    ZIP_DIALECTS,
    Raw,
    dataset_of,
    found,
    gnu_tar,
    tar,
    verdicts,
    zipped,
)


def write(path, text="x", mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.fixture
def dataset(tmp_path):
    return dataset_of(tmp_path, a=(ANSWER, SITE), b=(ANSWER,))


@pytest.fixture
def team(tmp_path):
    """A hand-in as people have it: what is declared, and much else around it."""
    root = tmp_path / "given" / "team"
    write(root / "a/artifacts/answer.txt", "of a")
    write(root / "a/artifacts/site/index.html", "<p>")
    write(root / "a/artifacts/site/run.sh", "#!/bin/sh\n", 0o755)
    (root / "a/artifacts/site/empty").mkdir()
    write(root / "a/artifacts/site/.git/config", "git")
    write(root / "a/artifacts/site/node_modules/x/index.js", "js")
    write(root / "b/artifacts/answer.txt", "of b")
    write(root / "notes.md", "notes")
    return root


EXPECTED = {
    ("a", 1): {
        "answer": ({b"": (b"of a", False)}, []),
        "site": ({b"index.html": (b"<p>", False), b"run.sh": (b"#!/bin/sh\n", True)}, ["empty"]),
    },
    ("b", 1): {"answer": ({b"": (b"of b", False)}, [])},
}


@pytest.mark.parametrize("compressor", COMPRESSORS)
@pytest.mark.parametrize("dialect", TAR_FORMATS)
def test_a_tar_of_any_dialect_and_compressor_is_its_folder(tmp_path, dataset, team, dialect, compressor):
    assert verdicts(tmp_path, dataset, str(team)) == (EXPECTED, [])
    for wrapped in (True, False):
        packed = tar(team, tmp_path, dialect=dialect, compressor=compressor, wrapped=wrapped)
        assert verdicts(tmp_path, dataset, str(packed)) == (EXPECTED, [])


@pytest.mark.parametrize("dialect", ZIP_DIALECTS)
def test_a_zip_of_any_dialect_is_its_folder(tmp_path, dataset, team, dialect):
    made, said = verdicts(tmp_path, dataset, str(zipped(team, tmp_path, dialect)))
    if dialect == "windows":  # which has no execute bit to pack
        assert made["a", 1]["site"][0].pop(b"run.sh") == (b"#!/bin/sh\n", False)
        made["a", 1]["site"][0][b"run.sh"] = (b"#!/bin/sh\n", True)
        assert said == [
            "team: team.zip: its names have backslashes, as Windows writes paths; they are read as `/`."
        ]
        said = []
    assert (made, said) == (EXPECTED, [])


def link_aside(team):
    (team / "notes-link").symlink_to("/etc/passwd")
    (team / "a/venv").mkdir()
    (team / "a/venv/python").symlink_to("/usr/bin/python3")


def link_in_excluded(team):
    (team / "a/artifacts/site/.git/hooks").symlink_to("/etc")
    (team / "a/artifacts/site/node_modules/.bin").symlink_to("x")


def link_declared(team):
    (team / "b/artifacts/answer.txt").unlink()
    (team / "b/artifacts/answer.txt").symlink_to("../../notes.md")


def link_in_tree(team):
    (team / "a/artifacts/site/deep").mkdir()
    (team / "a/artifacts/site/deep/link").symlink_to("nowhere")


def link_as_parent(team):
    (team / "b/artifacts").rename(team / "b/real")
    (team / "b/artifacts").symlink_to("real")


def link_as_task(team):
    (team / "b").rename(team / "other")
    (team / "b").symlink_to("other")


def hard_links(team):
    os.link(team / "notes.md", team / "a/artifacts/site/notes.md")
    os.link(team / "a/artifacts/site/.git/config", team / "a/artifacts/site/config")


def backslash(team):
    write(team / "back\\slash", "aside")
    write(team / "a/artifacts/site/c\\d", "in the tree")


def not_utf8(team):
    write(team / os.fsdecode(b"\xff\xfe"), "aside")
    write(team / "a/artifacts/site" / os.fsdecode(b"caf\xe9"), "in the tree")


def folder_for_file(team):
    (team / "b/artifacts/answer.txt").unlink()
    (team / "b/artifacts/answer.txt").mkdir()


def file_for_tree(team):
    (team / "a/artifacts/site").rename(team / "a/was")
    write(team / "a/artifacts/site", "no folder")


def file_for_folder(team):
    (team / "b/artifacts").rename(team / "b/was")
    write(team / "b/artifacts", "no folder")


def deep_aside(team):
    write(team / "/".join(["d"] * 140) / "f", "deep")


def deep_in_tree(team):
    write(team / "a/artifacts/site" / "/".join(["d"] * 70) / "f", "deep")


def long_name(team):
    write(team / "a/artifacts/site" / ("n" * 200) / ("m" * 200), "long")


def samples(team):
    (team / "b").rename(team / "was")
    write(team / "b/samples/1/artifacts/answer.txt", "1")
    write(team / "b/samples/7/artifacts/answer.txt", "7")
    (team / "b/samples/8").symlink_to("7")


def fifo_as_sample(team):
    samples(team)
    os.mkfifo(team / "b/samples/9")


CASES = (
    *(link_aside, link_in_excluded, link_declared, link_in_tree, link_as_parent, link_as_task, hard_links),
    *(backslash, not_utf8, folder_for_file, file_for_tree, file_for_folder, deep_aside, deep_in_tree),
    *(long_name, samples, fifo_as_sample),
)
NOT_IN_USTAR = {deep_aside, deep_in_tree, long_name}  # its names have 255 bytes


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_an_archive_gets_the_verdict_of_its_folder(tmp_path, dataset, team, case):
    case(team)
    wanted = verdicts(tmp_path, dataset, str(team))[0]
    packed = {f"tar {name}": tar(team, tmp_path, dialect=name) for name in ("pax", "gnu")}
    if case not in NOT_IN_USTAR:
        packed["tar ustar"] = tar(team, tmp_path, dialect="ustar", compressor="xz")
    packed["tar program"] = gnu_tar(team, tmp_path)
    if case is not fifo_as_sample:  # which a zip does not hold
        packed["zip"] = zipped(team, tmp_path, "deflate")
    for how, path in packed.items():
        assert verdicts(tmp_path, dataset, str(path))[0] == wanted, how


def test_more_undeclared_files_than_a_sample_may_have_change_nothing(tmp_path, dataset, team):
    aside = write(team / "a/node_modules/x").parent
    for number in range(10_500):
        os.mknod(aside / str(number))
    assert verdicts(tmp_path, dataset, str(team))[0] == EXPECTED
    for packed in (tar(team, tmp_path, compressor=""), zipped(team, tmp_path, "stored")):
        assert verdicts(tmp_path, dataset, str(packed))[0] == EXPECTED


def test_what_is_undeclared_changes_nothing_and_what_is_declared_is_refused_where_it_is(
    tmp_path, dataset, team
):
    link_aside(team)
    link_in_excluded(team)
    hard_links(team)
    link_declared(team)
    made, _ = verdicts(tmp_path, dataset, str(tar(team, tmp_path)))
    assert made["a", 1]["answer"] == EXPECTED["a", 1]["answer"]
    assert made["a", 1]["site"][0][b"notes.md"] == (b"notes", False)
    assert made["a", 1]["site"][0][b"config"] == (b"git", False)
    assert made["b", 1] == (
        "invalid_submission",
        "artifacts/answer.txt is a link; only regular files and folders are taken",
    )


@pytest.mark.parametrize("kind", ["fifo", "char", "block"])
def test_a_device_and_a_fifo_are_refused_where_they_are_declared(tmp_path, dataset, team, kind):
    packed = tar(team, tmp_path, compressor="")
    types = {"fifo": tarfile.FIFOTYPE, "char": tarfile.CHRTYPE, "block": tarfile.BLKTYPE}
    for name in ("team/aside", "team/a/artifacts/site/odd"):
        member = tarfile.TarInfo(name)
        member.type = types[kind]
        with tarfile.open(packed, "a:") as archive:
            archive.addfile(member)
    made, _ = verdicts(tmp_path, dataset, str(packed))
    what = "a FIFO" if kind == "fifo" else "a device"
    assert made == {
        ("a", 1): (
            "invalid_submission",
            f"artifacts/site/odd is {what}; only regular files and folders are taken",
        ),
        ("b", 1): EXPECTED["b", 1],
    }


def test_a_sparse_file_of_a_tar_is_the_file(tmp_path, dataset, team):
    with (team / "b/artifacts/answer.txt").open("wb") as stream:
        stream.seek(5_000_000)
        stream.write(b"end")
    for options in (["-S"], ["-S", "--format=pax"], ["-S", "--format=gnu"]):
        made, _ = verdicts(tmp_path, dataset, str(gnu_tar(team, tmp_path, *options)))
        assert made["b", 1]["answer"][0] == {b"": (b"\0" * 5_000_000 + b"end", False)}, options


def test_a_hard_link_to_nothing_is_refused_where_it_is_declared(tmp_path, dataset, team):
    packed = tar(team, tmp_path, compressor="")
    with tarfile.open(packed, "a:") as archive:
        for name, target in (("x", "/etc/passwd"), ("y", "team/none"), ("z", "../up")):
            member = tarfile.TarInfo(f"team/a/artifacts/site/{name}")
            member.type, member.linkname = tarfile.LNKTYPE, target
            archive.addfile(member)
    made, _ = verdicts(tmp_path, dataset, str(packed))
    assert made["a", 1] == (
        "invalid_submission",
        "artifacts/site/x is a hard link out of the archive, to /etc/passwd",
    )
    assert made["b", 1] == EXPECTED["b", 1]


@pytest.mark.parametrize("length", [1, 2, 9])
def test_a_chain_of_hard_links_is_the_file_or_a_refusal_and_never_nothing(tmp_path, dataset, team, length):
    packed = tar(team, tmp_path, compressor="")
    with tarfile.open(packed, "a:") as archive:
        for number in range(length):
            member = tarfile.TarInfo(
                f"team/aside{number}" if number < length - 1 else "team/a/artifacts/site/x"
            )
            member.type = tarfile.LNKTYPE
            member.linkname = f"team/aside{number - 1}" if number else "team/notes.md"
            archive.addfile(member)
    made, _ = verdicts(tmp_path, dataset, str(packed))
    if length <= 2:
        assert made["a", 1]["site"][0][b"x"] == (b"notes", False)
    else:
        assert made["a", 1][1].startswith("artifacts/site/x is a hard link to team/aside")
    assert made["b", 1] == EXPECTED["b", 1]


def one_entry(path, name, **more):
    """A zip with one more entry that is odd in one way."""
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        info = zipfile.ZipInfo(name)
        info.compress_type = more.get("method", zipfile.ZIP_DEFLATED)
        archive.writestr(info, b"content")
    if more.get("encrypted"):
        data = bytearray(path.read_bytes())
        local, listed = data.rindex(b"PK\x03\x04"), data.rindex(b"PK\x01\x02")
        data[local + 6] |= 1
        data[listed + 8] |= 1
        path.write_bytes(data)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"method": zipfile.ZIP_LZMA}, "is compressed by LZMA; of zip only `stored` and `deflate` are read"),
        (
            {"method": zipfile.ZIP_BZIP2},
            "is compressed by bzip2; of zip only `stored` and `deflate` are read",
        ),
        ({"encrypted": True}, "is encrypted, and nobody asks for a password here"),
    ],
)
def test_a_member_that_is_not_read_is_refused_in_words_and_only_where_it_is_declared(
    tmp_path, dataset, team, more, said
):
    for place, kind in (("team/aside", "fine"), ("team/b/artifacts/answer.txt", "odd")):
        (team / "b/artifacts/answer.txt").unlink(missing_ok=True)
        (team / "a/artifacts/site").mkdir(exist_ok=True)
        packed = zipped(team, tmp_path, "deflate")
        one_entry(packed, place, **more)
        made, _ = verdicts(tmp_path, dataset, str(packed))
        assert made["a", 1] == EXPECTED["a", 1]
        assert made["b", 1] == (
            {} if kind == "fine" else ("invalid_submission", f"artifacts/answer.txt {said}")
        )


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_an_entry_that_stands_twice_is_refused_where_it_is_declared(tmp_path, dataset, team):
    packed = zipped(team, tmp_path, "deflate")
    one_entry(packed, "team/notes.md")
    assert verdicts(tmp_path, dataset, str(packed))[0] == EXPECTED
    one_entry(packed, "team/b/artifacts/answer.txt")
    made, _ = verdicts(tmp_path, dataset, str(packed))
    assert made["a", 1] == EXPECTED["a", 1]
    assert made["b", 1][1].startswith("artifacts/answer.txt stands twice in the archive")


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_name_that_leads_out_refuses_the_whole_archive(tmp_path, dataset, team, kind, name):
    if kind == "zip":
        packed = zipped(team, tmp_path, "deflate")
        one_entry(packed, name)
    else:
        packed = tar(team, tmp_path, compressor="")
        with tarfile.open(packed, "a:") as archive:
            archive.addfile(tarfile.TarInfo(name))
    made, said = verdicts(tmp_path, dataset, str(packed))
    assert {kind for kind, _ in made.values()} == {"invalid_submission"}
    assert f"The archive team.{kind} is refused: {name} points out of the archive." in said[0]


# --- names --------------------------------------------------------------------------------------------------

ANSWER_ZH, ANSWER_JA, ANSWER_FR = "答案.txt", "こたえ.txt", "réponse.txt"
ENCODINGS = {
    "gbk": (ANSWER_ZH, ANSWER_ZH.encode("gbk")),
    "shift-jis": (ANSWER_JA, ANSWER_JA.encode("shift_jis")),
    "cp1252": (ANSWER_FR, ANSWER_FR.encode("cp1252")),
    "cp437": (ANSWER_FR, ANSWER_FR.encode("cp437")),
    "nfd": (ANSWER_FR, unicodedata.normalize("NFD", ANSWER_FR).encode()),
    "utf-8": (ANSWER_FR, ANSWER_FR.encode()),
    "misread": (ANSWER_FR, ANSWER_FR.encode().decode("cp437").encode()),
}


@pytest.mark.parametrize("system", ["unix", "windows"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_declared_name_in_another_encoding_is_taken_and_said_from_a_folder_tar_and_zip(
    tmp_path, encoding, system
):
    name, raw = ENCODINGS[encoding]
    dataset = dataset_of(tmp_path, a=(ANSWER.model_copy(update={"path": f"artifacts/{name}"}), SITE))
    team = tmp_path / "given" / "team"
    write(team / "artifacts" / os.fsdecode(raw), "mine")
    write(team / "artifacts/site/index.html", "page")
    wanted = {
        ("a", 1): {"answer": ({b"": (b"mine", False)}, []), "site": ({b"index.html": (b"page", False)}, [])}
    }
    made, said = verdicts(tmp_path, dataset, str(team))
    assert made == wanted
    assert bool(said) is (encoding != "utf-8")
    assert all("was taken for" in text and name in text for text in said)
    made, _ = verdicts(tmp_path, dataset, str(tar(team, tmp_path)))
    assert made == wanted
    path = zipped(team, tmp_path, "windows" if system == "windows" else "deflate")
    made, said = verdicts(tmp_path, dataset, str(path))
    assert made == wanted
    assert bool(said) is (encoding != "utf-8" or system == "windows")


def test_a_zip_of_unix_that_holds_names_of_several_encodings_is_its_folder(tmp_path):
    dataset = dataset_of(tmp_path, a=(ANSWER.model_copy(update={"path": f"artifacts/{ANSWER_FR}"}), SITE))
    team = tmp_path / "given" / "team"
    write(team / "artifacts" / ANSWER_FR, "mine")
    write(team / "artifacts/site" / ANSWER_ZH, "page")
    write(team / "aside" / os.fsdecode(ANSWER_ZH.encode("gbk")))
    wanted = {
        "answer": ({b"": (b"mine", False)}, []),
        "site": ({ANSWER_ZH.encode(): (b"page", False)}, []),
    }
    for path in (team, zipped(team, tmp_path, "deflate"), gnu_tar(team, tmp_path)):
        assert verdicts(tmp_path, dataset, str(path)) == ({("a", 1): wanted}, []), path


def test_a_sparse_file_whose_name_is_not_utf8_keeps_its_name(tmp_path, dataset, team):
    name = "答案".encode("gbk")
    with (team / "a/artifacts/site" / os.fsdecode(name)).open("wb") as stream:
        stream.seek(500_000)
        stream.write(b"end")
    made, _ = verdicts(tmp_path, dataset, str(gnu_tar(team, tmp_path, "-S", "--format=posix")))
    assert made["a", 1]["site"][0][name] == (b"\0" * 500_000 + b"end", False)


def test_a_zip_names_its_files_by_the_unicode_field_of_info_zip(tmp_path):
    raw = ANSWER_ZH.encode("gbk")
    field = b"\1" + zlib.crc32(b"artifacts/" + raw).to_bytes(4, "little") + f"artifacts/{ANSWER_ZH}".encode()
    info = Raw("x")
    info.raw = b"artifacts/" + raw
    info.extra = (0x7075).to_bytes(2, "little") + len(field).to_bytes(2, "little") + field
    with zipfile.ZipFile(tmp_path / "team.zip", "w") as archive:
        archive.writestr(info, b"mine")
    dataset = dataset_of(tmp_path, a=(ANSWER.model_copy(update={"path": f"artifacts/{ANSWER_ZH}"}),))
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "team.zip"))
    assert (made["a", 1], said) == ({"answer": ({b"": (b"mine", False)}, [])}, [])


def test_names_inside_a_tree_that_no_text_matches_are_told_in_the_result(tmp_path, dataset, team):
    write(team / "a/artifacts/site" / os.fsdecode("答案".encode("gbk")))
    write(team / "a/artifacts/site" / unicodedata.normalize("NFD", "é"))
    _, said = verdicts(tmp_path, dataset, str(team))
    raw, decomposed = said
    assert raw.startswith("1 of the names in artifacts/site are not UTF-8 and are taken byte for byte")
    assert raw.endswith(": \\xb4\\xf0\\xb0\\xb8")
    assert decomposed.startswith("1 of the names in artifacts/site are in decomposed Unicode")
    assert decomposed.endswith(": e\u0301")


def test_an_archive_of_a_folder_is_named_by_its_name_and_the_path_in_it(tmp_path, dataset, team):
    link_declared(team)
    (one,), _ = found(tmp_path, dataset, str(tar(team, tmp_path)))
    assert one.samples["b"][1].shown == "team.tar.gz/team/b"


def test_what_is_wanted_holds_every_place_at_which_an_artifact_is_looked_for():
    wanted = Wanted([ANSWER, SITE], ["a"])
    for path in (
        *(
            "artifacts/answer.txt",
            "answer.txt",
            "team/answer.txt",
            "a/artifacts/answer.txt",
            "submission.yaml",
        ),
        *(
            "team/a/samples/3/artifacts/answer.txt",
            "team/a/artifacts/site/x/y",
            "site/x",
            "artifacts",
            "team/a",
        ),
    ):
        assert wanted(path.split("/")), path
    for path in ("notes", "a/artifacts/site/.git/config", "x/y/z/u/v/artifacts/answer.txt"):
        assert not wanted(path.split("/")), path

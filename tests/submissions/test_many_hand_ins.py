"""`--submissions` takes what can be taken and names every other; odd names become safe ones with a label."""

from __future__ import annotations

import os
import zipfile

import pytest

from scorehost.errors import UsageError
from scorehost.submissions.naming import derived
from submissions.packing import ANSWER, COMPRESSORS, SITE, dataset_of, found, tar, verdicts


@pytest.fixture
def dataset(tmp_path):
    return dataset_of(tmp_path, a=(ANSWER,))


@pytest.fixture
def several(tmp_path):
    return dataset_of(tmp_path, a=(ANSWER,), b=(ANSWER,))


def team(folder, name, text="x"):
    place = folder / name / "artifacts"
    place.mkdir(parents=True)
    (place / "answer.txt").write_text(text)
    return folder / name


def names(submissions):
    return {one.name: one.record.label for one in submissions}


def test_a_name_without_a_path_is_refused_and_not_the_working_folder(tmp_path, several):
    with pytest.raises(UsageError, match="--submission x=: no path stands after the `=`"):
        found(tmp_path, several, "x=")


def test_every_archive_of_the_standard_library_is_taken_and_every_other_is_named_with_why(tmp_path, several):
    hand_ins = tmp_path / "in"
    hand_ins.mkdir()
    for number, compressor in enumerate(COMPRESSORS):
        tar(team(tmp_path / "src", f"t{number}"), hand_ins, compressor=compressor)
    for suffix in (".tgz", ".txz", ".tbz2"):
        kind = {".tgz": "gz", ".txz": "xz", ".tbz2": "bz2"}[suffix]
        tar(team(tmp_path / "src", f"s{kind}"), tmp_path, compressor=kind).rename(
            hand_ins / f"s{kind}{suffix}"
        )
    for name in ("a.7z", "b.rar", "c.tar.zst", "d.docx", "e"):
        (hand_ins / name).write_text("x")
    (hand_ins / "link").symlink_to("t0.tar")
    os.mkfifo(hand_ins / "pipe")
    (hand_ins / ".DS_Store").write_text("")
    submissions, said = found(tmp_path, several, children=hand_ins)
    assert sorted(names(submissions)) == ["sbz2", "sgz", "sxz", "t0", "t1", "t2", "t3"]
    told = [text.partition("in: ")[2] for text in said if text.startswith("--submissions")]
    repack = "is an archive that is not read; pack it again as .zip or .tar.gz"
    assert [text.split(" (read are")[0] for text in told] == [
        f"a.7z {repack}",
        f"b.rar {repack}",
        f"c.tar.zst {repack}",
        "d.docx is a file, and is neither a folder nor an archive.",
        "e is a file, and is neither a folder nor an archive.",
        "link is a link, which is not followed; name its target with --submission.",
        "pipe is neither a folder nor a file.",
    ]


def test_what_is_not_taken_is_counted_where_it_is_much(tmp_path, several):
    team(tmp_path / "in", "good")
    for number in range(50):
        (tmp_path / "in" / f"f{number:02}.txt").write_text("x")
    _, said = found(tmp_path, several, children=tmp_path / "in")
    assert len([text for text in said if "is a file" in text]) == 20
    assert said[-1].endswith("in: 30 more entries are not taken.")


def test_a_folder_of_nothing_that_can_be_taken_says_so(tmp_path, several):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.7z").write_text("x")
    with pytest.raises(
        UsageError, match=r"holds nothing that can be handed in \(a.7z is an archive"
    ) as raised:
        found(tmp_path, several, children=tmp_path / "in")
    assert ".tar.xz" in raised.value.hint


ODD = ("Müller Anna_123_file", "x (1)", "n" * 65, "答案", "meta llama", "a=b", os.fsdecode(b"M\xfcller"))


def test_one_odd_name_stops_nothing_and_is_kept_as_label(tmp_path, dataset):
    for name in (*ODD, "plain", "solution"):
        team(tmp_path / "in", name)
    submissions, _ = found(tmp_path, dataset, children=tmp_path / "in")
    made = names(submissions)
    assert made["plain"] is None
    assert set(made.values()) == {None, *ODD[:-1], "M\\xfcller", "solution"}
    assert all(name.isascii() and len(name) <= 64 and " " not in name for name in made)
    again, _ = found(tmp_path, dataset, children=tmp_path / "in")
    assert names(again) == made


def test_a_derived_name_is_readable_the_same_everywhere_and_another_for_another_text():
    # the first 8 hex digits of: printf 'x (1)' | sha256sum
    assert derived("x (1)") == "x-1-" + __import__("hashlib").sha256(b"x (1)").hexdigest()[:8]
    assert derived("Müller Anna").startswith("Muller-Anna-")
    assert derived("答案").startswith("submission-")
    assert derived("a b") != derived("a-b")
    assert len(derived("n" * 300)) == 64


def test_two_hand_ins_of_one_name_are_both_taken_under_different_names(tmp_path, dataset):
    tar(team(tmp_path / "src", "x"), tmp_path / "src", compressor="gz").rename(tmp_path / "x.tar.gz")
    team(tmp_path / "in", "x")
    team(tmp_path / "in", "X")
    (tmp_path / "x.tar.gz").rename(tmp_path / "in" / "x.tar.gz")
    submissions, _ = found(tmp_path, dataset, children=tmp_path / "in")
    assert len(submissions) == 3
    assert names(submissions)["X"] is None
    assert set(names(submissions).values()) == {None, "x", "x.tar.gz"}


@pytest.mark.parametrize("victim", ["Müller Anna", "zoé"])
def test_who_is_called_what_another_s_name_becomes_stops_nobody(tmp_path, dataset, victim):
    for name in (victim, derived(victim)):
        team(tmp_path / "in", name, text=name)
    submissions, _ = found(tmp_path, dataset, children=tmp_path / "in")
    assert len({one.name.lower() for one in submissions}) == 2
    assert {one.record.label for one in submissions} == {victim, None}


def test_a_submission_of_an_odd_name_is_found_again_by_the_word_that_its_job_keeps(tmp_path, dataset):
    from scorehost.submissions.finding import lasting_word  # noqa: PLC0415

    for name in ODD:
        team(tmp_path / "in", name, name[:2].encode("ascii", "replace").decode())
    first, _ = found(tmp_path, dataset, children=tmp_path / "in")
    words = [lasting_word(one) for one in first]
    assert all(word.encode("utf-8") for word in words)
    second, said = found(tmp_path, dataset, *words)
    assert [one.name for one in second] == [one.name for one in first]
    assert [one.samples for one in second] == [one.samples for one in first]
    assert said == []


@pytest.mark.parametrize("given", ["meta/llama-3", "a b", "ä", "x" * 65])
def test_a_name_by_name_path_that_cannot_stand_in_a_path_is_derived_and_said(tmp_path, dataset, given):
    (one,), said = found(tmp_path, dataset, f"{given}={team(tmp_path, 'dir')}")
    assert (one.name, one.record.label) == (derived(given), given)
    assert f"The submission {given!r} is called {one.name}" in said[0]


@pytest.mark.parametrize("word", ["..={}", "={}", "solution={}", "run={}"])
def test_a_hint_never_says_name_path_where_that_was_given(tmp_path, dataset, word):
    with pytest.raises(UsageError) as raised:
        found(tmp_path, dataset, word.format(team(tmp_path, "dir")))
    assert "NAME=PATH" not in raised.value.hint
    with pytest.raises(UsageError, match="Two submissions") as raised:
        found(tmp_path, dataset, f"x={tmp_path / 'dir'}", f"X={tmp_path / 'dir'}")
    assert "NAME=PATH" not in raised.value.hint


@pytest.mark.parametrize("suffix", [".7z", ".rar", ".tar.zst"])
def test_an_archive_that_is_not_read_says_what_to_do(tmp_path, dataset, suffix):
    (tmp_path / f"x{suffix}").write_text("x")
    with pytest.raises(UsageError, match=f"a {suffix} archive is not read") as raised:
        found(tmp_path, dataset, str(tmp_path / f"x{suffix}"))
    assert "pack it again as .zip or .tar.gz" in raised.value.hint


def test_an_archive_whose_name_lies_about_its_kind_is_read_by_its_first_bytes(tmp_path, dataset):
    source = team(tmp_path / "src", "x")
    for compressor in COMPRESSORS:
        tar(source, tmp_path, compressor=compressor).rename(tmp_path / "lies.tgz")
        made, _ = verdicts(tmp_path, dataset, str(tmp_path / "lies.tgz"))
        assert made["a", 1]["answer"][0] == {b"": (b"x", False)}
    with zipfile.ZipFile(tmp_path / "z.tar", "w") as archive:
        archive.writestr("artifacts/answer.txt", "x")
    assert verdicts(tmp_path, dataset, str(tmp_path / "z.tar"))[0]["a", 1]["answer"][0] == {
        b"": (b"x", False)
    }
    (tmp_path / "r.zip").write_bytes(b"Rar!\x1a\x07\x01\x00")
    made, _ = verdicts(tmp_path, dataset, str(tmp_path / "r.zip"))
    assert "it is a RAR archive, which is not read; pack it again" in made["a", 1][1]


# --- single files -------------------------------------------------------------------------------------------


def test_one_file_is_the_submission_of_a_task_that_asks_for_one(tmp_path, dataset):
    (tmp_path / "mine.csv").write_text("1")
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "mine.csv"))
    assert made == {("a", 1): {"answer": ({b"": (b"1", False)}, [])}}
    assert said == ["mine.csv: mine.csv is taken for artifacts/answer.txt of a."]
    (tmp_path / "answer.txt").write_text("2")
    made, said = verdicts(tmp_path, dataset, str(tmp_path / "answer.txt"))
    assert (made["a", 1]["answer"][0], said) == ({b"": (b"2", False)}, [])


def test_one_file_of_several_is_taken_by_its_name_alone(tmp_path):
    other = ANSWER.model_copy(update={"id": "log", "path": "artifacts/log.txt"})
    dataset = dataset_of(tmp_path, a=(ANSWER, other, SITE))
    (tmp_path / "log.txt").write_text("1")
    assert verdicts(tmp_path, dataset, str(tmp_path / "log.txt"))[0]["a", 1] == {
        "log": ({b"": (b"1", False)}, [])
    }
    (tmp_path / "what.txt").write_text("1")
    with pytest.raises(UsageError, match="neither a folder nor an archive"):
        found(tmp_path, dataset, str(tmp_path / "what.txt"))


def test_one_file_is_no_submission_of_several_tasks(tmp_path, several):
    (tmp_path / "answer.txt").write_text("1")
    with pytest.raises(UsageError, match="neither a folder nor an archive"):
        found(tmp_path, several, str(tmp_path / "answer.txt"))


def test_files_in_a_folder_of_many_are_taken_where_their_ending_is_the_artifacts(tmp_path, dataset):
    (tmp_path / "in").mkdir()
    for name in ("anna.txt", "ben.txt", "README.md"):
        (tmp_path / "in" / name).write_text(name)
    submissions, said = found(tmp_path, dataset, children=tmp_path / "in")
    assert sorted(names(submissions)) == ["anna", "ben"]
    assert any("README.md is not taken for artifacts/answer.txt, which ends in .txt" in text for text in said)

"""Archives that are made to cost memory, time or the stack: bounded whatever they claim."""

from __future__ import annotations

import errno
import gzip
import io
import json
import lzma
import os
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

import pytest

from scorehost.errors import DiskTrouble
from scorehost.files.removal import remove_tree
from scorehost.submissions.archives import BadArchive, Caps, unpack
from submissions.packing import ANSWER, COMPRESSORS, dataset_of, verdicts

MIB = 1024 * 1024


@pytest.fixture
def dataset(tmp_path):
    return dataset_of(tmp_path, a=(ANSWER,))


def tar_bytes(*members):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for name, data, kind in members:
            member = tarfile.TarInfo(name)
            member.size, member.type = len(data), kind
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def with_dictionary(packed: bytes, code: int) -> bytes:
    """An .xz that asks for a larger dictionary than it was made with (of 2 GiB for the code 38)."""
    size = (packed[12] + 1) * 4
    header = bytearray(packed[12 : 12 + size - 4])
    assert header[2] == 0x21  # LZMA2, whose one byte of properties is the dictionary's size
    header[4] = code
    return packed[:12] + header + struct.pack("<I", zlib.crc32(header)) + packed[12 + size :]


@pytest.mark.parametrize("data", [b"x\n", b"", b"PK\x03\x04" + bytes(30), b"hello " * 100])
@pytest.mark.parametrize("suffix", [".zip", ".tar", ".tar.gz", ".tar.xz"])
def test_what_is_no_archive_is_told_as_damaged(tmp_path, dataset, data, suffix):
    (tmp_path / f"bad{suffix}").write_bytes(data)
    made, _ = verdicts(tmp_path, dataset, str(tmp_path / f"bad{suffix}"))
    kind, text = made["a", 1]
    assert kind == "invalid_submission"
    assert text.startswith(f"The archive bad{suffix} is refused: it is damaged: ")


def test_an_xz_that_asks_for_a_huge_dictionary_is_refused_and_the_largest_preset_is_read(tmp_path, dataset):
    plain = tar_bytes(("artifacts/answer.txt", b"mine", tarfile.REGTYPE))
    (tmp_path / "good.tar.xz").write_bytes(lzma.compress(plain, preset=9 | lzma.PRESET_EXTREME))
    (tmp_path / "bad.tar.xz").write_bytes(with_dictionary(lzma.compress(plain), 38))
    assert verdicts(tmp_path, dataset, str(tmp_path / "good.tar.xz"))[0]["a", 1]["answer"][0] == {
        b"": (b"mine", False)
    }
    made, _ = verdicts(tmp_path, dataset, str(tmp_path / "bad.tar.xz"))
    kind, text = made["a", 1]
    assert kind == "invalid_submission"
    assert text.startswith(
        "The archive bad.tar.xz is refused: it needs more than 128 MiB of memory to unpack"
    )
    assert text.endswith("pack it with `xz -9` or less.")


def lzma_zip(dictionary: int, size: int) -> bytes:
    """A zip of one LZMA member that asks for a dictionary, and unpacks to so many zeros."""
    words = {"id": lzma.FILTER_LZMA1, "dict_size": MIB, "mode": lzma.MODE_FAST, "mf": lzma.MF_HC3, "depth": 1}
    packer = lzma.LZMACompressor(lzma.FORMAT_RAW, filters=[words])
    packed, crc = b"", 0
    for _ in range(size // MIB):
        packed += packer.compress(bytes(MIB))
        crc = zlib.crc32(bytes(MIB), crc)
    packed += packer.flush()
    data = struct.pack("<BBHBI", 9, 4, 5, 0x5D, dictionary) + packed
    name = b"artifacts/answer.txt"
    local = (
        struct.pack("<IHHHHHIIIHH", 0x04034B50, 63, 2, 14, 0, 33, crc, len(data), size, len(name), 0) + name
    )
    listed = (
        struct.pack(
            "<IHHHHHHIIIHHHHHII",
            *(
                0x02014B50,
                831,
                63,
                2,
                14,
                0,
                33,
                crc,
                len(data),
                size,
                len(name),
                0,
                0,
                0,
                0,
                0o100644 << 16,
                0,
            ),
        )
        + name
    )
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 1, 1, len(listed), len(local) + len(data), 0)
    return local + data + listed + end


def compressed(packer: str, data: bytes) -> bytes:
    """Packed as quickly as it can be."""
    quick = {"lzma": {"preset": 0}, "gzip": {"compresslevel": 1}, "bz2": {"compresslevel": 1}}
    return __import__(packer).compress(data, **quick[packer])


MEASURED = """
import json, resource, sys
from pathlib import Path
from scorehost.submissions.archives import BadArchive, unpack
from scorehost.submissions.entries import Caps
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    unpack(Path(sys.argv[1]), Path(sys.argv[2]), Caps(size=64 * 1024 * 1024))
    said = ""
except BadArchive as bad:
    said = str(bad)
print(json.dumps([said, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024]))
"""


def measured(archive, target):
    """What is said of an archive, and by how many MiB it makes a process larger."""
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, archive, target],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("kind", ["lzma zip", *(f"tar.{name}" for name in COMPRESSORS), "zip", "many names"])
def test_no_archive_takes_more_memory_than_its_dictionary_may(tmp_path, kind):
    path = tmp_path / "a"
    zeros = tar_bytes(("a", bytes(80 * MIB), tarfile.REGTYPE)) if kind.startswith("tar") else b""
    if kind == "lzma zip":
        path = tmp_path / "a.zip"
        path.write_bytes(lzma_zip(1536 * MIB, 64 * MIB))
    elif kind == "zip":
        path = tmp_path / "a.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("a", bytes(80 * MIB))
    elif kind == "many names":
        path = tmp_path / "a.tar"
        path.write_bytes(tar_bytes(*((f"d/{n}", b"", tarfile.DIRTYPE) for n in range(10_000))))
    else:
        packer = {"tar.gz": "gzip", "tar.bz2": "bz2", "tar.xz": "lzma"}.get(kind)
        path.write_bytes(compressed(packer, zeros) if packer else zeros)
    said, grown = measured(path, tmp_path / "t")
    assert grown < 100, said
    if kind not in ("lzma zip", "many names"):
        assert "unpacks to more than" in said or "larger than" in said


@pytest.mark.parametrize("kind", ["tar.gz", "tar.xz", "zip"])
@pytest.mark.parametrize("depth", [1500, 2000])
def test_folders_of_any_depth_in_any_archive_stop_nobody(tmp_path, dataset, kind, depth):
    names = ["artifacts/answer.txt", *("/".join(["zz", *"a" * n]) for n in range(0, depth, 100))]
    path = tmp_path / f"deep.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.writestr(name if name.startswith("artifacts") else f"{name}/", b"")
    else:
        kinds = [tarfile.REGTYPE] + [tarfile.DIRTYPE] * (len(names) - 1)
        data = tar_bytes(*((name, b"", each) for name, each in zip(names, kinds, strict=True)))
        packer = {"tar.gz": "gzip", "tar.xz": "lzma"}[kind]
        path.write_bytes(__import__(packer).compress(data))
    made, _ = verdicts(tmp_path, dataset, str(path))
    assert made["a", 1] == {"answer": ({b"": (b"", False)}, [])}
    deepest = max(len(place.parts) for place in (tmp_path / "staging").rglob("*"))
    assert deepest < len(tmp_path.parts) + 12  # what nobody declared is not even made
    unpack(path, tmp_path / "all")  # where all is wanted it ends at the cap of levels
    remove_tree(tmp_path / "all")


@pytest.mark.parametrize("call", ["open", "mkdir", "link"])
@pytest.mark.parametrize("number", [errno.EMFILE, errno.EROFS, errno.ENOSPC])
def test_what_the_machine_refuses_while_it_unpacks_is_no_fault_of_the_archive(
    tmp_path, monkeypatch, call, number
):
    members = (("d/x", b"1", tarfile.REGTYPE), ("d/y", b"", tarfile.LNKTYPE))
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, content, kind in members:
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, "d/x"
            archive.addfile(member, io.BytesIO(content))
    plain = getattr(os, call)

    def fails(path, *more, **words):
        if "target" in str(path) and not (call == "mkdir" and str(path).endswith("target")):
            raise OSError(number, os.strerror(number), str(path))
        return plain(path, *more, **words)

    monkeypatch.setattr(os, call, fails)
    with pytest.raises(DiskTrouble):
        unpack(tmp_path / "a.tar", tmp_path / "target")


def test_a_file_system_that_will_not_link_gets_a_copy_of_what_is_linked(tmp_path, monkeypatch, dataset):
    def refuses(*_, **__):
        raise OSError(errno.EPERM, "no links here")

    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for name, content, kind in (
            ("x", b"1", tarfile.REGTYPE),
            ("artifacts/answer.txt", b"", tarfile.LNKTYPE),
        ):
            member = tarfile.TarInfo(name)
            member.size, member.type, member.linkname = len(content), kind, "x"
            archive.addfile(member, io.BytesIO(content))
    monkeypatch.setattr(os, "link", refuses)
    made, _ = verdicts(tmp_path, dataset, str(tmp_path / "a.tar"))
    assert made["a", 1]["answer"][0] == {b"": (b"1", False)}


def pax(kind, records):
    """An extended header of pax with so many records, each as short as can be."""
    header = tarfile.TarInfo("x")
    header.type = kind
    body = b"".join(b"%d %s=\n" % (len(key) + 4, key) for key in (b"%04x" % n for n in range(records)))
    header.size = len(body)
    return header.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)


def test_headers_that_hold_for_all_members_are_few(tmp_path):
    member = tarfile.TarInfo("artifacts/answer.txt").tobuf()
    (tmp_path / "few.tar").write_bytes(pax(tarfile.XGLTYPE, 64) + member * 1 + bytes(1024))
    (tmp_path / "many.tar").write_bytes(pax(tarfile.XGLTYPE, 65) + member + bytes(1024))
    unpack(tmp_path / "few.tar", tmp_path / "few")
    with pytest.raises(BadArchive, match="more than 64 global headers"):
        unpack(tmp_path / "many.tar", tmp_path / "many")


def test_headers_are_bounded_all_members_together(tmp_path):
    one = pax(tarfile.XHDTYPE, 60_000) + tarfile.TarInfo("x").tobuf()  # below the bound of one member
    (tmp_path / "some.tar").write_bytes(one * 20 + bytes(1024))
    (tmp_path / "many.tar").write_bytes(one * 40 + bytes(1024))
    unpack(tmp_path / "some.tar", tmp_path / "some")
    with pytest.raises(BadArchive, match="its headers are 16777216 bytes longer than is usual"):
        unpack(tmp_path / "many.tar", tmp_path / "out")


def test_many_members_with_headers_of_usual_size_are_read(tmp_path):
    long = "artifacts/" + "d" * 200 + "/" + "f" * 200
    with tarfile.open(tmp_path / "usual.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for number in range(12_000):  # 24 MiB of headers
            archive.addfile(tarfile.TarInfo(f"{long}{number}"))
    unpack(tmp_path / "usual.tar", tmp_path / "out", wanted=lambda _parts: False)


def test_folders_count_as_entries_also_those_that_no_entry_names(tmp_path):
    data = tar_bytes(*(("/".join([str(n), *"abcdefgh", "f"]), b"", tarfile.REGTYPE) for n in range(20)))
    (tmp_path / "a.tar").write_bytes(data)
    with pytest.raises(BadArchive, match="more than 100 entries"):
        unpack(tmp_path / "a.tar", tmp_path / "t", Caps(entries=100))


def test_a_compressed_tar_that_is_cut_off_is_refused(tmp_path):
    data = tar_bytes(("x", os.urandom(100_000), tarfile.REGTYPE))
    for packer in ("gzip", "bz2", "lzma"):
        whole = __import__(packer).compress(data)
        (tmp_path / "a.tar").write_bytes(whole[:-300])
        with pytest.raises(BadArchive):
            unpack(tmp_path / "a.tar", tmp_path / packer)


def test_an_xz_of_several_streams_with_padding_is_read(tmp_path, dataset):
    data = tar_bytes(("artifacts/answer.txt", b"mine" * 50_000, tarfile.REGTYPE))
    half = len(data) // 2
    path = tmp_path / "two.tar.xz"
    path.write_bytes(lzma.compress(data[:half]) + bytes(8) + lzma.compress(data[half:]))
    made, _ = verdicts(tmp_path, dataset, str(path))
    assert made["a", 1]["answer"][0] == {b"": (b"mine" * 50_000, False)}


def test_of_a_file_that_no_artifact_may_be_so_large_no_more_is_unpacked(tmp_path, dataset):
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("artifacts/answer.txt", bytes(80 * MIB))
    made, _ = verdicts(tmp_path, dataset, str(tmp_path / "bomb.zip"))
    kind, text = made["a", 1]
    assert kind == "invalid_submission"
    assert "has more than 67108864 bytes; no artifact that is asked for may be so large" in text
    caps = Caps(one=MIB)
    unpack(tmp_path / "bomb.zip", tmp_path / "out", caps)
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


PLAIN = tar_bytes(("x", b"", tarfile.REGTYPE), ("artifacts/answer.txt", b"mine", tarfile.REGTYPE))
NO_END = PLAIN[: 3 * 512]  # two headers and one block of content


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (PLAIN[:512] + PLAIN[512:].replace(b"answer", b"Answer", 1), "damaged or cut off"),  # checksum
        (PLAIN[:700], "damaged or cut off"),
        (PLAIN[:512] + b"9 size=x\n", "damaged or cut off"),
        (gzip.compress(PLAIN)[:-8] + bytes(8), "CRC check failed"),
        (gzip.compress(PLAIN)[:-3], "ended before"),
        (lzma.compress(PLAIN)[:-20], "its end is missing"),
    ],
    ids=["checksum", "cut in a header", "junk", "gzip's checksum", "cut in gzip's end", "cut in xz's end"],
)
def test_a_tar_that_is_damaged_anywhere_is_refused_and_never_taken_for_a_shorter_one(tmp_path, data, text):
    (tmp_path / "a.tar").write_bytes(data)
    with pytest.raises(BadArchive, match=text):
        unpack(tmp_path / "a.tar", tmp_path / "t")


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (NO_END, "it has no mark at its end, and may be cut off; what it holds before that is taken"),
        (PLAIN + PLAIN, "something follows the mark at its end, and is not read"),
        (gzip.compress(PLAIN) + b"junk", "something follows the mark at its end, and is not read"),
        (lzma.compress(PLAIN) + b"junk" * 4, "something follows the mark at its end, and is not read"),
        (gzip.compress(NO_END) + gzip.compress(PLAIN[len(NO_END) :]), None),
    ],
)
def test_what_stands_after_the_end_of_a_tar_and_an_end_that_is_missing_are_warnings(tmp_path, data, said):
    (tmp_path / "a.tar").write_bytes(data)
    assert unpack(tmp_path / "a.tar", tmp_path / "t").warnings == (() if said is None else (said,))
    assert (tmp_path / "t/artifacts/answer.txt").read_bytes() == b"mine"


@pytest.mark.parametrize("size", ["-1", "-1024"])
def test_a_member_of_negative_size_refuses_its_archive(tmp_path, size):
    member = tarfile.TarInfo("artifacts/answer.txt")
    member.pax_headers = {"size": size}
    (tmp_path / "a.tar").write_bytes(member.tobuf(tarfile.PAX_FORMAT) + bytes(1024))
    with pytest.raises(BadArchive, match="negative size"):
        unpack(tmp_path / "a.tar", tmp_path / "t")

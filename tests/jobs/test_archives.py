"""Archives from hostile hands: nothing outside the target, nothing past the caps."""

from __future__ import annotations

import gzip
import io
import struct
import tarfile
import zipfile
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorehost.submissions.archives import BadArchive, Caps, unpack

SMALL = Caps(files=5, size=100_000, entries=8)


def tar_of(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for name, data, attributes in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            for key, value in attributes.items():
                setattr(member, key, value)
            archive.addfile(member, io.BytesIO(data))
    return path


def zip_of(path, *members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data)
    return path


def tree(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_files_come_out_byte_for_byte_with_their_execute_bit(tmp_path):
    data = bytes(range(256)) * 100
    unpack(tar_of(tmp_path / "a.tar.gz", ("d/x", data, {"mode": 0o755}), ("y", b"", {})), tmp_path / "t")
    assert tree(tmp_path / "t") == {"d/x": data, "y": b""}
    assert (tmp_path / "t/d/x").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "t/y").stat().st_mode & 0o777 == 0o600
    unpack(zip_of(tmp_path / "a.zip", ("d/x", data, 0o100755), ("e/", b"", 0o040755)), tmp_path / "z")
    assert tree(tmp_path / "z") == {"d/x": data}
    assert (tmp_path / "z/e").is_dir()


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a/" + "b" * 300])
def test_a_name_that_leads_out_is_refused_in_both_kinds(tmp_path, name):
    with pytest.raises(BadArchive):
        unpack(tar_of(tmp_path / "a.tar.gz", (name, b"x", {})), tmp_path / "in" / "t")
    with pytest.raises(BadArchive):
        unpack(zip_of(tmp_path / "a.zip", (name, b"x", 0o100644)), tmp_path / "in" / "z")
    assert not list(tmp_path.glob("x"))
    assert not list((tmp_path / "in").glob("x"))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_are_refused(tmp_path, kind):
    archive = tar_of(tmp_path / "a.tar.gz", ("x", b"", {"type": kind, "linkname": "/etc/passwd"}))
    why = unpack(archive, tmp_path / "t").odd.at("x").refusal
    assert why.startswith(
        {
            tarfile.SYMTYPE: "is a link; only regular files and folders are taken",
            tarfile.LNKTYPE: "is a hard link out of the archive",
            tarfile.FIFOTYPE: "is a FIFO; only",
        }.get(kind, "is a device; only")
    )
    assert list((tmp_path / "t").iterdir()) == []


def test_a_link_in_a_zip_is_refused(tmp_path):
    unpacked = unpack(zip_of(tmp_path / "a.zip", ("x", "/etc/passwd", 0o120777)), tmp_path / "t")
    assert unpacked.odd.at("x").refusal == "is a link; only regular files and folders are taken"
    assert list((tmp_path / "t").iterdir()) == []


def test_a_bomb_ends_at_the_cap(tmp_path):
    bomb = b"\0" * 50_000_000
    for archive in (
        tar_of(tmp_path / "a.tar.gz", ("x", bomb, {})),
        zip_of(tmp_path / "a.zip", ("x", bomb, 0o100644)),
    ):
        with pytest.raises(BadArchive, match="more than"):
            unpack(archive, tmp_path / archive.name.replace(".", "-"), SMALL)
    written = sum(path.stat().st_size for path in tmp_path.glob("*/x"))
    assert written <= 2 * SMALL.size


def test_a_zip_that_lies_about_its_size_ends_at_the_cap(tmp_path):
    archive = zip_of(tmp_path / "a.zip", ("x", b"\0" * 1_000_000, 0o100644))
    data = archive.read_bytes().replace(struct.pack("<I", 1_000_000), struct.pack("<I", 10))
    archive.write_bytes(data)
    with pytest.raises(BadArchive):
        unpack(archive, tmp_path / "t", SMALL)
    assert sum(path.stat().st_size for path in (tmp_path / "t").glob("*")) <= SMALL.size


def test_files_and_entries_are_capped(tmp_path):
    many = [(f"f{n}", b"", {}) for n in range(6)]
    with pytest.raises(BadArchive, match="5 files"):
        unpack(tar_of(tmp_path / "a.tar.gz", *many), tmp_path / "t", SMALL)
    folders = [(f"d{n}", b"", {"type": tarfile.DIRTYPE}) for n in range(9)]
    with pytest.raises(BadArchive, match="8 entries"):
        unpack(tar_of(tmp_path / "b.tar.gz", *folders), tmp_path / "u", SMALL)


def test_a_header_that_wants_much_memory_is_refused(tmp_path):
    header = tarfile.TarInfo("pax")
    header.type = tarfile.XHDTYPE
    header.size = 50_000_000
    path = tmp_path / "a.tar.gz"
    with gzip.open(path, "wb") as out:
        out.write(header.tobuf())
        out.write(b"\0" * header.size)
    with pytest.raises(BadArchive, match="header"):
        unpack(path, tmp_path / "t", Caps(size=100_000_000))


def test_a_name_that_stands_twice_is_refused(tmp_path):
    both = tar_of(tmp_path / "a.tar.gz", ("x", b"1", {}), ("x", b"2", {}))
    assert "stands twice" in unpack(both, tmp_path / "t").odd.at("x").refusal
    both = tar_of(tmp_path / "b.tar.gz", ("x", b"1", {}), ("x/y", b"2", {}))
    assert "once as a folder" in unpack(both, tmp_path / "u").odd.at("x").refusal
    both = tar_of(tmp_path / "c.tar.gz", ("x/y", b"1", {}), ("x", b"2", {}))
    assert "once as a folder" in unpack(both, tmp_path / "v").odd.at("x").refusal


def test_an_encrypted_zip_is_refused(tmp_path):
    archive = zip_of(tmp_path / "a.zip", ("x", b"1", 0o100644))
    data = bytearray(archive.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(bytes(data))
    assert "is encrypted" in unpack(archive, tmp_path / "t").odd.at("x").refusal
    assert list((tmp_path / "t").iterdir()) == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=600), kind=st.sampled_from([".tar.gz", ".zip"]), packed=st.booleans())
def test_any_bytes_are_an_archive_or_a_refusal(tmp_path_factory, data, kind, packed):
    place = tmp_path_factory.mktemp("any")
    path = place / f"a{kind}"
    path.write_bytes(gzip.compress(data) if packed else data)
    with suppress(BadArchive):
        unpack(path, place / "t", SMALL)
    assert {entry.name for entry in place.iterdir()} <= {path.name, "t"}


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 2047), value=st.integers(0, 255), kind=st.sampled_from(["tar", "zip"]))
def test_a_damaged_archive_is_unpacked_or_refused(tmp_path_factory, place, value, kind):
    folder = tmp_path_factory.mktemp("damaged")
    path = folder / ("a.tar.gz" if kind == "tar" else "a.zip")
    if kind == "tar":
        data = bytearray(
            gzip.decompress(tar_of(path, ("d/x", b"hello", {}), ("y", b"there", {})).read_bytes())
        )
        data[place % len(data)] = value
        path.write_bytes(gzip.compress(bytes(data)))
    else:
        data = bytearray(zip_of(path, ("d/x", b"hello", 0o100644), ("y", b"there", 0o100644)).read_bytes())
        data[place % len(data)] = value
        path.write_bytes(bytes(data))
    with suppress(BadArchive):
        unpack(path, folder / "in" / "t", SMALL)
    assert {entry.name for entry in folder.iterdir()} == {path.name, "in"}


def test_a_zip_that_lists_millions_of_entries_is_refused_before_they_are_read(tmp_path):
    entry = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"a"
    count = 60_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, count * len(entry), 0, 0)
    (tmp_path / "a.zip").write_bytes(entry * count + end)
    with pytest.raises(BadArchive, match="table of contents"):
        unpack(tmp_path / "a.zip", tmp_path / "t", Caps(entries=8))

"""Folders of hand-ins, packed in every way that people's programs pack them, and what is made of each."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

from scorehost.errors import AttemptFailed
from scorehost.files.tree import name_bytes
from scorehost.runs.blobs import Blobs
from scorehost.spec.dataset import Dataset, Task
from scorehost.spec.profiles import Profiles
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.finding import find_submissions
from scorehost.submissions.intake import take_in
from scorehost.submissions.submission import Search

ANSWER = Artifact(id="answer", path="artifacts/answer.txt")
SITE = Artifact(id="site", path="artifacts/site", kind="tree", exclude=(".git", "node_modules"))


def dataset_of(root: Path, **tasks: tuple[Artifact, ...]) -> Dataset:
    """A dataset of tasks with these artifacts, whose folders hold nothing."""
    made = {}
    for name, artifacts in tasks.items():
        folder = root / "dataset" / "tasks" / name
        folder.mkdir(parents=True, exist_ok=True)
        spec = TaskSpec(task_id=name, artifacts=artifacts)
        made[name] = Task(spec=spec, folder=folder, gold={}, code={})
    return Dataset(
        root=root / "dataset",
        dataset_id="d",
        version="1",
        profiles=Profiles(),
        profiles_path=root / "profiles.yaml",
        tasks=made,
    )


def found(root: Path, dataset: Dataset, *words: str, **more):
    """The submissions that these words find, and the warnings."""
    said: list[str] = []
    staging = root / "staging"
    shutil.rmtree(staging, ignore_errors=True)
    search = Search(dataset, tuple(dataset.tasks.values()), staging, said.append, words, **more)
    return find_submissions(search), said


def verdicts(root: Path, dataset: Dataset, word: str, **more) -> tuple[dict, list[str]]:
    """What each task takes in of one submission, or why it is refused; and the warnings."""
    (one,), said = found(root, dataset, *((word,) if word else ()), **more)
    made = {}
    for task_id, samples in one.samples.items():
        for number, sample in samples.items():
            try:
                taken = take_in(dataset.tasks[task_id].spec, sample, Blobs(root / "blobs"))
            except AttemptFailed as failed:
                text = failed.failure.message.removeprefix(f"{sample.shown}: ")
                made[task_id, number] = (failed.failure.kind, text)
                continue
            said += taken.warnings
            made[task_id, number] = {
                name: (
                    {name_bytes(e.path): (e.source.read_bytes(), e.executable) for e in tree.entries},
                    sorted(tree.folders),
                )
                for name, tree in taken.artifacts.items()
            }
    return made, said


# --- tar ----------------------------------------------------------------------------------------------------

TAR_FORMATS = {"ustar": tarfile.USTAR_FORMAT, "pax": tarfile.PAX_FORMAT, "gnu": tarfile.GNU_FORMAT}
COMPRESSORS = {"": "tar", "gz": "tar.gz", "bz2": "tar.bz2", "xz": "tar.xz"}


def tar(folder: Path, target: Path, *, dialect: str = "pax", compressor: str = "gz", wrapped=True) -> Path:
    """`tar cf` of a folder, with its own name before every path, or without."""
    path = target / f"{folder.name}.{COMPRESSORS[compressor]}"
    with tarfile.open(path, f"w:{compressor}", format=TAR_FORMATS[dialect]) as archive:
        archive.add(folder, folder.name if wrapped else ".")
    return path


def gnu_tar(folder: Path, target: Path, *options: str) -> Path:
    """The same by the program of GNU."""
    path = target / f"{folder.name}.tar"
    subprocess.run(["tar", *options, "-cf", path, "-C", folder.parent, folder.name], check=True)
    return path


# --- zip ----------------------------------------------------------------------------------------------------


class Raw(zipfile.ZipInfo):
    """An entry whose name is the bytes of another system, without the mark of UTF-8."""

    raw = b""

    def _encodeFilenameFlags(self):  # noqa: N802 - zipfile's own name for it
        return self.raw, self.flag_bits & ~0x800


def files_of(folder: Path):
    """Every file, link and folder below a folder, folders first."""
    for place, names, files in os.walk(folder):
        for name in sorted([*names, *files]):
            path = Path(place, name)
            yield path, os.fsencode(path.relative_to(folder.parent))


def zipped(folder: Path, target: Path, dialect: str) -> Path:
    """A zip of a folder as one kind of program writes it."""
    path = target / f"{folder.name}.zip"
    if dialect == "info-zip":
        subprocess.run(["zip", "-qry", path, folder.name], cwd=folder.parent, check=True)
        return path
    method = zipfile.ZIP_STORED if dialect == "stored" else zipfile.ZIP_DEFLATED
    stream = Unseekable(path) if dialect == "streamed" else path
    with zipfile.ZipFile(stream, "w", method) as archive:
        if dialect == "macos":
            archive.writestr("__MACOSX/._" + folder.name, b"\0\5\x16\7 attributes")
            archive.writestr(f"{folder.name}/.DS_Store", b"icons")
            archive.writestr(f"{folder.name}/._notes", b"\0\5\x16\7 attributes")
        for source, name in files_of(folder):
            add(archive, source, name, dialect, method)
    if dialect == "streamed":
        stream.close()
    return path


def add(archive: zipfile.ZipFile, source: Path, name: bytes, dialect: str, method: int) -> None:
    info = Raw("x")
    info.raw = name
    info.filename = info.orig_filename = name.decode("utf-8", "surrogateescape")
    info.compress_type = method
    info.external_attr = source.lstat().st_mode << 16
    info.create_system = 3
    if dialect == "windows":
        info.create_system, info.external_attr = 0, 0x10 if source.is_dir() else 0x20
        info.raw = name.replace(b"/", b"\\")
    if source.is_symlink():
        archive.writestr(info, str(source.readlink()))
    elif source.is_dir():
        info.raw += b"\\" if dialect == "windows" else b"/"
        info.filename += "/"
        archive.writestr(info, b"")
    else:
        with archive.open(info, "w", force_zip64=dialect == "zip64") as out:
            out.write(source.read_bytes())


class Unseekable:
    """A pipe's end: an archive that is written into it has its sizes after each file."""

    def __init__(self, path: Path) -> None:
        self._stream = path.open("wb")
        self.write, self.flush, self.close = self._stream.write, self._stream.flush, self._stream.close


ZIP_DIALECTS = ("stored", "deflate", "zip64", "streamed", "windows", "macos", "info-zip")
assert sys.getfilesystemencoding() == "utf-8"

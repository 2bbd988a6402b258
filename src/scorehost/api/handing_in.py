"""What a caller of a scorer hands in: looked at before anything is written, then laid out as a submission."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

from scorehost.errors import UsageError
from scorehost.files.atomic import disk_errors
from scorehost.files.removal import remove_tree
from scorehost.spec.task import Artifact
from scorehost.submissions.sample import Content, Sample


@contextmanager
def laid_out(sample: Sample, place: Path) -> Iterator[Sample]:
    """The sample with its `files` in a new folder in `place`, which goes at the end of the block. Blocks.

    Raises DiskFull; UsageError for a file that cannot be copied. Then nothing is left in `place`.
    """
    if not sample.files or sample.refused:
        yield sample
        return
    with disk_errors(place, 4096):
        folder = Path(tempfile.mkdtemp(prefix="hand-in-", dir=place))
    try:
        for path, content in sample.files.items():
            _write(folder / path, path, content)
        yield Sample(folder, sample.texts)
    finally:
        with suppress(OSError):
            remove_tree(folder)


def sample_of(artifacts: tuple[Artifact, ...], files: Mapping[str, Content] | Path) -> Sample:
    """`files` as `Scorer.score` takes them. UsageError for all that the caller got wrong; writes nothing."""
    if isinstance(files, Path):
        if not files.is_dir():
            raise UsageError(
                f"{files} is no folder.", hint="Give the folder in which the artifacts lie, or a mapping."
            )
        return Sample(files)
    if not isinstance(files, Mapping):
        raise UsageError(
            f"A submission cannot be {_kind(files)}.",
            hint="Give a mapping of artifact to content, or a pathlib.Path of a folder.",
        )
    texts: dict[str, str] = {}
    found: dict[str, Content] = {}
    for word, content in files.items():
        artifact, path = _place(artifacts, word)
        if path in found or artifact.id in texts:
            raise UsageError(f"{path} is named twice.", hint="Name each file once, by its id or by its path.")
        _look_at(path, content)
        if isinstance(content, str) and artifact.kind == "file":
            texts[artifact.id] = content
        else:
            found[path] = content
    for path in found:
        if above := next((str(p) for p in PurePosixPath(path).parents if str(p) in found), None):
            raise UsageError(
                f"{above} is named as a file, and {path} lies below it.",
                hint="Name only the one that is meant.",
            )
    broken = next(
        (path for path, text in found.items() if isinstance(text, str) and not _is_unicode(text)), None
    )
    if broken is not None:  # as an attempt says it of an artifact's text: what a model wrote may be like this
        return Sample(refused=f"the text of {broken} is not valid Unicode")
    return Sample(texts=texts, files=found)


def _place(artifacts: tuple[Artifact, ...], word: object) -> tuple[Artifact, str]:
    """The artifact that `word` names or lies below, and the path that is meant."""
    if not isinstance(word, str):
        raise UsageError(f"{word!r} names no artifact: it is {_kind(word)}.", hint=_declared(artifacts))
    by_id = {artifact.id: artifact for artifact in artifacts}
    path = by_id[word].path if word in by_id else word
    if path.startswith("/"):
        raise UsageError(f"{word!r} is an absolute path.", hint="Name a path below an artifact's own.")
    parts = path.split("/")
    if ".." in parts:
        raise UsageError(f"{word!r} leads out of the submission.", hint="Name a path below the artifact.")
    if "" in parts or "." in parts or "\0" in path or not _is_unicode(path):
        raise UsageError(f"{word!r} is no plain path.", hint="Write it as folder/file, without '//' or '.'.")
    for artifact in artifacts:
        if artifact.kind == "file" and path == artifact.path:
            return artifact, path
        if artifact.kind == "tree" and path.startswith(artifact.path + "/"):
            return artifact, path
        if artifact.kind == "tree" and path == artifact.path:
            raise UsageError(
                f"{word!r} is a tree of files, not one file.",
                hint=f"Name each file in it, as in {artifact.path + '/name'!r}, or hand in a folder.",
            )
    raise UsageError(f"{word!r} is no artifact of the task, and below none.", hint=_declared(artifacts))


def _look_at(path: str, content: object) -> None:
    if not isinstance(content, str | bytes | Path):
        raise UsageError(
            f"The content of {path} cannot be {_kind(content)}.",
            hint="Give text, bytes, or the pathlib.Path of a file to copy.",
        )
    if isinstance(content, Path) and not content.is_file():
        raise UsageError(f"{content}, to be handed in as {path}, is not a file.", hint="Give a file's path.")


def _write(target: Path, path: str, content: Content) -> None:
    size = 0 if isinstance(content, Path) else len(content)
    try:
        with disk_errors(target.parent, size):
            target.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copy(content, target)  # with its execute bit, as a file of a folder is taken in
            else:
                target.write_bytes(content.encode() if isinstance(content, str) else content)
    except OSError as error:
        text = os.strerror(error.errno or 0)
        raise UsageError(
            f"{path} cannot be handed in: {text}.", hint="Look at its name and at what it is copied from."
        ) from error


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, as JSON may hold
        return False
    return True


def _kind(value: object) -> str:
    return "None" if value is None else f"of the type {type(value).__name__}"


def _declared(artifacts: tuple[Artifact, ...]) -> str:
    return f"There are: {', '.join(artifact.id for artifact in artifacts)}"

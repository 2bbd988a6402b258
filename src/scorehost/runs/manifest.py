"""manifest.json: which attempt it is, and every other file of its folder."""

from __future__ import annotations

from typing import Literal

from scorehost.model.frozen import Frozen

MANIFEST_FILE = "manifest.json"


class ManifestFile(Frozen):
    r"""One file of an attempt; in `path` a byte that is not UTF-8 is `\xff`, and a backslash is doubled."""

    path: str
    size: int
    sha256: str


class Manifest(Frozen):
    """The content of manifest.json."""

    format: Literal["scorehost.manifest/1"] = "scorehost.manifest/1"
    job_id: str
    task_id: str
    submission: str
    sample: int
    repeat: int
    attempt: int
    files: tuple[ManifestFile, ...]

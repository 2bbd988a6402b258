"""manifest.json of an attempt, and salts.json: every file by a digest that tells nothing of private ones."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field, ValidationError

from scorehost.model.frozen import Frozen
from scorehost.model.json import BadJson, dump, parse
from scorehost.model.result import Kind
from scorehost.runs.private import SALT_BYTES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

FIRST = "scorehost.manifest/1"
MANIFEST_FILE = "manifest.json"
SALTS_FILE = "salts.json"
PLAIN, SALTED = "sha256:", "salted-sha256:"


class ManifestFile(Frozen):
    r"""One file of an attempt; in `path` a byte that is not UTF-8 is `\xff`, and a backslash is doubled.

    `digest`: `sha256:` of a public file. Of a private one `salted-sha256:` and the hex SHA-256 over the 16
    bytes of its salt and the 32 bytes of its SHA-256.
    """

    path: str
    size: int
    digest: str


class Manifest(Frozen):
    """manifest.json: which attempt it is, and every other file of its folder."""

    model_config = ConfigDict(populate_by_name=True)

    format: Literal["scorehost.manifest/2"] = "scorehost.manifest/2"
    kind: Kind = "score"
    job_id: str
    task_id: str
    submission: str
    sample: int
    repeat: int
    try_number: int = Field(alias="try")
    files: tuple[ManifestFile, ...]


class Salts(Frozen):
    """salts.json: the salt of every private file of the attempt by path, its own too; 32 hex digits each."""

    format: Literal["scorehost.salts/1"] = "scorehost.salts/1"
    salts: dict[str, str]


def manifest_bytes(manifest: Manifest) -> bytes:
    """What manifest.json holds."""
    return dump(manifest.model_dump(mode="json", by_alias=True))


def fresh_salts(paths: Collection[str]) -> Salts:
    """A salt for each of these paths."""
    chance = secrets.token_bytes(SALT_BYTES * len(paths)).hex()
    digits = 2 * SALT_BYTES
    return Salts(salts={path: chance[n * digits : (n + 1) * digits] for n, path in enumerate(sorted(paths))})


def listed_digest(sha256: str, salt: str | None) -> str:
    """How a manifest names a file whose content has this hex SHA-256; `salt` None: the file is public."""
    if salt is None:
        return PLAIN + sha256
    return SALTED + hashlib.sha256(bytes.fromhex(salt + sha256)).hexdigest()


def agrees(file: ManifestFile, sha256: str, salts: Mapping[str, str]) -> bool:
    """Whether a content with this hex SHA-256 is the one that the manifest lists."""
    salt = None if file.digest.startswith(PLAIN) else salts.get(file.path, "")
    try:
        return salt != "" and listed_digest(sha256, salt) == file.digest
    except ValueError:  # no salt at all
        return False


def read_manifest(data: bytes) -> Manifest:
    """The manifest in the bytes of a manifest.json, also of format `/1`. Raises ValidationError."""
    try:
        return Manifest.model_validate_json(data)
    except ValidationError:
        if (known := _from_first(data)) is None:
            raise
    return Manifest.model_validate_json(known)


def _from_first(data: bytes) -> bytes | None:
    try:
        held = parse(data, max_bytes=len(data))
        if held["format"] != FIRST:
            return None
        number = held.pop("attempt")
        files = [{**row, "digest": PLAIN + row["sha256"]} for row in held["files"]]
    except (BadJson, KeyError, TypeError):
        return None
    for row in files:
        del row["sha256"]
    return dump({**held, "format": "scorehost.manifest/2", "try": number, "files": files})

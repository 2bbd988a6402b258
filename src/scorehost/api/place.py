"""Where the engine is that the current folder asks for."""

from __future__ import annotations

from pathlib import Path

from scorehost.errors import ScorehostError
from scorehost.spec.loading import DATASET_FILE, load_dataset


def engine_host(folder: Path = Path()) -> str | None:
    """The engine that the profiles of the dataset in `folder` name; None where there is no sound dataset.

    For `doctor` and `clean`, which must work beside a broken dataset too.
    """
    if not (folder / DATASET_FILE).is_file():
        return None
    try:
        return load_dataset(folder, only=()).profiles.engine.host
    except ScorehostError:
        return None

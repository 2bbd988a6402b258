"""What dead processes left in a runs folder goes; what anybody alive may have, or is of worth, stays."""

from __future__ import annotations

from pathlib import Path

from scorehost.errors import UsageError
from scorehost.files.removal import remove_tree
from scorehost.runs.claim import CLAIM_FILE, abandoned
from scorehost.runs.folder import RESERVE_FILE, JobFolder, job_ids


def sweep(out: Path) -> tuple[str, ...]:
    """Removes unpacked archives and drafts of dead processes below `out`, and folders that hold nothing else.

    It never fails: what stands in its way in one folder comes back as a warning, and the next one is swept.
    """
    warnings: list[str] = []
    for job_id in job_ids(out):
        folder = JobFolder(out / job_id)
        try:
            _swept(folder)
        except UsageError:  # somebody has it
            continue
        except Exception as error:  # noqa: BLE001 - whatever is wrong with an old job is no reason to start none
            why = error.strerror if isinstance(error, OSError) else type(error).__name__
            warnings.append(
                f"what a dead process left in {folder.path} could not be removed: {why}; "
                "nothing reads it, so remove it by hand when it is in the way"
            )
    return tuple(warnings)


def _swept(folder: JobFolder) -> None:
    if folder.path.is_symlink() or not _has_leftovers(folder):
        return
    with abandoned(folder.path) as dead:
        if not dead:
            return
        if folder.begun or folder.has_attempts:
            folder.tidy()
            (folder.path / CLAIM_FILE).unlink(missing_ok=True)
        else:
            remove_tree(folder.path)


def _has_leftovers(folder: JobFolder) -> bool:
    if not folder.begun and not folder.has_attempts:
        return True
    marks = (folder.incoming, folder.path / RESERVE_FILE, folder.path / CLAIM_FILE)
    return any(mark.exists() for mark in marks)

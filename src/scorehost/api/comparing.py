"""Two jobs on disk against each other; no engine is asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scorehost.api.kinds import kind_of
from scorehost.compare.comparison import compare_jobs
from scorehost.runs.folder import find_job
from scorehost.runs.reading import read_job

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scorehost.model.comparison import Comparison


def compare(
    a: str,
    b: str,
    *,
    out: Path = Path("runs"),
    renamed: Mapping[str, str] | None = None,
    tasks: Sequence[str] = (),
    allow_mismatch: bool = False,
    private: bool = False,
) -> Comparison:
    """What job B is against job A; `a` and `b` are ids, unique beginnings, folders or `latest` below `out`.

    `renamed` maps submissions of A to those of B that they are compared with (the same names without it),
    `tasks` are globs over task ids. `private` lets reasons hold free text of private checks. There are no
    figures when the jobs were scored by different inputs, unless `allow_mismatch`. Raises UsageError.
    """
    ours, theirs = read_job(find_job(out, a)), read_job(find_job(out, b))
    return compare_jobs(
        ours,
        theirs,
        must_agree=kind_of(ours.record.kind).must_agree,
        renamed=renamed,
        tasks=tasks,
        allow_mismatch=allow_mismatch,
        private=private,
    )

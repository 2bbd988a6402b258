"""submission.yaml: what a submission says of itself; recorded, and never a reason to stop a job."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from scorehost.errors import SpecError
from scorehost.spec.submission import read_submission_card
from scorehost.submissions.wanted import CARD

if TYPE_CHECKING:
    from collections.abc import Callable

    from scorehost.spec.dataset import SubmissionCard
    from scorehost.submissions.layout import Root

MAX_CARD_BYTES = 64 * 1024


def read_card(root: Root, warn: Callable[[str], None]) -> SubmissionCard | None:
    """The card at the top of a submission; None when there is none, or (with a warning) no usable one."""
    path, shown = root.folder / CARD, f"{root.shown}/{CARD}"
    if why := root.odd.at(CARD).refusal:
        warn(f"{shown} {why}; it is ignored.")
    try:
        status = os.lstat(path)
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_CARD_BYTES:
        warn(f"{shown} is no regular file of at most {MAX_CARD_BYTES} bytes; it is ignored.")
        return None
    try:
        return read_submission_card(path, shown=shown)
    except SpecError as error:
        warn(f"{error.problems[0]}; the card is ignored.")
    except OSError as error:
        warn(f"{shown}: {error.strerror}; the card is ignored.")
    return None

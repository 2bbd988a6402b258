"""How one invocation runs a job, whatever kind of job it is; which attempts it has is the kind's `Asked`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from scorehost.model.options import option


def _rerun(text: str) -> str:
    return "" if text.partition(":")[0] == "error" else f"{text!r} is not `error` or `error:KIND`."


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The options of an invocation; a job that is resumed may be given others."""

    concurrency: int | None = option(
        None, "--concurrency", "Attempts at a time; else by cores and memory.", "count", metavar="N"
    )
    out: Path = option(Path("runs"), "--out", "Where jobs go (runs).", "place")
    resume: str | None = option(
        None, "--resume", "Continue a job; only what is unfinished runs.", metavar="JOB"
    )
    rerun: str | None = option(
        None, "--rerun", "With --resume: run these again.", metavar="error[:KIND]", check=_rerun
    )
    retry_errors: int = option(
        1,
        "--retry-errors",
        "Retry engine failures up to N times.",
        "natural",
        metavar="N",
        show_default=True,
    )
    fail_fast: bool = option(
        default=False,
        flag="--fail-fast",
        words="Start no further attempts after the first that is not PASS.",
        sort="switch",
    )
    exit_on: Literal["fail", "error", "never"] = option(
        "fail",
        "--exit-on",
        "error: a FAIL exits with 0; never: an ERROR too.",
        "choice",
        choices=("fail", "error", "never"),
        show_default=True,
    )
    fail_under: float | None = option(
        None,
        "--fail-under",
        "Exit 1 when the mean is below X (above, where scores are minimised).",
        "number",
        metavar="X",
    )
    allow_unenforced: bool = option(
        default=False,
        flag="--allow-unenforced",
        words="Run even if the engine does not hold hosts as asked.",
        sort="switch",
    )
    private: bool = option(
        default=False, flag="--private", words="Show free text of private checks too.", sort="switch"
    )
    max_calls: int | None = option(
        None, "--max-calls", "Calls of agents that the job may make.", "natural", metavar="N"
    )
    max_tokens: int | None = option(
        None, "--max-tokens", "Tokens after which no call is started.", "natural", metavar="N"
    )
    keep: Literal["error", "always"] | None = option(
        None,
        "--keep",
        "Leave containers to look into; `clean --kept` removes them.",
        "choice",
        choices=("error", "always"),
    )
    locked: bool = option(
        default=False,
        flag="--locked",
        words="Only with files and images as scorehost.lock says.",
        sort="switch",
    )
    allow_shared_host: bool = option(
        default=False,
        flag="--allow-shared-host",
        words="Score in the run phase's container if profiles ask.",
        sort="switch",
    )

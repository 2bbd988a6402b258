"""The end of a rescore on stdout: the new job's outcome, then the verdicts that moved."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from scorehost.cli.outcome import document, show
from scorehost.cli.stdout import write
from scorehost.cli.tables import columns
from scorehost.cli.text import count, score_text, typed, visible
from scorehost.model.json import dump

if TYPE_CHECKING:
    from scorehost.api import Move, Rescored

SHOWN = 200
_HEAD = ("task", "submission", "sample", "before", "after", "reason")


def show_rescored(rescored: Rescored, *, as_json: bool) -> None:
    """Prints all of it, or one JSON document."""
    outcome = rescored.outcome
    if as_json:
        more = {
            "parent": rescored.parent,
            "carried": rescored.carried,
            "moved": [_row(move) for move in rescored.moved],
        }
        write(dump({**document(outcome), **more}))
        return
    show(outcome, as_json=False)
    write("\n".join(["", *_lines(rescored), *_more(rescored)]) + "\n")


def _lines(rescored: Rescored) -> list[str]:
    again = len(rescored.outcome.rows) - rescored.carried
    stand = f", {_stand(rescored.carried)}" if rescored.carried else ""
    head = visible(f"of {rescored.parent}: {count(again, 'attempt')} scored again{stand}")
    verdicts = sum(move.verdict for move in rescored.moved)
    if not rescored.moved:
        return [head, "no verdict and no score moved"]
    scores = len(rescored.moved) - verdicts
    told = f"{count(verdicts, 'verdict')} moved" + (f", {count(scores, 'score')} besides" if scores else "")
    shown = rescored.moved[:SHOWN]
    lines = [head, told, *columns([_cells(move) for move in shown], _HEAD)]
    if len(rescored.moved) > len(shown):
        lines.append(f"… and {len(rescored.moved) - len(shown)} more; `scorehost compare` lists them all")
    return lines


def _more(rescored: Rescored) -> list[str]:
    """The command that holds checks and metrics against each other, too."""
    place = rescored.outcome.folder
    parent = place.parent / rescored.parent
    if not parent.is_dir():  # it was named by a folder elsewhere
        return []
    return [
        visible(f"checks and metrics: {shlex.join(('scorehost', 'compare', typed(parent), typed(place)))}")
    ]


def _stand(number: int) -> str:
    return "1 stands as it was" if number == 1 else f"{number} stand as they were"


def _cells(move: Move) -> tuple[str, ...]:
    return (
        move.key.task_id,
        move.key.submission,
        f"{move.key.sample}.{move.key.repeat}",
        f"{move.before} {score_text(move.before_score)}",
        f"{move.after} {score_text(move.after_score)}",
        move.reason,
    )


def _row(move: Move) -> dict[str, Any]:
    return {
        **move.key.model_dump(),
        "before": {"status": move.before, "score": move.before_score},
        "after": {"status": move.after, "score": move.after_score},
        "reason": move.reason,
    }

"""Jobs whose attempts hold real artifacts, manifests and digests, though nothing but a script scored them."""

from __future__ import annotations

from pathlib import Path

from scripted_jobs import make_dataset, make_result

from scorehost.attempt.archived import link_submission
from scorehost.attempt.digests import TaskTrees, Tools, scoring_digests
from scorehost.errors import AttemptFailed
from scorehost.model.check import CheckRow
from scorehost.model.result import Digests, HostUsage
from scorehost.runs.blobs import Blobs
from scorehost.runs.draft import drafted
from scorehost.spec.gold_key import gold_key
from scorehost.submissions.intake import take_in


def host(image_id, name="evaluator", *, recipe=None):
    """One container that ran."""
    return HostUsage(
        name=name,
        image="scorehost/python:3",
        image_id=image_id,
        recipe=recipe,
        started_at="2026-11-30T07:45:12.000Z",
        peak_memory_bytes=None,
        cpu_seconds=None,
        execs=0,
        ended="removed",
    )


def key_beside(task):
    """The gold.key of the dataset of a task that lies in its folder `tasks`."""
    root = task.folder.parents[1]
    return gold_key(make_dataset(root, task))


class Archiving:
    """Takes each submission in as a real attempt does, then scores by `verdict(order, files)`.

    `files` are the file artifacts by id, as bytes. The verdict's keywords are those of `make_result`, and
    `checks`, `images` (host -> id), `recipes` (host -> digest), `roles` (role -> digest) and `logs`.
    """

    def __init__(self, verdict=lambda _order, _files: {}) -> None:
        self.verdict = verdict
        self.keys: list[str] = []

    async def __call__(self, order, folder: Path, _emit):
        self.keys.append(str(order.key))
        with drafted(folder) as draft:
            try:
                hand_in = take_in(
                    order.work.task.spec, order.work.sample, Blobs(folder.parents[4] / ".blobs")
                )
            except AttemptFailed as failed:
                given = {"kind": failed.failure.kind, "phase": failed.failure.phase}
                result = make_result(order, folder.parents[3].name, **given)
                result = result.model_copy(update={"error": failed.failure})
                draft.close(result, ())
                return result
            link_submission(draft, order.work.task.spec, hand_in)
            files = {
                name: tree.entries[0].source.read_bytes()
                for name, tree in hand_in.artifacts.items()
                if tree.entries and tree.entries[0].path == ""
            }
            given = dict(self.verdict(order, files))
            checks = tuple(CheckRow(**row) for row in given.pop("checks", ()))
            images = given.pop("images", {"evaluator": "sha256:1"})
            recipes = given.pop("recipes", {})
            roles = given.pop("roles", {})
            for name, data in given.pop("logs", {}).items():
                draft.write(f"logs/{name}", data)
            trees = TaskTrees.read(order.work.task, key_beside(order.work.task), Tools.read())
            digests = scoring_digests(trees, images, roles)
            result = make_result(order, folder.parents[3].name, **given).model_copy(
                update={
                    "digests": Digests(scoring=digests, submission=hand_in.digest, operational={}),
                    "hosts": tuple(host(i, name, recipe=recipes.get(name)) for name, i in images.items()),
                }
            )
            draft.close(result, checks)
        return result


def hand_in(root: Path, name: str, **answers: str) -> str:
    """A submission's folder with `artifacts/answer.txt` for each task."""
    for task_id, text in answers.items():
        place = root / name / task_id / "artifacts"
        place.mkdir(parents=True)
        (place / "answer.txt").write_text(text)
    return str(root / name)

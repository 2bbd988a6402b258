"""Files that change between being looked at, copied and sent: what was hashed is what is scored."""

from __future__ import annotations

import contextlib
import hashlib
import threading
import time
from pathlib import Path

import pytest

from scorehost.engine.opening import open_engine
from scorehost.errors import AttemptFailed
from scorehost.runs.blobs import Blobs
from scorehost.spec.task import Artifact, TaskSpec
from scorehost.submissions.intake import take_in
from scorehost.submissions.sample import Sample
from trial import score_one, write_submission, write_task

SECRET, HONEST = b"secret of somebody else", b"handed in"


@contextlib.contextmanager
def swapping(act):
    """Calls `act` again and again in a thread while the block runs."""
    stop = threading.Event()

    def run():
        while not stop.is_set():
            act()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def taken_in(tmp_path: Path, kind: str, path: str) -> set[bytes]:
    """All contents that 1.5 s of intakes took."""
    spec = TaskSpec(task_id="t", artifacts=(Artifact(id="answer", path=path, kind=kind),))
    contents, until = set(), time.monotonic() + 1.5
    while time.monotonic() < until:
        try:
            found = take_in(spec, Sample(tmp_path / "s"), Blobs(tmp_path / "blobs"))
        except AttemptFailed as refused:
            assert refused.failure.kind == "invalid_submission"  # noqa: PT017 - the only one that may come
            continue
        contents |= {entry.source.read_bytes() for tree in found.artifacts.values() for entry in tree.entries}
    return contents


def test_a_file_that_turns_into_a_link_and_back_gives_its_own_content_or_nothing(tmp_path):
    (tmp_path / "secret").write_bytes(SECRET)
    place = tmp_path / "s/artifacts"
    place.mkdir(parents=True)
    link, file, target = place / "link", place / "file", place / "answer.txt"

    def swap():
        link.symlink_to(tmp_path / "secret")
        link.rename(target)
        file.write_bytes(HONEST)
        file.rename(target)

    swap()
    with swapping(swap):
        assert taken_in(tmp_path, "file", "artifacts/answer.txt") == {HONEST}


def test_a_folder_that_turns_into_a_link_and_back_gives_its_own_content_or_nothing(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "answer.txt").write_bytes(SECRET)
    (tmp_path / "s/real").mkdir(parents=True)
    (tmp_path / "s/real/answer.txt").write_bytes(HONEST)
    place = tmp_path / "s/artifacts"

    def swap():
        (tmp_path / "s/real").rename(place)
        place.rename(tmp_path / "s/real")
        place.symlink_to(outside)
        place.unlink()

    with swapping(swap):
        assert SECRET not in taken_in(tmp_path, "file", "artifacts/answer.txt")
        assert SECRET not in taken_in(tmp_path, "tree", "artifacts")


@pytest.mark.docker
@pytest.mark.anyio
async def test_what_is_swapped_after_the_intake_is_not_sent(tmp_path, job_id):
    evaluator = """
    import time
    def evaluate(inputs):
        found = open(inputs["artifacts"]["answer"], "rb").read()
        return {"status": "FAIL", "metrics": {"answer": found.decode()}}
    """
    root = write_task(tmp_path / "d", evaluator)
    submission = write_submission(tmp_path / "s", {"artifacts/answer.txt": HONEST})
    answer = submission / "artifacts/answer.txt"
    gold = root / "tasks/t/evaluation/gold.txt"
    swapped = threading.Event()

    def swap_once_copied():
        if swapped.is_set():
            return
        blobs = [path for path in (tmp_path / "runs").rglob("*") if path.is_file() and not path.is_symlink()]
        if any(hashlib.sha256(HONEST).hexdigest() in path.name or _holds(path) for path in blobs):
            answer.unlink()
            answer.symlink_to(gold)
            swapped.set()

    with swapping(swap_once_copied):
        async with open_engine() as engine:
            done = await score_one(engine, root, submission, job_id, tmp_path / "runs")
    assert swapped.is_set()
    assert done.result.metrics == {"answer": HONEST.decode()}, (done.result.error, done.log)


def _holds(path: Path) -> bool:
    try:
        return path.read_bytes() == HONEST
    except OSError:
        return False

"""Sockets with short paths, a listener for what is created, and jobs that run inside the test."""

from __future__ import annotations

import gc
import subprocess
import tempfile
from pathlib import Path

import anyio
import pytest

from given import given
from scorehost.api.running import resolved
from scorehost.engine.door import Engine
from scorehost.engine.opening import open_engine
from scorehost.jobs.outcome import JobEvent, JobOutcome
from scorehost.jobs.run import run_job
from scorehost.jobs.scoring import Clock
from scorehost.scoring.choosing import choose
from scorehost.scoring.kind import ScoreKind
from scorehost.scoring.sitting import ScoreSitting
from scorehost.spec.loading import load_dataset


@pytest.fixture(autouse=True)
def sockets_collected():
    """The docker SDK leaves the socket of a connection that failed to the garbage collector. It goes in the
    test that broke the connection, which says that this is known, not at the end of all tests.
    """
    yield
    gc.collect()


@pytest.fixture
def short():
    """A folder with a short path: a socket's may have 107 bytes only."""
    with tempfile.TemporaryDirectory(prefix="sh-") as folder:
        yield Path(folder)


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 5 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=5m", "none", place], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no right to mount: {done.stderr.strip()}")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.fixture
def created():
    """Gives, for a job's id, the ids of all containers that the engine created for it during the test."""
    words = '{{index .Actor.Attributes "scorehost.job"}} {{.Actor.ID}}'
    filters = [f"--filter={one}" for one in ("type=container", "event=create", "label=scorehost.job")]
    listener = subprocess.Popen(
        ["docker", "events", *filters, "--format", words],
        stdout=subprocess.PIPE,
        text=True,
    )
    told: list[str] = []

    def of(job: str) -> list[str]:
        listener.terminate()
        if listener.stdout is not None and not listener.stdout.closed:
            told.extend(listener.stdout.read().splitlines())
            listener.stdout.close()
        return [line.split()[1] for line in told if line.split()[0] == job]

    yield of
    of("")
    listener.wait()


class Runner:
    """Runs jobs in this process on an engine that is given, with a clock that is given."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.events: list[JobEvent] = []
        self.said: list[str] = []  # what was slow or could not be done

    async def __call__(
        self,
        engine: Engine,
        root: Path,
        *,
        stop: anyio.Event | None = None,
        clock: Clock | None = None,
        **options,
    ) -> JobOutcome:
        """One job to its end."""
        dataset = load_dataset(root)
        asked = {"concurrency": 2, **options}
        if "resume" not in asked:
            asked = {"dataset": root, "submissions": ("solution",), **asked}

        wanted, running = given(out=self.out, **asked)
        kind = ScoreKind(open_engine)
        if running.resume is not None:
            kind, wanted, running = resolved(None, running)
        chosen = choose(wanted, dataset)
        sitting = ScoreSitting(chosen, running, engine, self.said.append, running.concurrency)
        return await run_job(
            kind, sitting, running, self.events.append, stop=stop or anyio.Event(), clock=clock
        )

    def kinds(self) -> list[str]:
        """The kinds of the events so far."""
        return [event.kind for event in self.events]


@pytest.fixture
def run(tmp_path):
    return Runner(tmp_path / "runs")

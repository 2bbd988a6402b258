"""Evaluators that a test writes down are scored on the real engine; odd images are built and taken away."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import secrets
import subprocess
import tarfile
import textwrap
import time
from collections.abc import Mapping
from pathlib import Path

import anyio
import pytest

from scorehost.engine.door import Engine
from scorehost.engine.opening import open_engine
from trial import IMAGE, Scored, score_one, write_submission, write_task

# Stands at the end of every evaluator of these tests.
TOLD = """

def told(r):
    return {"exit_code": r.exit_code, "stdout": r.stdout[-4000:], "stderr": r.stderr[-4000:],
            "truncated": r.truncated, "timed_out": r.timed_out, "oom_killed": r.oom_killed,
            "host_lost": r.host_lost, "seconds": r.duration_seconds}

def passed(**metrics):
    return {"status": "PASS", "metrics": metrics}
"""


class Scorer:
    """Scores evaluators that are written down in a few lines, all under one job's id."""

    def __init__(self, engine: Engine, job_id: str, folder: Path) -> None:
        self.engine = engine
        self.job_id = job_id
        self._folder = folder
        self._count = itertools.count(1)

    async def __call__(
        self,
        evaluator: str,
        *,
        submission: Mapping[str, bytes | str] | None = None,
        gold: Mapping[str, bytes] | None = None,
        files: Mapping[str, str] | None = None,
        **spec,
    ) -> Scored:
        """One attempt; `files` are further files of the task's folder, `spec` further keys of task.yaml."""
        place = self._folder / str(next(self._count))
        root = write_task(place / "d", textwrap.dedent(evaluator) + TOLD, gold=gold, **spec)
        for path, text in (files or {}).items():
            target = root / "tasks" / "t" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        return await score_one(
            self.engine, root, write_submission(place / "s", submission), self.job_id, place / "runs"
        )

    async def passing(self, evaluator: str, **keys) -> dict:
        """The metrics of an attempt that must PASS."""
        scored = await self(evaluator, **keys)
        assert scored.result.status == "PASS", (scored.result.error, scored.log[-3000:])
        return scored.result.metrics

    async def order(self, host: str, *words: str, after: float = 0.0) -> None:
        """Has the engine do something with the named host's container, by the docker command, `after` seconds
        after it runs.
        """
        with anyio.fail_after(30):
            while True:
                rows = await self.engine.list_containers(
                    {"scorehost.job": self.job_id, "scorehost.host": host}
                )
                if rows and rows[0].running:
                    await anyio.sleep(after)
                    await anyio.run_process(["docker", *words, rows[0].id], check=False)
                    return
                await anyio.sleep(0.02)


@pytest.fixture
async def scoring(anyio_backend, job_id, tmp_path):
    async with open_engine() as engine:
        yield Scorer(engine, job_id, tmp_path)


@pytest.fixture
def work():
    """Keys of a task with one named environment, `work`, that may set some of its own."""

    def make(limits: Mapping[str, object] | None = None, **environment) -> dict:
        row = {"docker_image": IMAGE, "tmpfs_mb": 16, **environment}
        return {
            "limits": {"memory_mb": 64, **(limits or {})},
            "evaluation": {"tmpfs_mb": 16, "environments": {"work": row}},
        }

    return make


def _tar(files: Mapping[str, tuple[bytes, int]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, (data, mode) in files.items():
            info = tarfile.TarInfo(name)
            info.mode, info.size = mode, len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


class Workshop:
    """Builds images by `docker build` and takes them away again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._label = f"scorehost.test={secrets.token_hex(8)}"
        self._count = itertools.count(1)

    def build(self, recipe: str, files: Mapping[str, str] | None = None) -> str:
        """The tag of the image that the recipe makes; `files` stand beside it."""
        number = next(self._count)
        folder = self._folder / f"image{number}"
        folder.mkdir()
        for name, text in (files or {}).items():
            (folder / name).write_text(text)
        (folder / "Dockerfile").write_text(recipe)
        tag = f"scorehost-test/{self._label[-16:]}:{number}"
        command = ["docker", "build", "-q", "--label", self._label, "-t", tag, str(folder)]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
        return tag

    def loaded(self, files: Mapping[str, bytes], *, architecture: str) -> str:
        """The tag of an image of these executables alone, whose config says that it is for `architecture`."""
        number = next(self._count)
        tag = f"scorehost-test/{self._label[-16:]}:{number}"
        layer = _tar({name: (data, 0o755) for name, data in files.items()})
        key, _, value = self._label.partition("=")
        config = {
            "architecture": architecture,
            "os": "linux",
            "config": {"Env": ["PATH=/usr/bin:/bin"], "Labels": {key: value}},
            "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
            "history": [{"created_by": "a test"}],
        }
        manifest = [{"Config": "config.json", "RepoTags": [tag], "Layers": ["layer.tar"]}]
        parts = {"config.json": json.dumps(config).encode(), "manifest.json": json.dumps(manifest).encode()}
        archive = _tar({name: (data, 0o644) for name, data in {**parts, "layer.tar": layer}.items()})
        made = subprocess.run(["docker", "load"], input=archive, capture_output=True, check=False)
        assert made.returncode == 0, made.stderr
        return tag

    def clear(self) -> None:
        """Removes every image that it made, with the layers between."""
        remove_images(self._label)


def remove_images(label: str) -> None:
    """Removes the images that carry a label of a test."""
    listing = ["docker", "image", "ls", "-aq", "--filter", f"label={label}"]
    for _ in range(
        20
    ):  # what others rest on goes after them; a build that was broken off ends a moment later
        ids = set(subprocess.run(listing, capture_output=True, text=True, check=True).stdout.split())
        if not ids:
            return
        subprocess.run(["docker", "rmi", "-f", *ids], capture_output=True, check=False)
        time.sleep(0.2)
    pytest.fail(f"images with the label {label} cannot be removed")


@pytest.fixture(scope="session")
def workshop(tmp_path_factory):
    shop = Workshop(tmp_path_factory.mktemp("images"))
    yield shop
    shop.clear()


@pytest.fixture
def own_label(job_id):
    """A label that a recipe of a test sets, so that the image that scorehost builds of it goes again."""
    label = f"scorehost.test={job_id}"
    yield label
    remove_images(label)

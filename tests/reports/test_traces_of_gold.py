"""A job leaves nothing that tells its gold: no key, no digest that a guess could be held against."""

from __future__ import annotations

import hashlib
import json
from contextlib import asynccontextmanager

import anyio
from memory_runner import Runner

from scorehost import api
from scorehost.engine.memory import MemoryEngine
from trial import IMAGE, write_submission, write_task

SMALL = b"42"
EVALUATOR = "def evaluate(inputs):\n    return {'status': 'PASS'}\n"
VALUE = {
    "status": "FAIL",
    "score": 0.0,
    "metrics": {"expected": 42},
    "checks": [{"id": "answer", "status": "FAIL", "message": "42 was due"}],
}


def engine_with(runner, seen):
    @asynccontextmanager
    async def opened(_host):
        async with MemoryEngine() as engine:
            engine.images.add(IMAGE)
            engine.program(lambda launch: launch.main, runner)
            seen.append(engine)
            yield engine

    return opened


def held(engine):
    """Everything that the containers of an engine hold, and all that the engine knows of them."""
    parts = [repr(engine.launches).encode()]
    for container in engine._containers.values():
        parts.append(repr((container.spec, container.volumes)).encode())
        parts += [container.files.read(path) for path in container.files.below("/")]
    return b"\n".join(parts)


def tree_digest(name: str, content: bytes) -> str:
    """As `scorehost.result/1` named gold."""
    line = f"{name}\0-\0{hashlib.sha256(content).hexdigest()}\n"
    return hashlib.sha256(line.encode()).hexdigest()


def test_neither_the_key_nor_a_plain_digest_of_gold_or_of_a_private_file_is_left_anywhere(tmp_path):
    root = write_task(tmp_path / "d", EVALUATOR, gold={"answer.txt": SMALL})
    write_submission(tmp_path / "s")
    engines, meanwhile = [], []

    async def look():
        meanwhile.append(held(engines[0]))

    runner = Runner(value=VALUE, log=(b"the answer is 42\n",), work=look)
    asked = api.ScoreAsked(dataset=root, submissions=(f"s={tmp_path / 's'}",))

    running = api.Running(out=tmp_path / "runs")

    async def main():
        return await api.run(asked, running, lambda _event: None, engine=engine_with(runner, engines))

    outcome = anyio.run(main)
    assert [row.status for row in outcome.rows] == ["FAIL"]
    key = (root / "gold.key").read_bytes()
    (inside,) = meanwhile
    assert SMALL in inside  # gold is where it belongs
    for secret in (key, key.hex().encode()):
        assert secret not in inside

    folder = outcome.folder
    files = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    reports = {kind: api.report(str(folder), kind) for kind in ("md", "html", "json", "csv", "junit")}
    told = {name: path.read_bytes() for name, path in files.items()} | reports
    secrets = {
        "key": key,
        "key in hex": key.hex().encode(),
        "gold": hashlib.sha256(SMALL).hexdigest().encode(),
        "gold tree": tree_digest("answer.txt", SMALL).encode(),
    }
    attempt = folder / "attempts/t/s/1.1"
    private = [
        *("logs/evaluator.log", "evaluation/checks.json", "artifacts/answer.txt", "salts.json"),
    ]
    secrets |= {name: hashlib.sha256((attempt / name).read_bytes()).hexdigest().encode() for name in private}
    found = {
        (what, name) for what, secret in secrets.items() for name, data in told.items() if secret in data
    }
    assert found == set()
    assert {"job.json", "summary.json", "events.jsonl", "attempts/t/s/1.1/result.json"} <= set(files)

    # What evaluators return may hold gold: it is salted too, since events have the hash of the file.
    result = json.loads((attempt / "result.json").read_bytes())
    assert len(bytes.fromhex(result["salt"])) == 16


def test_a_result_whose_metrics_are_all_declared_has_no_salt(tmp_path):
    metrics = {"metrics": [{"id": "rmse"}]}
    root = write_task(tmp_path / "d", EVALUATOR, evaluation=metrics)
    write_submission(tmp_path / "s")
    runner = Runner(value={**VALUE, "metrics": {"rmse": 0.5}})
    asked = api.ScoreAsked(dataset=root, submissions=(f"s={tmp_path / 's'}",))

    running = api.Running(out=tmp_path / "runs")

    async def main():
        return await api.run(asked, running, lambda _event: None, engine=engine_with(runner, []))

    folder = anyio.run(main).folder
    result = json.loads((folder / "attempts/t/s/1.1/result.json").read_bytes())
    assert (result["metrics"], result["salt"]) == ({"rmse": 0.5}, None)

"""A secret of the controller stands in no file of a job, no message, no log and no container."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import anyio
import pytest
from memory_runner import PASS, Runner, memory_engine, scored_on

from given import given
from scorehost import api
from scorehost.cli.failures import tell
from scorehost.engine.opening import open_engine
from scorehost.errors import EngineRefused, EngineUnreachable
from trial import score_one, write_submission, write_task

SENTINEL = "SENTINEL123/of+the=controller"
PROXY = "SENTINEL456-of-a-proxy"
FORMS = (
    SENTINEL,
    PROXY,
    quote(SENTINEL, safe=""),
    base64.b64encode(SENTINEL.encode()).decode(),
)
ALL = " ".join(FORMS)
EVALUATOR = 'def evaluate(inputs):\n    return {"status": "PASS"}\n'


@pytest.fixture(autouse=True)
def secrets_of_this_process(monkeypatch, tmp_path):
    config = {"proxies": {"default": {"httpProxy": f"http://me:{PROXY}@127.0.0.1:9", "noProxy": "localhost"}}}
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker/config.json").write_text(json.dumps(config))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("SOME_SERVICE_TOKEN", SENTINEL)


@pytest.fixture
def place(tmp_path):
    write_task(tmp_path / "d", EVALUATOR)
    write_submission(tmp_path / "s")
    return tmp_path


def found_in(folder) -> list[str]:
    """Files below a folder that hold a form of a secret."""
    return [
        f"{path.relative_to(folder)}: {form}"
        for path in folder.rglob("*")
        if path.is_file()
        for form in FORMS
        if form.encode() in path.read_bytes()
    ]


@pytest.mark.parametrize("method", ["create", "upload", "start"])
@pytest.mark.parametrize("kind", [EngineRefused, EngineUnreachable])
def test_an_engine_error_that_repeats_a_secret_leaves_it_in_no_file_and_no_event(place, method, kind):
    error = kind(f"said: {ALL}", **({"status": 500} if kind is EngineRefused else {}), hint=f"see {ALL}")
    told = []
    (place / "d/tasks/t/evaluation/large").write_bytes(b"x" * (2 << 20))  # what is small is not uploaded

    async def main():
        async with memory_engine() as engine:
            for call in range(1, 4):
                engine.fail(method, error, call=call)
            opened = _opened(engine)
            asked = given(
                dataset=place / "d",
                submissions=(f"s={place / 's'}",),
                out=place / "runs",
                retry_errors=0,
                exit_on="never",
            )
            return await api.run(*asked, told.append, engine=opened)

    outcome = anyio.run(main)
    assert [row.status for row in outcome.rows] == ["ERROR"]
    assert found_in(place / "runs") == []
    assert not any(form in repr((told, outcome)) for form in FORMS)
    result = json.loads(next((place / "runs").rglob("result.json")).read_bytes())
    assert result["error"]["message"].count("[secret]") == len(FORMS)


def _opened(engine):
    class Opened:
        def __init__(self, _host):
            pass

        async def __aenter__(self):
            return engine

        async def __aexit__(self, *_):
            return None

    return Opened


@pytest.mark.anyio
async def test_a_log_that_holds_a_secret_across_pieces_is_masked_and_the_attempt_says_so(place, job_id):
    text = f"before {ALL} after\n".encode()
    pieces = tuple(text[at : at + 7] for at in range(0, len(text), 7))
    async with memory_engine(Runner(log=pieces)) as engine:
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)
    assert done.log == b"before [secret] [secret] [secret] [secret] after\n"
    assert done.result.status == "PASS"
    assert done.result.warnings == ("logs/evaluator.log held a secret of the controller's; it was masked",)


@pytest.mark.anyio
async def test_what_an_evaluator_returns_is_masked_in_its_texts_alone(place, job_id, monkeypatch):
    monkeypatch.setenv("NUMBER_PASSWORD", "12345678")
    check = {"id": "a", "status": "PASS", "message": f"said {SENTINEL}", "details": {"n": 12345678}}
    value = {**PASS, "metrics": {"size": 12345678, "text": SENTINEL}, "checks": [check]}
    async with memory_engine(Runner(value=value)) as engine:
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)
    assert done.result.metrics == {"size": 12345678, "text": "[secret]"}
    assert done.checks[0]["message"] == "said [secret]"
    assert done.checks[0]["details"] == {"n": 12345678}


@pytest.mark.anyio
async def test_artifacts_are_kept_byte_for_byte_even_with_a_secret_in_them(place, job_id):
    (place / "s/artifacts/answer.txt").write_text(ALL)
    async with memory_engine() as engine:
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)
    assert (done.folder / "artifacts/answer.txt").read_text() == ALL


@pytest.mark.anyio
async def test_a_defect_whose_traceback_quotes_a_secret_is_kept_without_it(place, job_id):
    async with memory_engine() as engine:
        engine.fail("create", RuntimeError(f"with {ALL}"))
        done = await scored_on(engine, place / "d", place / "s", place / "runs", job_id)
    assert done.kind == "internal"
    assert "[secret]" in (done.folder / "logs/scorehost.log").read_text()
    assert found_in(done.folder) == []


def test_a_defect_of_the_command_line_is_kept_without_a_secret(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    error = RuntimeError(f"with {ALL}")
    tell(error, verbose=False)
    tell(error, verbose=True)
    tell(EngineUnreachable(f"said {ALL}", hint=f"see {ALL}"), verbose=False)
    (kept,) = (tmp_path / "state/scorehost").iterdir()
    said = "".join(capsys.readouterr())
    assert found_in(tmp_path / "state") == []
    assert "[secret]" in kept.read_text()
    assert "[secret]" in said
    assert not any(form in said for form in FORMS)


LOOKS = """
    import os, pathlib
    def evaluate(inputs):
        seen = dict(os.environ)
        for name in ("1", "self"):
            try:
                seen[name] = pathlib.Path("/proc", name, "environ").read_bytes().decode()
            except OSError:
                pass
        print(seen)
        done = inputs["scoring"].exec(None, ["sh", "-c", "env; cat /proc/*/environ 2>/dev/null; true"])
        print(done.stdout)
        return {"status": "PASS", "metrics": {"seen": seen, "beside": done.stdout}}
    """


@pytest.mark.docker
@pytest.mark.anyio
async def test_no_container_has_a_secret_or_a_proxy_of_the_controller(tmp_path, job_id, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:{PROXY}@127.0.0.1:9")
    root = write_task(tmp_path / "d", LOOKS)
    async with open_engine() as engine:
        done = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert done.result.status == "PASS"
    assert done.result.warnings == ()
    text = json.dumps(done.result.metrics)
    assert "PYTHONHASHSEED" in text
    assert "proxy" not in text.lower()
    # Nothing had to be masked, so nothing was there.
    assert "[secret]" not in text + done.log.decode()
    assert found_in(tmp_path / "runs") == []

"""What an engine or a registry says may repeat a secret: no message and no build log has it."""

from __future__ import annotations

import base64
import json
import tarfile
from contextlib import asynccontextmanager
from urllib.parse import quote

import pytest
from fake_daemon import INFO, VERSION, answer, daemon

from scorehost.engine.opening import open_engine
from scorehost.errors import EngineRefused

pytestmark = pytest.mark.anyio

SENTINEL = "SENTINEL/of+the=environment"
REGISTRY = "SENTINEL-of-a-registry-login"
PROXY = "SENTINEL-of-a-proxy"
FORMS = [
    SENTINEL,
    quote(SENTINEL, safe=""),
    base64.b64encode(SENTINEL.encode()).decode(),
    base64.b64encode(f"someone:{SENTINEL}".encode()).decode(),
    REGISTRY,
    base64.b64encode(f"me:{REGISTRY}".encode()).decode(),
    PROXY,
]
# What must not be left of the base64 of "someone:" and the sentinel: the digits of the sentinel alone.
LEFT = base64.b64encode(f"someone:{SENTINEL}".encode()).decode()[11:-3]


@pytest.fixture(autouse=True)
def secrets_of_this_process(monkeypatch, tmp_path):
    config = {
        "auths": {"registry.test": {"auth": base64.b64encode(f"me:{REGISTRY}".encode()).decode()}},
        "proxies": {"default": {"httpsProxy": f"http://me:{PROXY}@127.0.0.1:9"}},
    }
    (tmp_path / "docker").mkdir()
    (tmp_path / "docker/config.json").write_text(json.dumps(config))
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "docker"))
    monkeypatch.setenv("SOME_API_KEY", SENTINEL)


def clean(text: str) -> bool:
    return not any(form in text for form in [*FORMS[:3], LEFT, *FORMS[4:]]) and "[secret]" in text


@asynccontextmanager
async def engine_that_says(tmp_path, said):
    """An engine that answers everything but its version with `said`."""
    path = tmp_path / "e.sock"

    def script(_method, target):
        if target == "/version":
            return answer(200, VERSION)
        return answer(200, INFO) if target.endswith("/info") else said

    async with daemon(path, script), open_engine(f"unix://{path}") as engine:
        yield engine


@pytest.mark.parametrize("form", FORMS)
async def test_a_refusal_that_repeats_a_secret_is_masked(tmp_path, form):
    said = answer(500, {"message": f"cannot do that with {form} in its environment"})
    async with engine_that_says(tmp_path, said) as engine:
        for call in (engine.image("x"), engine.inspect("c"), engine.start("c"), engine.remove("c")):
            with pytest.raises(EngineRefused) as refused:
                await call
            assert clean(str(refused.value))
            assert "in its environment" in refused.value.message


async def test_a_secret_at_the_edge_of_what_a_message_keeps_is_masked_before_the_cut(tmp_path):
    said = answer(500, {"message": "x" * 1_990 + SENTINEL})
    async with engine_that_says(tmp_path, said) as engine:
        with pytest.raises(EngineRefused) as refused:
            await engine.image("x")
    assert SENTINEL[:8] not in refused.value.message


@pytest.mark.parametrize("form", FORMS)
async def test_a_pull_that_fails_with_a_secret_in_its_words_is_masked(tmp_path, form):
    rows = [{"status": "Pulling"}, {"error": f"unauthorized: login {form} was denied"}]
    said = answer(200, "\n".join(json.dumps(row) for row in rows).encode())
    async with engine_that_says(tmp_path, said) as engine:
        with pytest.raises(EngineRefused) as refused:
            await engine.pull("registry.test/image:1")
    assert clean(str(refused.value))
    assert "was denied" in refused.value.message


@pytest.mark.parametrize("size", [1, 5, 7, 400])
@pytest.mark.parametrize("form", FORMS)
async def test_a_build_log_has_no_secret_wherever_its_lines_are_cut(tmp_path, form, size):
    text = f"Step 1/1 : RUN x\nusing {form} now\n"
    rows = [{"stream": text[at : at + size]} for at in range(0, len(text), size)]
    rows.append({"error": f"the command returned {form}"})
    said = answer(200, "\n".join(json.dumps(row) for row in rows).encode())
    context, log = tmp_path / "context.tar", tmp_path / "log"
    tarfile.open(context, "w").close()
    async with engine_that_says(tmp_path, said) as engine:
        with pytest.raises(EngineRefused) as refused:
            await engine.build(context, dockerfile="Dockerfile", tag="t:1", labels={}, log=log, timeout=10)
    for told in (log.read_text(), refused.value.message):
        assert clean(told)
        assert " now\n" in told
        assert "the command returned" in told


async def test_a_build_log_without_a_secret_is_what_the_engine_told_byte_for_byte(tmp_path):
    text = "a\r\nprogress\r100%\n\x1b[1mbold\x1b[0m é\n"
    said = answer(200, "\n".join(json.dumps({"stream": piece}) for piece in text).encode())
    context, log = tmp_path / "context.tar", tmp_path / "log"
    tarfile.open(context, "w").close()
    async with engine_that_says(tmp_path, said) as engine:
        await engine.build(context, dockerfile="Dockerfile", tag="t:1", labels={}, log=log, timeout=10)
    assert log.read_bytes() == text.encode()

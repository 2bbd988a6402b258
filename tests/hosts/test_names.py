"""The names that a host resolves, whether the engine wrote its /etc/hosts or the image does without."""

from __future__ import annotations

import pytest

from scorehost.engine.container_config import container_config
from scorehost.engine.memory import MemoryEngine
from scorehost.engine.opening import open_engine
from scorehost.hosts.blueprint import Blueprint, Users
from scorehost.model.limits import Limits
from trial import IMAGE, score_one, write_submission, write_task

pytestmark = pytest.mark.anyio

TALKS = """
import os, socket, threading
def evaluate(inputs):
    server = socket.create_server(("localhost", 0))
    threading.Thread(target=lambda: server.accept()[0].sendall(b"heard"), daemon=True).start()
    client = socket.create_connection(("localhost", server.getsockname()[1]), timeout=5)
    try:
        socket.getaddrinfo("example.org", 80)
        outside = "resolved"
    except OSError as error:
        outside = type(error).__name__
    return {"status": "PASS", "metrics": {
        "heard": client.recv(5).decode(), "first": socket.getaddrinfo("localhost", 80)[0][4][0],
        "interfaces": os.listdir("/sys/class/net"), "outside": outside,
        "written": os.path.getsize("/etc/hosts") > 0, "name": socket.gethostname(),
    }}
"""


async def config_of(labels, *, six=False, **plan):
    plan = {"evaluator": True, **plan}
    async with MemoryEngine() as engine:
        engine.images.add("i", labels=labels)
        blueprint = Blueprint(name="h", image="i", limits=Limits(), tmpfs_mb=16, **plan)
        spec = blueprint.container(
            image=await engine.image("i"), users=Users.fresh(), labels={}, workspace_bytes=0
        )
    return container_config(spec, default_runtime="runc", loopback_six=six)


@pytest.mark.parametrize(("labels", "made"), [({"scorehost.names": "own"}, False), ({}, True)])
async def test_the_engine_makes_no_network_only_for_an_image_that_says_that_it_resolves_localhost(
    labels, made
):
    config = await config_of(labels)
    assert config["NetworkDisabled"] is not made
    assert config["HostConfig"]["NetworkMode"] == "none"


@pytest.mark.parametrize(
    ("plan", "made"),
    [
        ({"evaluator": True}, False),
        ({"evaluator": False, "gold": True}, False),
        ({"evaluator": False, "gold": False}, True),
    ],
)
async def test_where_there_is_no_gold_every_program_finds_localhost_in_a_file(plan, made):
    config = await config_of({"scorehost.names": "own"}, **plan)
    assert config["NetworkDisabled"] is not made
    assert config["HostConfig"]["ExtraHosts"] == (["host:127.0.0.1"] if made else [])


@pytest.mark.parametrize("six", [True, False])
async def test_the_file_that_the_engine_writes_is_true_and_asks_nobody_for_long(six):
    config = (await config_of({}, six=six))["HostConfig"]
    assert config["ExtraHosts"] == ["host:127.0.0.1"]
    assert config["Sysctls"] == ({"net.ipv6.conf.all.disable_ipv6": "0"} if six else {})
    assert config["DnsOptions"] == ["timeout:1", "attempts:1", "ndots:0"]


async def test_a_run_phase_with_a_network_has_it_whatever_its_image_says():
    config = await config_of({"scorehost.names": "own"}, producer=True, network="models")
    assert (config["NetworkDisabled"], config["HostConfig"]["NetworkMode"]) == (False, "models")


@pytest.mark.docker
@pytest.mark.parametrize("label", ["own", "engine"])
async def test_localhost_is_reached_by_its_name_and_nothing_else_is(tmp_path, job_id, label):
    root = write_task(tmp_path / "d", TALKS)
    recipe = root / "tasks" / "t" / "environment" / "evaluate.Dockerfile"
    recipe.parent.mkdir()
    recipe.write_text(f"FROM {IMAGE}\nLABEL scorehost.names={label}\n")
    async with open_engine() as engine:
        made = await score_one(engine, root, write_submission(tmp_path / "s"), job_id, tmp_path / "runs")
    assert made.result.status == "PASS", (made.result.error, made.log)
    assert made.result.metrics == {
        "heard": "heard",
        "first": "127.0.0.1",
        "interfaces": ["lo"],
        "outside": "gaierror",
        "written": label == "engine",
        "name": "host",
    }

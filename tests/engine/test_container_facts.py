"""What holds in every container, seen from inside, whatever its image says."""

from __future__ import annotations

import io
import re
import secrets
import tarfile

import anyio
import docker
import pytest
from contract_kit import IMAGE, MIB, USER, exit_code, read_all, tar_of

from scorehost.engine.door import Tmpfs
from scorehost.engine.endpoint import resolve
from scorehost.errors import EngineRefused, EngineTimeout

pytestmark = [pytest.mark.anyio, pytest.mark.docker]

HOSTILE = f"""FROM {IMAGE}
ENV LEAK=from-the-image KEEP=yes PYTHONPATH=/evil
RUN mkdir -p /attempt/artifacts /data && echo planted > /attempt/artifacts/planted
RUN chmod -R 777 /attempt /data
VOLUME /data
WORKDIR /data
USER 1234
HEALTHCHECK CMD true
ENTRYPOINT ["false"]
"""


@pytest.fixture
def tag():
    """A tag of the test's own; its image goes when the test ends."""
    name = f"scorehost-test/{secrets.token_hex(8)}:1"
    yield name
    client = docker.APIClient(resolve(None).url, version="1.41")
    try:
        client.remove_image(name, force=True)
    except docker.errors.ImageNotFound:
        return
    finally:
        client.close()


def context_of(tmp_path, recipe):
    path = tmp_path / "context.tar"
    path.write_bytes(tar_of({"Dockerfile": recipe.encode()}))
    return path


async def build(engine, tmp_path, tag, recipe, timeout=120.0):  # noqa: ASYNC109 - handed on
    await engine.build(
        context_of(tmp_path, recipe),
        dockerfile="Dockerfile",
        tag=tag,
        labels={"scorehost.recipe": "test"},
        log=tmp_path / "build.log",
        timeout=timeout,
    )


async def run(engine, spec, script):
    container = await engine.create(spec)
    async with engine.attach(container) as stream:
        await engine.start(container)
        argv = ["sh", "-c", script]
        made = await engine.exec_create(container, argv, user=USER, env={}, workdir="/", stdin=False)
        async with engine.exec_start(made) as output:
            found = await read_all(output)
        code = await exit_code(engine, made)
        await engine.kill(container)
        await read_all(stream)
    return code, found["stdout"].decode(), found["stderr"].decode()


async def test_a_container_has_no_rights_no_network_and_its_limits(docker_engine, make_real_spec):
    places = (Tmpfs("/tmp", 4 * MIB, 1024), Tmpfs("/out", MIB, 64, 0o700, USER, executable=True))
    spec = make_real_spec(tmpfs=places)
    script = (
        "grep -E 'Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|^Uid|^Gid' /proc/self/status;"
        "ls /sys/class/net; hostname;"
        "cat /etc/resolv.conf; ulimit -n; ulimit -c; ulimit -l; grep msgqueue /proc/self/limits;"
        "touch /root-is-writable; touch /attempt/volume-is-writable; touch /out/ok && echo out-ok;"
        "grep -E ' (/|/tmp|/out|/dev/shm) ' /proc/mounts; tr '\\0' ' ' < /proc/1/cmdline"
    )
    _, out, err = await run(docker_engine, spec, script)
    assert re.findall(r"Cap\w+:\s+(\w+)", out) == ["0" * 16] * 5
    assert re.search(r"NoNewPrivs:\s+1", out)
    assert re.search(rf"Uid:\s+{USER}\s+{USER}\s+{USER}\s+{USER}", out)
    assert re.search(r"\nlo\nhost\n", out)
    assert set(re.findall(r"nameserver (\S+)", out)) <= {"127.0.0.1"}
    assert re.search(r"\n1024\n0\n0\n", out)
    assert re.search(r"Max msgqueue size\s+0\s+0", out)
    assert "root-is-writable" in err
    assert "volume-is-writable" in err
    assert "out-ok" in out
    mounts = {row.split()[1]: row.split()[3].split(",") for row in out.splitlines() if row.count(" ") == 5}
    assert "ro" in mounts["/"]
    assert {"nosuid", "nodev", "noexec", "size=4096k", "nr_inodes=1024"} <= set(mounts["/tmp"])
    assert {"nosuid", "nodev", "size=1024k", "nr_inodes=64", "mode=700", f"uid={USER}"} <= set(mounts["/out"])
    assert "noexec" not in mounts["/out"]
    assert "size=16384k" in mounts["/dev/shm"]
    assert "init" in out.splitlines()[-1]


async def test_limits_and_settings_reach_the_engine(docker_engine, make_real_spec):
    container = await docker_engine.create(make_real_spec(cpus=0.5))
    client = docker.APIClient(resolve(None).url, version="1.41")
    config = client.inspect_container(container)
    client.close()
    host = config["HostConfig"]
    assert host["Memory"] == host["MemorySwap"] == 128 * MIB
    assert (host["NanoCpus"], host["PidsLimit"], host["OomScoreAdj"]) == (500_000_000, 64, 500)
    assert (host["LogConfig"]["Type"], host["Runtime"], host["NetworkMode"]) == ("none", "runc", "none")
    assert (host["IpcMode"], host["CgroupnsMode"], host["Init"]) == ("private", "private", True)
    assert not host["Binds"]
    assert not host["Devices"]


async def test_nothing_that_an_image_says_matters(docker_engine, make_real_spec, tmp_path, tag):
    await build(docker_engine, tmp_path, tag, HOSTILE)
    image = await docker_engine.image(tag)
    assert image.env["LEAK"] == "from-the-image"
    assert image.volumes == ("/data",)
    assert image.labels["scorehost.recipe"] == "test"
    spec = make_real_spec(
        image=image.id,
        cleared_env=("LEAK", "PYTHONPATH", "GIVEN"),
        tmpfs=(Tmpfs("/tmp", MIB, 64), Tmpfs("/data", MIB, 64, 0o755)),
    )
    _, out, _ = await run(docker_engine, spec, "env; echo --; ls -A /attempt /data; touch /data/x; id -u")
    env = out.partition("--")[0].splitlines()
    assert not any(line.startswith(("LEAK", "PYTHONPATH")) for line in env)
    assert "KEEP=yes" in env
    assert "GIVEN=1" in env  # what is given wins over what is cleared
    assert "planted" not in out
    assert out.splitlines()[-1] == str(USER)
    client = docker.APIClient(resolve(None).url, version="1.41")
    config = client.inspect_container(spec.name)
    client.close()
    assert config["Config"]["Healthcheck"] == {"Test": ["NONE"]}
    assert "Health" not in config["State"]


async def test_a_proxy_of_the_docker_configuration_reaches_no_container(
    docker_engine, make_real_spec, monkeypatch
):
    monkeypatch.setenv("HTTP_PROXY", "http://user:hunter2@127.0.0.1:9")
    _, out, _ = await run(docker_engine, make_real_spec(), "env")
    assert "proxy" not in out.lower()
    assert "hunter2" not in out


async def test_a_failing_build_shows_its_last_lines_and_leaves_its_log(docker_engine, tmp_path, tag):
    recipe = f"FROM {IMAGE}\nRUN for i in $(seq 40); do echo line-$i-; done; echo broken-here >&2; exit 7\n"
    with pytest.raises(EngineRefused) as refused:
        await build(docker_engine, tmp_path, tag, recipe)
    assert refused.value.status == 0
    assert "broken-here" in refused.value.message
    assert "returned a non-zero code: 7" in refused.value.message
    assert "line-40-" in refused.value.message
    assert "line-20-" not in refused.value.message
    log = tmp_path / "build.log"
    assert "line-20-" in log.read_text()
    assert log.stat().st_mode & 0o777 == 0o600


async def test_a_recipe_that_cannot_be_read_is_refused_with_the_engines_words(docker_engine, tmp_path, tag):
    with pytest.raises(EngineRefused, match="unknown instruction") as refused:
        await build(docker_engine, tmp_path, tag, "NONSENSE\n")
    assert refused.value.status == 0


async def test_a_build_that_hangs_ends_at_its_limit_and_so_does_its_container(docker_engine, tmp_path, tag):
    marker = secrets.token_hex(8)
    recipe = f"FROM {IMAGE}\nRUN echo begun-{marker}; sleep 300\n"
    with pytest.raises(EngineTimeout, match=r"build\.log"):
        await build(docker_engine, tmp_path, tag, recipe, timeout=10.0)
    assert f"begun-{marker}" in (tmp_path / "build.log").read_text()
    client = docker.APIClient(resolve(None).url, version="1.41")
    for _ in range(50):
        left = [row for row in client.containers(all=True) if marker in row["Command"]]
        if not left:
            break
        await anyio.sleep(0.1)
    for row in left:
        client.remove_container(row["Id"], force=True)
    client.close()
    assert left == []


async def test_a_registry_that_cannot_be_reached_is_told_in_its_own_words(docker_engine):
    with pytest.raises(EngineRefused, match="refused") as refused:
        await docker_engine.pull("127.0.0.1:9/none/such:1")
    assert "does not reach the registry" in refused.value.hint


async def test_a_large_archive_is_never_held_in_memory(docker_engine, make_real_spec, tmp_path):
    path = tmp_path / "big.tar"
    size = 200 * MIB
    info = tarfile.TarInfo("big")
    info.size = size
    with path.open("wb") as file:
        file.write(info.tobuf())
        file.truncate(512 + size + 10_240)
    container = await docker_engine.create(make_real_spec())
    before = peak_kib()
    await docker_engine.upload(container, "/attempt", path)
    assert peak_kib() - before < 20 * 1024
    await docker_engine.start(container)
    made = await docker_engine.exec_create(
        container, ["wc", "-c", "/attempt/big"], user=USER, env={}, workdir="/", stdin=False
    )
    async with docker_engine.exec_start(made) as stream:
        assert (await read_all(stream))["stdout"].split()[0] == str(size).encode()


def peak_kib() -> int:
    with open("/proc/self/status") as file:  # noqa: PTH123 - procfs
        return int(re.search(r"VmHWM:\s+(\d+)", file.read())[1])


def test_the_archive_helper_makes_what_tar_reads():
    with tarfile.open(fileobj=io.BytesIO(tar_of({"a/b": b"c"}))) as tar:
        assert tar.getnames() == ["a", "a/b"]

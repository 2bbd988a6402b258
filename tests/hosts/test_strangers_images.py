"""Images as others made them, in every place where a task can put one, on the real engine.

Each cell works, or says before the evaluator is told anything which image cannot be used, and why.
"""

from __future__ import annotations

import platform

import pytest
import strangers_images as made

from scorehost.api.probing import probe
from scorehost.spec.loading import load_dataset
from trial import IMAGE, write_task

pytestmark = [pytest.mark.docker, pytest.mark.anyio]
SMALL = {"memory_mb": 64}


@pytest.fixture(scope="module")
def images(workshop):
    """The images by a short name."""
    files = {"names.c": made.LOOKS_UP}
    programs = ("bin/sleep", "bin/true", "usr/bin/python3")
    return {
        "debian": IMAGE,
        "busybox": workshop.build(made.BUSYBOX, files),
        "musl": workshop.build(made.MUSL, files),
        "settings": workshop.build(made.SETTINGS),
        "no_python": workshop.build(made.NO_PYTHON),
        "roots_python": workshop.build(made.ROOTS_PYTHON),
        "linked": workshop.build(made.LINKED),
        "closed": workshop.build(made.CLOSED),
        "arm": workshop.loaded(dict.fromkeys(programs, made.arm_program()), architecture="arm64"),
    }


NAMED = ("debian", "busybox", "musl", "settings", "no_python", "roots_python")
WRITES = "for place in /tmp /attempt/output /scratch; do echo x >$place/file || exit 1; done; echo written"
ASK = f"""
def evaluate(inputs):
    run = inputs["scoring"].exec
    told_all = {{}}
    for name in {NAMED!r}:
        told_all[name] = told(run(name, ["/bin/sh", "-c", {WRITES!r}]))
    told_all["data"] = told(run("settings", ["/bin/sh", "-c", "echo x >/data/f && echo x >/srv/work/f"]))
    told_all["user"] = told(run("settings", ["python3", "-c", "import getpass; print(getpass.getuser())"]))
    told_all["me"] = told(run("known", ["whoami"]))
    told_all["old"] = told(run("settings", ["/bin/old"]))
    told_all["names"] = told(run("musl", ["/bin/names", "localhost", "host", "nowhere"]))
    told_all["python"] = told(run("roots_python", ["python3", "-c", "1"]))
    told_all["script"] = told(run("debian", ["/attempt/artifacts/answer.txt"]))
    return passed(**told_all)
"""


async def test_every_image_that_can_wait_is_a_named_host_that_programs_can_write_in(scoring, images):
    environments = {
        name: {"docker_image": images[name], "tmpfs_mb": 4, "scratch": ["/scratch"], "gold": False}
        for name in NAMED
    }
    environments["settings"]["scratch"] = ["/scratch", "/srv/work"]
    environments["known"] = {**environments["settings"], "scratch": ["/scratch", "/srv/work"], "user": 1234}
    scored = await scoring(
        ASK,
        submission={"artifacts/answer.txt": "#!/bin/sh\r\necho never\r\n"},
        limits=SMALL,
        evaluation={"tmpfs_mb": 4, "environments": environments},
    )
    assert scored.result.status == "PASS", (scored.result.error, scored.log[-2000:])
    found = scored.result.metrics
    assert {name: found[name]["stdout"] for name in NAMED} == dict.fromkeys(NAMED, "written\n")
    assert (found["data"]["exit_code"], found["data"]["stderr"]) == (0, "")
    assert found["user"]["stdout"] == "scorehost\n"
    assert found["me"]["stdout"] == "me\n"
    if platform.machine() == "x86_64":
        assert (found["old"]["exit_code"], found["old"]["timed_out"]) == (159, False)
        assert any("32-bit" in text for text in scored.result.warnings)
    local, host, nowhere = found["names"]["stdout"].splitlines()
    assert {"localhost", "0", "127.0.0.1", "::1"} == set(local.split())
    assert host == "host 0 127.0.0.1"
    assert nowhere == "nowhere 0"
    assert found["python"]["exit_code"] in (126, 127)
    assert found["script"]["exit_code"] in (126, 127)
    cleared = [text for text in scored.result.warnings if "no host takes over" in text]
    assert len(cleared) == len(["settings", "known"])
    assert all("LD_LIBRARY_PATH, PYTHONPATH, which" in text for text in cleared)


BESIDE = """
def evaluate(inputs):
    import getpass, os, socket
    for place in ("/tmp", "/attempt/output", *PLACES):
        open(place + "/own", "w").close()
    beside = None
    if SINGLE:
        line = "for place in /tmp PLACES; do echo x >$place/beside || exit 1; done"
        beside = told(inputs["scoring"].exec(None, ["sh", "-c", line.replace("PLACES", " ".join(PLACES))]))
    return passed(beside=beside, user=getpass.getuser(), path=os.environ.get("LD_LIBRARY_PATH"),
                  local=socket.gethostbyname("localhost"), host=socket.gethostbyname("host"))
"""


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("name", ["debian", "settings"])
async def test_an_image_with_python_runs_the_evaluator_and_programs_beside_it(scoring, images, single, name):
    places = ("/data",) if name == "settings" else ()
    image = images[name]
    keys = {"docker_image": image} if single else in_map(image)
    metrics = await scoring.passing(
        BESIDE.replace("SINGLE", str(single))
        .replace("*PLACES", repr(places)[1:-1].strip(",") or "'/tmp'")
        .replace("PLACES))", f"{places!r}))"),
        limits=SMALL,
        evaluation={"tmpfs_mb": 4, "env": {"LD_LIBRARY_PATH": "/usr/lib"}, **keys},
    )
    assert metrics["beside"] is None or (metrics["beside"]["exit_code"], metrics["beside"]["stderr"]) == (
        0,
        "",
    )
    assert (metrics["user"], metrics["path"]) == ("scorehost", "/usr/lib")
    assert metrics["local"] == "127.0.0.1"
    assert metrics["host"].startswith("127.")


def in_map(image):
    return {"environments": {"box": {"docker_image": image}}, "evaluator_environment": "box"}


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("busybox", ("python3",)),
        ("musl", ("python3",)),
        ("no_python", ("python3",)),
        ("roots_python", ("python3",)),
        ("linked", ("has a link to /elsewhere at /attempt",)),
        ("closed", ("has a folder /closed with mode 0555",)),
        ("arm", ("for linux/arm64", "the engine's machine is linux/")),
    ],
)
async def test_an_image_that_cannot_run_the_evaluator_says_why(scoring, images, single, name, words):
    scored = await scoring(
        "def evaluate(inputs):\n    return passed()\n",
        limits=SMALL,
        evaluation={
            "tmpfs_mb": 4,
            **({"docker_image": images[name]} if single else in_map(images[name])),
        },
    )
    unusable(scored, images[name], words)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("linked", ("has a link to /elsewhere at /attempt",)),
        ("closed", ("has a folder /closed with mode 0555",)),
        ("arm", ("for linux/arm64", "the engine's machine is linux/")),
    ],
)
async def test_an_image_that_cannot_be_a_named_host_says_why(scoring, images, name, words):
    scored = await scoring(
        "def evaluate(inputs):\n    inputs['scoring'].exec('box', ['true'])\n    return passed()\n",
        limits=SMALL,
        evaluation={"tmpfs_mb": 4, "environments": {"box": {"docker_image": images[name]}}},
    )
    unusable(scored, images[name], words)


def unusable(scored, image, words):
    error = scored.result.error
    assert (scored.kind, error.phase.value, error.blame.value) == ("image_unusable", "start", "environment")
    assert image in error.message
    assert all(word in error.message for word in words), error.message


async def test_check_asks_the_machine_whether_it_runs_an_image_for_another_platform(images, tmp_path):
    root = write_task(
        tmp_path / "d", "def evaluate(inputs): pass\n", evaluation={"docker_image": images["arm"]}
    )
    load_dataset(root)
    (problem,) = [each for each in await probe(root) if images["arm"] in each.text]
    assert problem.level == "problem"
    assert "is for linux/arm64, and the engine's machine is linux/" in problem.text


async def test_a_folder_that_an_image_leaves_open_is_closed_before_the_evaluators_files_lie_in_it(
    scoring, workshop
):
    image = workshop.build(f"FROM {IMAGE}\nRUN mkdir -m 777 /attempt\n")
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    line = "mv /attempt/task /attempt/other; mkdir /attempt/new; ls /attempt; stat -c %a /attempt"
    return passed(beside=told(inputs["scoring"].exec(None, ["sh", "-c", line])))
""",
        limits=SMALL,
        evaluation={"tmpfs_mb": 4, "docker_image": image},
    )
    *names, mode = metrics["beside"]["stdout"].split()
    assert "task" in names
    assert not {"other", "new"} & set(names)
    assert mode == "755"

"""Images that bring settings, content or gaps of their own, on the real engine."""

from __future__ import annotations

import json
import time

import pytest

from trial import IMAGE

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

ODD = f"""FROM {IMAGE}
RUN mkdir -p /attempt/artifacts /attempt/task /attempt/evaluation /attempt/.scorehost /data /evil \\
 && echo planted > /attempt/artifacts/planted && echo planted > /attempt/json.py \\
 && echo 'raise SystemExit(9)' > /attempt/task/evaluator.py && echo planted > /data/planted \\
 && echo 'raise SystemExit(9)' > /evil/json.py && chmod -R 777 /attempt /data
VOLUME ["/attempt/artifacts", "/attempt/extra", "/data", "/tmp", "/var/cache/../odd"]
WORKDIR /evil
USER 1234:1234
ENV PYTHONPATH=/evil PYTHONHOME=/evil LD_PRELOAD=/evil/no.so BASH_ENV=/evil/x
ENV HTTP_PROXY=http://192.0.2.1 OWN=kept
HEALTHCHECK --interval=1s CMD touch /tmp/health
ENTRYPOINT ["/bin/false"]
CMD ["nothing"]
"""

LOOK = r"""
import json, os
writable = []
memory = {"tmpfs", "proc", "sysfs", "cgroup", "cgroup2", "mqueue", "devpts"}
for line in open("/proc/self/mountinfo"):
    left, _, right = line.partition(" - ")
    target, kind = left.split()[4], right.split()[0]
    if kind in memory or not os.path.isdir(target): continue
    device = os.lstat(target).st_dev
    for folder, folders, _ in os.walk(target):
        if os.lstat(folder).st_dev != device:
            folders[:] = []
            continue
        try: open(os.path.join(folder, ".probe"), "w").close()
        except OSError: continue
        writable.append([folder, kind])
def written(path):
    try: open(path + "/w", "w").close()
    except OSError as error: return error.errno
    return "ok"
print(json.dumps({
    "writable": writable, "uid": os.getuid(), "cwd": os.getcwd(), "env": dict(os.environ),
    "artifacts": sorted(os.listdir("/attempt/artifacts")), "attempt": sorted(os.listdir("/attempt")),
    "data": written("/data"), "extra": written("/attempt/extra"), "odd": written("/var/odd"),
    "tmp": sorted(os.listdir("/tmp")), "planted": os.listdir("/data"),
}))
"""


@pytest.fixture(scope="module")
def odd(workshop):
    return workshop.build(ODD)


async def test_nothing_that_an_image_brings_matters(scoring, odd):
    metrics = await scoring.passing(
        f"""
import subprocess, sys
LOOK = {LOOK!r}
def evaluate(inputs):
    own = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True)
    named = inputs["scoring"].exec("work", ["python3", "-c", LOOK])
    print(own.stderr, named.stderr)
    import json
    assert hasattr(json, "dumps") and json.dumps([]) == "[]"
    return passed(own=own.stdout, named=named.stdout)
""",
        limits={"memory_mb": 64},
        evaluation={
            "tmpfs_mb": 16,
            "environments": {"work": {"docker_image": odd, "tmpfs_mb": 16}},
            "evaluator_environment": "work",
        },
    )
    for name, text in metrics.items():
        seen = json.loads(text)
        assert seen["writable"] == [], name
        assert seen["uid"] >= 1 << 20
        assert seen["cwd"] == "/attempt"
        assert seen["artifacts"] == ["answer.txt"]
        assert "json.py" not in seen["attempt"]
        assert seen["planted"] in ([], ["w"])
        assert (seen["data"], seen["extra"], seen["odd"]) == ("ok", "ok", "ok"), "a VOLUME is memory"
        assert "health" not in seen["tmp"]
        assert seen["env"]["OWN"] == "kept"
        gone = {"PYTHONPATH", "PYTHONHOME", "LD_PRELOAD", "BASH_ENV", "HTTP_PROXY"}
        assert not gone & set(seen["env"])


@pytest.fixture(scope="module")
def bare(workshop):
    """An image that holds `sleep` and what it needs, and nothing else."""
    return workshop.build(f"""FROM {IMAGE} AS base
RUN mkdir -p /only/bin && cp /bin/sleep /only/bin/ \\
 && for f in $(ldd /bin/sleep | grep -o '/[^ )]*'); do mkdir -p /only$(dirname $f); cp -L $f /only$f; done
FROM scratch
COPY --from=base /only /
""")


@pytest.fixture(scope="module")
def sleepless(workshop):
    return workshop.build(f"FROM {IMAGE}\nRUN rm /bin/sleep\n")


async def test_an_evaluators_image_without_python_is_unusable_and_says_so(scoring, bare):
    scored = await scoring(
        "def evaluate(inputs): return passed()\n",
        limits={"memory_mb": 64},
        evaluation={"tmpfs_mb": 16, "docker_image": bare},
    )
    assert scored.kind == "image_unusable"
    assert bare in scored.result.error.message
    assert "no python3" in scored.result.error.message
    assert (scored.result.error.phase.value, scored.result.error.blame.value) == ("start", "environment")


# What is wrong with the image, and what is said of its `sleep` and its python3.
BROKEN = {
    # An ELF file of a machine that no kernel knows: what execs it takes it for a script.
    "sleep for another machine": (
        """RUN python3 -c "d = bytearray(open('/bin/sleep', 'rb').read()); d[18:20] = bytes((52, 18)); \
open('/bin/sleep', 'wb').write(d)"
""",
        "`sleep`",
        "made for another machine",
    ),
    "sleep broken": (
        "RUN printf '#!/bin/sh\\nexit 7\\n' > /bin/sleep",
        "`sleep`",
        "ends at once with exit status 7",
    ),
    "python closed to all but root": (
        """RUN mkdir -m 0700 /closed && mv "$(readlink -f "$(which python3)")" /closed/python \
 && ln -sf /closed/python /usr/bin/python3
""",
        "python3",
        "cannot run submitted functions",
    ),
    "python that does not begin": (
        """RUN printf '#!/bin/sh\\necho no library >&2; exit 3\\n' > /new && chmod 755 /new \
 && mv -f /new "$(which python3)"
""",
        "python3",
        "exit status 3: no library",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_an_image_that_cannot_do_its_part_is_unusable_and_no_evaluator_is_told(
    scoring, own_label, case
):
    line, program, words = BROKEN[case]
    scored = await scoring(
        """
from scorehost_sdk import untrusted
def evaluate(inputs):
    try: return passed(value=untrusted(inputs["scoring"], "work", inputs["artifacts"]["answer"], "f")(1))
    except BaseException as error: print("told:", repr(error), flush=True); raise
""",
        files={"environment/evaluate/work/Dockerfile": f"FROM {IMAGE}\nLABEL {own_label}\n{line}\n"},
        limits={"memory_mb": 64},
        evaluation={
            "tmpfs_mb": 16,
            "environments": {
                "work": {
                    "dockerfile": "environment/evaluate/work/Dockerfile",
                    "gold": False,
                    "tmpfs_mb": 16,
                }
            },
        },
    )
    error = scored.result.error
    assert (scored.kind, error.blame.value, error.retryable) == ("image_unusable", "environment", False)
    assert program in error.message
    assert words in error.message
    assert "environment/evaluate/work/Dockerfile" in error.message
    assert scored.log == b""


async def test_python_that_may_not_be_run_and_python_that_is_not_there_have_texts_of_their_own(
    scoring, workshop
):
    closed = workshop.build(f'FROM {IMAGE}\nRUN chmod 0700 "$(readlink -f "$(which python3)")"\n')
    scored = await scoring(
        "def evaluate(inputs): return passed()\n",
        limits={"memory_mb": 64},
        evaluation={"tmpfs_mb": 16, "docker_image": closed},
    )
    assert scored.kind == "image_unusable"
    assert f"python3 of the image {closed} may not be run" in scored.result.error.message


async def test_a_bare_named_image_can_be_used_for_what_it_has(scoring, work, bare):
    metrics = await scoring.passing(
        """
def evaluate(inputs):
    s = inputs["scoring"]
    return passed(slept=told(s.exec("work", ["sleep", "0"])), missing=told(s.exec("work", ["python3"])))
""",
        **work(docker_image=bare),
    )
    assert metrics["slept"]["exit_code"] == 0
    assert metrics["missing"]["exit_code"] in (126, 127)
    assert not metrics["missing"]["host_lost"]


@pytest.mark.parametrize(
    "use", ["exec('work', ['true'])", "open('work', ['true'])", "reset('work'); s.exec('work', ['true'])"]
)
async def test_a_named_image_without_sleep_is_unusable_and_says_so(scoring, work, sleepless, use):
    scored = await scoring(
        f"def evaluate(inputs):\n    s = inputs['scoring']\n    s.{use}\n    return passed()\n",
        **work(docker_image=sleepless),
    )
    assert scored.kind == "image_unusable"
    assert sleepless in scored.result.error.message
    assert "`sleep`" in scored.result.error.message
    assert scored.result.error.blame.value == "environment"


async def test_an_image_of_scorehost_that_is_missing_is_never_pulled(scoring, work):
    begun = time.monotonic()
    scored = await scoring(
        "def evaluate(inputs):\n    inputs['scoring'].exec('work', ['true'])\n",
        **work(docker_image="scorehost/not-made:1"),
    )
    assert scored.kind == "image_missing"
    assert "scorehost/not-made:1" in scored.result.error.message
    assert "make images" in scored.result.error.hint
    assert time.monotonic() - begun < 10


async def test_an_image_that_cannot_be_pulled_says_the_registrys_words(scoring, work):
    # Nothing listens on this port of this machine, so nothing leaves it.
    scored = await scoring(
        "def evaluate(inputs):\n    inputs['scoring'].exec('work', ['true'])\n",
        **work(docker_image="localhost:9/nothing:1"),
    )
    assert scored.kind == "image_pull_failed"
    message = scored.result.error.message
    assert message.startswith("The image localhost:9/nothing:1 cannot be pulled: ")
    assert "connection refused" in message
    assert message.count("pull") == 1  # said once: the cause must come before a table's edge
    assert scored.result.error.blame.value == "environment"


@pytest.mark.parametrize(
    ("line", "cause", "last"),
    [
        (
            "RUN echo told-before-the-end && exit 3",
            "returned a non-zero code: 3",
            "\n    told-before-the-end",
        ),
        ("COPY not-there /", "not-there", ""),
        ("RUN exit 137", "137: it was killed, perhaps since the engine's machine ran out of memory", ""),
    ],
)
async def test_a_recipe_that_does_not_build_says_why_and_then_its_last_lines(
    scoring, own_label, line, cause, last
):
    recipe = f"FROM {IMAGE}\nLABEL {own_label}\n{line}\n"
    scored = await scoring(
        "def evaluate(inputs):\n    inputs['scoring'].exec('work', ['true'])\n",
        files={"environment/evaluate/place/Dockerfile": recipe},
        limits={"memory_mb": 64},
        evaluation={
            "tmpfs_mb": 16,
            "environments": {"work": {"dockerfile": "environment/evaluate/place/Dockerfile", "tmpfs_mb": 16}},
        },
    )
    assert scored.kind == "image_build_failed"
    first, _, rest = scored.result.error.message.partition("\n")
    assert "environment/evaluate/place/Dockerfile does not build: " in first
    assert cause in first
    assert "scorehost/built" not in first  # a name that nobody gave, where the reason has to fit
    assert last in f"\n{rest}"
    assert ".log" in scored.result.error.hint


async def test_a_recipe_that_hangs_ends_at_its_own_limit(scoring, own_label, job_id):
    recipe = f"FROM {IMAGE}\nLABEL {own_label}\nRUN echo {job_id} && sleep 300\n"
    scored = await scoring(
        "def evaluate(inputs):\n    inputs['scoring'].exec('work', ['true'])\n",
        files={"environment/evaluate/place/Dockerfile": recipe},
        limits={"memory_mb": 64, "build_seconds": 2},
        evaluation={
            "tmpfs_mb": 16,
            "environments": {"work": {"dockerfile": "environment/evaluate/place/Dockerfile", "tmpfs_mb": 16}},
        },
    )
    assert scored.kind == "image_build_failed"
    assert "within 2 s" in scored.result.error.message

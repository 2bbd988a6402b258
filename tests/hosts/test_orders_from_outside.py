"""What somebody else has the engine do to a host is the environment's, whatever ran there; real engine."""

from __future__ import annotations

import anyio
import pytest

pytestmark = [pytest.mark.docker, pytest.mark.anyio]

SMALL = {"limits": {"memory_mb": 64}, "evaluation": {"tmpfs_mb": 16}}
KILL, STOP, REMOVE, RESTART = (
    ("kill",),
    ("stop", "--time", "1"),
    ("rm", "--force"),
    ("restart", "--time", "1"),
)
PAUSE = ("pause",)
# Every way in which an evaluator may notice, or not, that its host has gone.
DURING = {
    "an exec": 's.exec("work", ["sh", "-c", "echo said; sleep 60"])',
    "an open process": 'p = s.open("work", ["sleep", "60"]); p.wait()',
    "two execs": 's.exec("work", ["true"]); time.sleep(2); s.exec("work", ["true"])',
}


async def during(scoring, host, words, evaluator, **spec):
    """An attempt while which somebody gives an order, told within a time in which no limit runs out."""
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: scoring.order(host, *words, after=0.8))
        with anyio.fail_after(40):
            return await scoring(evaluator, **spec)


def of_the_environment(scored):
    error = scored.result.error
    assert error is not None, (scored.result.status, scored.result.metrics, scored.log)
    assert (error.kind, error.blame.value, error.retryable) == ("host_lost", "environment", True), error
    assert error.phase.value == "evaluate"
    assert "somebody else" in error.message or "was removed" in error.message


@pytest.mark.parametrize("words", [STOP, REMOVE, RESTART], ids=lambda words: words[0])
async def test_an_order_to_a_named_host_that_runs_a_program_is_the_environments(scoring, work, words):
    scored = await during(
        scoring,
        "work",
        words,
        f'def evaluate(inputs):\n    s = inputs["scoring"]\n    {DURING["an exec"]}\n    return passed()\n',
        **work(),
    )
    of_the_environment(scored)
    assert "the host work" in scored.result.error.message


@pytest.mark.parametrize("use", ["an open process", "two execs"])
async def test_an_order_to_a_named_host_is_the_environments_whatever_it_is_used_for(scoring, work, use):
    lines = ("import time", "def evaluate(inputs):", '    s = inputs["scoring"]', f"    {DURING[use]}")
    evaluator = "\n".join(lines) + "\n    return passed()\n"
    of_the_environment(await during(scoring, "work", KILL, evaluator, **work()))


async def test_an_exec_in_a_paused_host_did_not_run_out_of_its_time(scoring, work):
    evaluator = 'def evaluate(inputs):\n    inputs["scoring"].exec("work", ["sleep", "2"], timeout=3)\n'
    of_the_environment(await during(scoring, "work", PAUSE, evaluator, **work()))


@pytest.mark.parametrize("words", [STOP, REMOVE, RESTART, PAUSE], ids=lambda words: words[0])
async def test_an_order_to_the_evaluators_host_is_the_environments(scoring, words):
    evaluator = "import time\ndef evaluate(inputs):\n    time.sleep(60 if SLEEPS else 1)\n"
    spec = {**SMALL, "limits": {"memory_mb": 64, "evaluate_seconds": 3 if words == PAUSE else 60}}
    evaluator = evaluator.replace("SLEEPS", str(words != PAUSE))
    of_the_environment(await during(scoring, "evaluator", words, evaluator, **spec))


async def test_an_order_to_the_evaluators_host_is_the_environments_though_submitted_code_ran_there(scoring):
    evaluator = 'def evaluate(inputs):\n    inputs["scoring"].exec(None, ["sleep", "60"])\n'
    of_the_environment(await during(scoring, "evaluator", KILL, evaluator, **SMALL))

"""What a scoring host must not be able to do, tried from inside a real one, on every runtime there is."""

from __future__ import annotations

import pytest
from attack import ATTEMPTS, BESIDE, files, gold, kernel, network, processes  # noqa: F401 - they register at import

pytestmark = pytest.mark.docker

SCRATCH_OPTIONS = {"nosuid", "nodev", "noexec", "size", "nr_inodes"}


@pytest.fixture(autouse=True)
def nothing_left():
    """Asked once, where the attempts end (conftest), instead of after each look at what came of them."""


@pytest.mark.parametrize("name", list(ATTEMPTS))
def test_refused(found, name):
    said = {
        f"{runtime}/{place}": seen[place]["tried"].get(name, "was not tried")
        for runtime, seen in found.seen.items()
        for place in (*ATTEMPTS[name].places, *(["fed"] if BESIDE in ATTEMPTS[name].places else []))
    }
    assert said
    assert {where: text for where, text in said.items() if not text.startswith("refused: ")} == {}


def test_the_runtime_of_every_engine_was_attacked_and_others_say_why_not(found):
    assert "runc" in found.seen
    assert all(found.idle.values())


@pytest.mark.parametrize(
    ("what", "value"),
    [
        ("interfaces", ["lo"]),
        ("routes", []),
        ("foreign unix sockets", []),
        ("folders that take a new file", []),
        ("files that can be written", []),
        ("kernel files that can be written", []),
        ("devices", sorted(files.DEVICES)),
        ("groups", []),
        ("processes that are not of this host", []),
    ],
)
def test_seen_from_inside(found, what, value):
    assert {where: seen for where, seen in found.observed(what).items() if seen != value} == {}


def test_no_process_has_a_capability_and_each_has_a_filter(found):
    nothing = {"CapInh": 0, "CapPrm": 0, "CapEff": 0, "CapBnd": 0, "CapAmb": 0, "NoNewPrivs": 1, "Seccomp": 2}
    assert {where: seen for where, seen in found.observed("rights").items() if seen != nothing} == {}


def test_every_writable_place_is_memory_with_limits(found):
    for where, seen in found.observed("memory places and their limits").items():
        assert set(seen) == {"/tmp", "/dev/shm", "/attempt/output"}, where
        for place, options in seen.items():
            assert set(options) >= SCRATCH_OPTIONS, (where, place)


def test_gold_is_nowhere_in_a_host_without_it_and_the_search_finds_it_where_it_is(found):
    held = found.observed("places that hold gold")
    for where, places in held.items():
        if where.endswith("/named"):
            assert places == [], where
        else:
            assert places == ["/attempt/evaluation/gold.txt"], where
    for where, folders in found.observed("folders of the task").items():
        assert folders == ([] if where.endswith("/named") else ["evaluation", "task"])


def test_only_the_evaluators_own_user_is_the_user_of_the_first_process(found):
    for where, seen in found.observed("process 1 is not of this user").items():
        assert seen is not where.endswith("/evaluator"), where

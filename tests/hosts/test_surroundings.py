"""Variables of a host: what is set, what an image keeps, what is taken away and said."""

from __future__ import annotations

import pytest

from scorehost.hosts.surroundings import cleared, host_environment, missed


def made(image=(), own=(), **values):
    given = {"home": "/tmp", "cpus": 1.0, "named_user": False, "gold": True, **values}
    return host_environment(dict(own), dict(image), **given)


def test_a_user_without_a_name_of_its_own_has_one_that_programs_can_ask_for():
    assert {name: made()[name] for name in ("USER", "LOGNAME")} == {
        "USER": "scorehost",
        "LOGNAME": "scorehost",
    }


def test_a_user_that_the_task_names_may_have_a_name_in_the_image():
    assert not {"USER", "LOGNAME"} & set(made(named_user=True))


def test_what_an_image_or_a_task_says_stands_before_what_is_only_a_help():
    helps = {"USER": "node", "ASAN_OPTIONS": "abort_on_error=1", "LSAN_OPTIONS": "x=1"}
    assert not set(helps) & set(made(image=helps))
    assert made(own=helps)["ASAN_OPTIONS"] == "abort_on_error=1"


def test_leaks_are_not_looked_for_where_tracing_is_refused():
    assert (made()["ASAN_OPTIONS"], made()["LSAN_OPTIONS"]) == ("detect_leaks=0", "detect_leaks=0")


def test_git_takes_repositories_of_others_only_where_there_is_no_gold():
    free = {name: value for name, value in made(gold=False).items() if name.startswith("GIT_")}
    assert free == {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    assert not any(name.startswith("GIT_") for name in made(gold=True))


@pytest.mark.parametrize(
    ("name", "gone", "said"),
    [
        ("LD_LIBRARY_PATH", True, True),
        ("LD_PRELOAD", True, True),
        ("PYTHONPATH", True, True),
        ("PYTHONHOME", True, True),
        ("BASH_ENV", True, True),
        ("ENV", True, True),
        ("PYTHON_VERSION", True, False),
        ("PYTHONUNBUFFERED", True, False),
        ("PYTHONDONTWRITEBYTECODE", True, False),
        ("http_proxy", True, False),
        ("NO_PROXY", True, False),
        ("PATH", False, False),
        ("JAVA_HOME", False, False),
    ],
)
def test_what_is_taken_away_is_said_unless_no_program_can_miss_it(name, gone, said):
    assert (bool(cleared([name])), bool(missed([name], []))) == (gone, said)
    assert not missed([name], [name]), "the task sets it itself"

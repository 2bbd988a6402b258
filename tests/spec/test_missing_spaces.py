"""`key:value` without its space: told with line and column wherever YAML would take it for something else."""

from __future__ import annotations

import pytest

TEXT = "a space is missing after the colon"


@pytest.mark.parametrize(
    ("rest", "place", "hint"),
    [
        ("parameters: {tolerance:0.5}\n", "3:14: parameters", "`tolerance: 0.5`"),
        ("metadata: {difficulty:hard}\n", "3:12: metadata", "`difficulty: hard`"),
        ("metadata: {level: 1, difficulty:hard}\n", "3:22: metadata", "`difficulty: hard`"),
        ("parameters: {a: {b: [{c:d}]}}\n", "3:23: parameters.a.b[0]", "`c: d`"),
        ("parameters: {\n  a:1,\n  b: 2}\n", "4:3: parameters", "`a: 1`"),
        ("limits: {memory_mb:128}\n", "3:10: limits", "`memory_mb: 128`"),
        ("limits:\n  memory_mb:128\n", "4:3: limits", "`memory_mb: 128`"),
        ("parameters:\n  tolerance:0.5\n", "4:3: parameters", "`tolerance: 0.5`"),
        ("limits: memory_mb:128\n", "3:9: limits", "`memory_mb: 128`"),
        ("agent_profiles:\n  - id:judge\n", "4:5: agent_profiles[0]", "`id: judge`"),
        ("agent_profiles: [id:judge]\n", "3:18: agent_profiles[0]", "`id: judge`"),
        ("limits:\n  memory_mb:128\n  cpus: 1\n", "4:3:", "`memory_mb: 128`"),
        ("limits:\n  cpus: 1\n  memory_mb:128\n", "5:3:", "`memory_mb: 128`"),
        ("limits:\n  cpus: 1\n\n  # why\n  memory_mb:128\n  pids: 9\n", "7:3:", "`memory_mb: 128`"),
        ("weight:2\ntags: [a]\n", "3:1:", "`weight: 2`"),
        ("agent_profiles:\n  - id: a\n  - id:b\n    more: 1\n", "5:5:", "`id: b`"),
    ],
)
def test_a_missing_space_is_told_with_its_place(folder, rest, place, hint):
    folder.task(rest)
    problem = folder.problem()
    assert problem.startswith(f"tasks/one/task.yaml:{place}")
    assert TEXT in problem
    assert problem.endswith(f"Write {hint}")


@pytest.mark.parametrize(
    ("rest", "parameters"),
    [
        ('parameters: {"a:b"}\n', {"a:b": None}),
        ("parameters: {a:b: null}\n", {"a:b": None}),
        ("parameters: {a:b: 1}\n", {"a:b": 1}),
        ('parameters: {"a":1}\n', {"a": 1}),
        (
            "parameters: {url: http://x:80/y, image: python:3.12}\n",
            {"url": "http://x:80/y", "image": "python:3.12"},
        ),
        ("parameters:\n  image:\n    python:3.12\n", {"image": "python:3.12"}),
        ("parameters: {names: [a:b, c]}\n", {"names": ["a:b", "c"]}),
    ],
)
def test_a_colon_inside_of_a_text_or_a_quoted_key_stays(folder, rest, parameters):
    folder.task(rest)
    assert folder.load().tasks["one"].spec.parameters == parameters


@pytest.mark.parametrize(
    "rest",
    ["limits:\n\tmemory_mb: 128\n", "limits:\n  cpus: 1\n\tmemory_mb: 128\n", "parameters:\n- a\n\t- b\n"],
)
def test_a_tab_is_told_as_a_tab(folder, rest):
    folder.task(rest)
    assert "a tab where YAML wants spaces" in folder.problem()


def test_profiles_quote_no_value_in_it(folder):
    folder.write(
        "profiles.yaml", "format: scorehost.profiles/1\nevaluate_host: {docker_image:s3cret-value}\n"
    )
    problem = folder.problem()
    assert TEXT in problem
    assert "s3cret" not in problem

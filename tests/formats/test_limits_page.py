"""docs/limits.md has every number that bounds something: what can be set, and what is fixed."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from scorehost.model.limits import Limits
from scorehost.spec.dataset import DatasetFile, SubmissionCard
from scorehost.spec.profiles import EvaluateHost, Profiles, RunHost
from scorehost.spec.roles import Role
from scorehost.spec.task import Artifact, Evaluation, NamedEnvironment, TaskBody

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
KEYED = (
    (Limits, "limits."),
    (Artifact, "artifacts.publishable[]."),
    (Evaluation, "evaluation."),
    (NamedEnvironment, "evaluation.environments.NAME."),
    (TaskBody, ""),
    (Profiles, ""),
    (EvaluateHost, "evaluate_host."),
    (RunHost, "run_host."),
    (Role, "agent_profiles.ROLE."),
    (DatasetFile, ""),
    (SubmissionCard, ""),
)
# Lengths that only say that something has to be there.
EMPTY = 1


def script():
    spec = importlib.util.spec_from_file_location("limits_page", ROOT / "scripts" / "limits_page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bounds(field) -> set[float]:
    """The ends of what a field takes, of a union's members too; text that must not be empty has none."""
    marks = list(field.metadata)
    for member in getattr(field.annotation, "__args__", ()):
        marks += getattr(member, "__metadata__", ())
    marks += [inner for mark in marks for inner in getattr(mark, "metadata", ())]
    found = set()
    for mark in marks:
        for name in ("gt", "ge", "lt", "le", "max_length"):
            value = getattr(mark, name, None)
            if value is not None:
                found.add(float(value))
    return found


def spelled(number: float) -> set[str]:
    whole = f"{number:,.0f}" if number == int(number) else f"{number:,g}"
    units = {
        f"{number / size:,.0f} {unit}" for unit, size in (("KiB", 2**10), ("MiB", 2**20), ("GiB", 2**30))
    }
    return {whole} | units


def bounded():
    return [
        pytest.param(prefix + name, field, id=prefix + name)
        for model, prefix in KEYED
        for name, field in model.model_fields.items()
        if bounds(field)
    ]


@pytest.mark.parametrize(("key", "field"), bounded())
def test_every_key_with_a_range_has_a_row_with_its_default_and_range(key, field):
    (row,) = [
        line for line in PAGE.splitlines() if line.startswith("| ") and f"`{key}`" in line.split("|")[1]
    ]
    cells = "|".join(row.split("|")[2:])
    numbers = bounds(field)
    if isinstance(field.default, (int, float)) and not isinstance(field.default, bool):
        numbers |= {float(field.default)}
    missing = [
        number for number in numbers if not any(re.search(rf"\b{text}\b", cells) for text in spelled(number))
    ]
    assert missing == []


def test_the_fixed_numbers_are_those_of_the_sources():
    assert script().page(PAGE) == PAGE, "make schema"


def test_every_fixed_number_has_its_reason():
    silent = [f"{one.module} {one.name}" for one in script().limits() if not one.why]
    assert silent == [], "say why in a comment in its line"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("MAX_ROWS = 10_000  # of it\n", [("MAX_ROWS", 10_000, "of it")]),
        ("SEND_SECONDS: float = 1.5  # why\n", [("SEND_SECONDS", 1.5, "why")]),
        (
            "A_BYTES, B_BYTES = 4 * 1024, 2 << 20  # both\n",
            [("A_BYTES", 4096, "both"), ("B_BYTES", 2097152, "both")],
        ),
        ("ROOM_BYTES = 8 * MIB\n", [("ROOM_BYTES", 8388608, "")]),
        ("_OWN_BYTES = 5\nCHUNK_BYTES = 6\nSEED = 7\nname_bytes = 8\nTEXT_BYTES = 'nine'\n", []),
    ],
)
def test_a_limit_is_a_public_number_that_is_called_like_one(source, found):
    assert [(one.name, one.number, one.why) for one in script()._in("x.py", source)] == found

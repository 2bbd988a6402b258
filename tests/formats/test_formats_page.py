"""docs/formats.md names every key of every format that scorehost writes, in that format's own section."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from scorehost.api.schema import MADE, WRITTEN, schemas
from scorehost.scoring.asked import ScoreAsked

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "formats.md").read_text(encoding="utf-8")
# The beginning of the section that describes each format; of two in one section both are meant.
SECTIONS = {
    "result": "## result.json",
    "failure": "## result.json",
    "manifest": "## manifest.json",
    "salts": "## manifest.json",
    "checks": "## evaluation/checks.json",
    "call": "## evaluation/calls",
    "job": "## job.json",
    "summary": "## summary.json",
    "lock": "## scorehost.lock",
    "report": "`report --format json`",
    "comparison": "`compare --format json`",
    "audit": "audit.json of an audit",
}
INNER = {
    "report": {
        "Summary",
        "Group",
        "Failure",
        "Bounds",
        "Counts",
        "ErrorCount",
        "MetricSummary",
        "Rank",
        "RoleUsage",
    }
}


def keys(name: str) -> set[str]:
    """Every key of a format, in whatever object, without those of a format that has its own section."""
    schema = schemas()[name]
    inner = {kind: one for kind, one in schema.get("$defs", {}).items() if kind not in INNER.get(name, ())}
    return {key for one in (schema, *inner.values()) for key in one.get("properties", {})}


def section(name: str) -> str:
    begin = PAGE.index("\n" + SECTIONS[name])
    end = re.compile(r"\n## |\n\n`|\n\naudit\.json" if SECTIONS[name][0] != "#" else r"\n## ").search(
        PAGE, begin + 2
    )
    return PAGE[begin : end.start() if end else len(PAGE)]


def test_every_format_that_is_written_has_a_section():
    assert set(SECTIONS) == set(MADE)


@pytest.mark.parametrize("name", MADE)
def test_every_key_of_it_stands_in_its_section(name):
    told = set(re.findall(r"`([A-Za-z_0-9]+)`", section(name)))
    assert keys(name) - told == set()


def test_so_does_every_key_of_what_a_score_job_is_asked():
    told = set(re.findall(r"`([A-Za-z_0-9]+)`", section("job")))
    assert {field.name for field in dataclasses.fields(ScoreAsked)} - told == set()


@pytest.mark.parametrize("name", MADE)
def test_its_version_is_the_one_of_the_model(name):
    told = schemas()[name]["properties"].get("format", {})
    version = told.get("const", told.get("default"))
    assert version is None or f"`{version}`" in PAGE


@pytest.mark.parametrize("name", WRITTEN)
def test_every_key_that_a_user_writes_stands_in_the_docs(name):
    text = "\n".join(path.read_text(encoding="utf-8") for path in DOCS.glob("*.md"))
    missing = {key for key in keys(name) if not re.search(rf"\b{re.escape(key)}\b", text)}
    assert missing == set()

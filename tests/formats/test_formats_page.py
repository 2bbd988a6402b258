"""docs/formats.md names every key of every format that scorehost writes, in that format's own section."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path

import pytest

from scorehost.adapters.execs import ExecAsk
from scorehost.adapters.requests import (
    Assertion,
    BehaviorRequest,
    JudgeRequest,
    SessionRequest,
    TriggerRequest,
)
from scorehost.api.schema import MADE, WRITTEN, schemas
from scorehost.model.call import Provenance, Reply
from scorehost.model.exec_result import ExecResult
from scorehost.runs.index import JobEntry
from scorehost.scoring.asked import ScoreAsked
from scorehost.spec import ageval

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
EMITTERS = {"event", "durably", "set_aside", "emit", "write"}  # what writes a line of the journal
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


def part(title: str) -> str:
    """A section of the page by the beginning of its title."""
    begin = PAGE.index("\n## " + title)
    return PAGE[begin : PAGE.find("\n## ", begin + 1)]


def told_in(text: str) -> set[str]:
    """Every key that a text has in backquotes, of `a, b {c}` and `tasks: {root: tasks}` each."""
    return {
        word for quoted in re.findall(r"`([^`]+)`", text) for word in re.findall(r"[A-Za-z_0-9]+", quoted)
    }


@pytest.mark.parametrize("name", WRITTEN)
def test_every_key_that_a_user_writes_stands_in_the_section_of_a_datasets_files(name):
    assert keys(name) - told_in(part("Files of a dataset")) == set()


def test_every_name_of_the_ageval_layout_stands_there():
    words = part("Files of a dataset")
    assert [
        name for name in (ageval.DATASET_FILE, *ageval.FORMATS.values()) if f"`{name}`" not in words
    ] == []


def test_every_key_of_an_adapters_request_and_reply_stands_in_its_section():
    models = (
        SessionRequest,
        BehaviorRequest,
        TriggerRequest,
        JudgeRequest,
        Assertion,
        ExecAsk,
        Provenance,
        Reply,
    )
    wanted = {name for model in models for name in model.model_fields}
    wanted |= {
        "mode",
        "tools",
        "cache_hit",
        "exec",
        "exec_result",
        "error",
        *ExecResult(exit_code=0).as_text(),
    }
    wanted -= {"provenance"}  # what holds them in the record; a reply has its parts side by side
    assert wanted - told_in(part("What adapters are asked")) == set()


def test_every_key_of_the_index_stands_in_its_section():
    assert set(JobEntry.model_fields) - told_in(part("runs/.index")) == set()


def events() -> set[str]:
    """Kinds of events and the keys of their fields, as far as the sources write them out."""
    found: set[str] = set()
    for path in (DOCS.parent / "src/scorehost").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not (isinstance(node, ast.Call) and isinstance(node.func, (ast.Attribute, ast.Name))):
                continue
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            given = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "fields")]
            kinds = [
                one.value for one in given if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]
            if name not in EMITTERS or not kinds or not re.fullmatch("[a-z]+(_[a-z]+)*", kinds[0]):
                continue
            dicts = [one for one in given if isinstance(one, ast.Dict)]
            found |= {
                kinds[0],
                *(key.value for one in dicts for key in one.keys if isinstance(key, ast.Constant)),
            }
    return found


def test_every_kind_of_event_and_every_field_of_one_stands_in_the_section_of_events():
    found = events()
    assert {"job_started", "attempt_retried", "phase", "text"} <= found  # the search finds something
    assert found - told_in(part("events.jsonl")) == set()

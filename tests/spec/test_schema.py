"""Published schemas are those of the models, and the shipped dataset is sound."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scorehost.api.schema import schemas, text
from scorehost.spec.loading import load_dataset

ROOT = Path(__file__).parents[2]
NAMES = [
    "task",
    "dataset",
    "profiles",
    "submission",
    "expect",
    "result",
    "checks",
    "failure",
    "call",
    "summary",
    "comparison",
    "audit",
    "lock",
    "job",
    "report",
    "manifest",
    "salts",
]


@pytest.mark.parametrize("name", NAMES)
def test_the_published_schema_is_the_one_of_the_model(name):
    published = (ROOT / "docs/schema" / f"{name}.json").read_text(encoding="utf-8")
    assert published == text(schemas()[name]), "run `make schema`"


def test_every_published_schema_belongs_to_a_format():
    assert {path.stem for path in (ROOT / "docs/schema").glob("*.json")} >= set(NAMES)
    assert set(schemas()) == set(NAMES)


def test_schemas_are_closed_and_ask_for_the_format_line():
    task = json.loads((ROOT / "docs/schema/task.json").read_text(encoding="utf-8"))
    assert task["additionalProperties"] is False
    assert set(task["required"]) == {"format", "task_id"}
    assert set(task["properties"]) == {
        *("format", "task_id", "description", "metadata", "tags", "weight", "parameters", "agent_profiles"),
        *("limits", "artifacts", "evaluation"),
    }


def test_the_shipped_dataset_is_sound():
    dataset = load_dataset(ROOT)
    assert len(dataset.tasks) >= 6
    assert all(task.solution and task.wrong for task in dataset.tasks.values())

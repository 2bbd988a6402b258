"""JSON Schemas of every format, generated from the models: `python -m scorehost.api.schema docs/schema`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, TypeAdapter

from scorehost.model.audit import AuditReport
from scorehost.model.call import CallRecord
from scorehost.model.check import CheckRow
from scorehost.model.comparison import Comparison
from scorehost.model.failure import Failure
from scorehost.model.frozen import Frozen
from scorehost.model.lock import Lock
from scorehost.model.report import ReportDocument
from scorehost.model.result import Result
from scorehost.model.summary import Summary
from scorehost.runs.manifest import Manifest, Salts
from scorehost.runs.record import JobRecord
from scorehost.spec.dataset import DatasetFile, Expectation, SubmissionCard
from scorehost.spec.profiles import Profiles
from scorehost.spec.task import TaskFile


class ChecksFile(Frozen):
    """checks.json."""

    format: Literal["scorehost.checks/1"]
    checks: tuple[CheckRow, ...]


# What users write has defaults that may be left out; what scorehost writes has every key.
WRITTEN: dict[str, type[BaseModel]] = {
    "task": TaskFile,
    "dataset": DatasetFile,
    "profiles": Profiles,
    "submission": SubmissionCard,
    "expect": Expectation,
}
MADE: dict[str, type[BaseModel]] = {
    "result": Result,
    "checks": ChecksFile,
    "failure": Failure,
    "job": JobRecord,
    "summary": Summary,
    "report": ReportDocument,
    "comparison": Comparison,
    "audit": AuditReport,
    "lock": Lock,
    "call": CallRecord,
    "manifest": Manifest,
    "salts": Salts,
}
_FORMAT_NEEDED = {"task", "dataset", "profiles"}


def schemas() -> dict[str, dict[str, Any]]:
    """The JSON Schema (2020-12) of every format by its name."""
    written = {name: _schema(name, model, "validation") for name, model in WRITTEN.items()}
    made = {name: _schema(name, model, "serialization") for name, model in MADE.items()}
    return written | made


def _schema(
    name: str, model: type[BaseModel], mode: Literal["validation", "serialization"]
) -> dict[str, Any]:
    schema = TypeAdapter(model).json_schema(mode=mode)
    if name in _FORMAT_NEEDED:
        schema["required"] = ["format", *schema.get("required", [])]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def text(schema: dict[str, Any]) -> str:
    """A schema as its file holds it."""
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def write(folder: Path) -> None:
    """Writes every schema to `folder`/NAME.json."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, schema in schemas().items():
        (folder / f"{name}.json").write_text(text(schema), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))

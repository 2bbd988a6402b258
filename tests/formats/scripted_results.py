"""Results as files hold them, written out by hand: of the first format, and of the second."""

from __future__ import annotations

import json
from typing import Any

_COMMON: dict[str, Any] = {
    "job_id": "20261130-074512-7f3a",
    "task_id": "t",
    "submission": "s",
    "sample": 1,
    "repeat": 2,
    "status": "FAIL",
    "score": 0.25,
    "metrics": {"rmse": 1.5},
    "limit": None,
    "error": None,
    "warnings": [],
    "started_at": "2026-11-30T07:45:12.000Z",
    "finished_at": "2026-11-30T07:45:13.000Z",
    "timing": {"evaluate": 0.5},
    "hosts": [
        {
            "name": "evaluator",
            "image": "scorehost/python:3",
            "image_id": "sha256:44",
            "started_at": "2026-11-30T07:45:12.100Z",
            "peak_memory_bytes": 1048576,
            "cpu_seconds": 0.1,
            "execs": 0,
            "recipe": None,
            "ended": "removed",
        }
    ],
    "versions": {
        "scorehost": "0",
        "engine": "27",
        "kernel": "6",
        "runtime": "runc",
        "architecture": "x86_64",
    },
    "agent_invocations": 0,
}
_SCORING = {
    "task": "sha256:11",
    "evaluator": "sha256:22",
    "gold": "sha256:33",
    "images": {"evaluator": "sha256:44"},
    "limits": "sha256:55",
    "sdk": "sha256:66",
}


def _digests(scoring: dict[str, Any]) -> dict[str, Any]:
    return {"scoring": scoring, "submission": "sha256:77", "operational": {"profile": "sha256:88"}}


FIRST: dict[str, Any] = {
    "format": "scorehost.result/1",
    **_COMMON,
    "attempt": 3,
    "digests": _digests(_SCORING),
}
SECOND: dict[str, Any] = {
    "format": "scorehost.result/2",
    "kind": "score",
    **_COMMON,
    "try": 3,
    "infrastructure": "ok",
    "evaluation": "failed",
    "digests": _digests({**_SCORING, "gold": "gold-hmac:33", "gold_key": "5dc1990b80d3e9f3", "roles": {}}),
    "salt": None,
}


def first_with(**changes: Any) -> bytes:
    """A result of the first format with other values."""
    return json.dumps({**FIRST, **changes}).encode()


def second_with(**changes: Any) -> bytes:
    """A result of the second format with other values."""
    return json.dumps({**SECOND, **changes}).encode()

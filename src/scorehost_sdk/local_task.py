"""What task.yaml says of a task that is tested on its author's machine."""

from __future__ import annotations

import importlib
import os
import warnings
from typing import Any, Dict, NamedTuple, Optional, Tuple

from scorehost_sdk.verdict import Rules


class LocalTask(NamedTuple):
    """The part of task.yaml that an evaluator's test needs. `targets`: where each artifact lies, or None when
    there is no task.yaml to say it; `environments`: the variables of each; `gold`: those that hold the gold
    set; `any_name`: without environments, every name means the single host (the ageval layout).
    """

    parameters: Dict[str, Any]
    targets: Optional[Dict[str, str]]
    entrypoint: str
    rules: Rules
    environments: Dict[str, Dict[str, str]]
    gold: Tuple[str, ...]
    any_name: bool


def _place(path: str) -> str:
    """Where an artifact of that path lies below /attempt."""
    return path if path.split("/", maxsplit=1)[0] in ("artifacts", "workspace") else f"artifacts/{path}"


def read_task(folder: str) -> LocalTask:
    """task.yaml of a task folder, with the defaults of its dataset's dataset.yaml laid under it.

    It is not checked: `scorehost check` does that.
    """
    root = os.path.dirname(os.path.dirname(folder))
    found = _mapping(os.path.join(folder, "task.yaml"))
    document = found or {}
    defaults = _part(_mapping(os.path.join(root, "dataset.yaml")) or {}, "defaults")
    evaluation = _over(_part(defaults, "evaluation"), _part(document, "evaluation"))
    artifacts = _part(document, "artifacts").get("publishable") or []
    rows = evaluation.get("inputs")
    if rows is None:
        targets = {row["id"]: _place(row["path"]) for row in artifacts}
    else:
        targets = {row["artifact"]: row["target"] for row in rows}
    plans = {name: plan or {} for name, plan in _part(evaluation, "environments").items()}
    output = _part(evaluation, "output")
    span = output.get("score_range", (0.0, 1.0))
    return LocalTask(
        parameters=_part(document, "parameters"),
        targets=None if found is None else targets,
        entrypoint=evaluation.get("entrypoint", "evaluator:evaluate"),
        rules=Rules(
            None if span is None else (float(span[0]), float(span[1])),
            output.get("direction", "maximize"),
            output.get("verdict", "pass_fail"),
        ),
        environments={name: dict(_part(plan, "env")) for name, plan in plans.items()},
        gold=tuple(name for name, plan in plans.items() if plan.get("gold", True)),
        any_name=str(document.get("format", "")).startswith("ageval."),
    )


def _mapping(path: str) -> Optional[Dict[str, Any]]:
    if not os.path.exists(path):
        return None
    try:
        # Not of the standard library: this runs on an author's machine only, where scorehost brings it.
        yaml = importlib.import_module("yaml")
    except ImportError:
        warnings.warn(
            f"{path} is not read, since PyYAML is not installed here: give parameters, targets and"
            " environments yourself",
            stacklevel=2,
        )
        return None
    with open(path, "rb") as file:
        document = yaml.safe_load(file)
    return document if isinstance(document, dict) else None


def _part(document: Dict[str, Any], key: str) -> Dict[str, Any]:
    value = document.get(key)
    return value if isinstance(value, dict) else {}


def _over(below: Dict[str, Any], above: Dict[str, Any]) -> Dict[str, Any]:
    """`above` laid over `below`, key by key."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        both = isinstance(value, dict) and isinstance(under, dict)
        merged[key] = _over(under, value) if both else value  # type: ignore[arg-type] # both are objects
    return merged

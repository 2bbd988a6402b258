"""What `run(ctx)` of a run.py in the ageval layout is given."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ageval_sdk.parameters import RunParameterView
from ageval_sdk.sessions import Agent
from scorehost_sdk import context, requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Mapping, Tuple, Union

    from scorehost_sdk.scoring import Link


class RunScope:
    """Which attempt it is; no name of it decides anything."""

    def __init__(self, task: Mapping[str, Any]) -> None:
        self.trial_id = f"{task['task_id']}.{task['submission']}.{task['sample']}.{task['repeat']}"
        self.attempt_id = f"{self.trial_id}.{task['attempt']}"
        self.run_id = self.trial_id
        self.deadline_monotonic = None


class _Layout(context._Shared):  # noqa: SLF001 - the two packages are one
    """What the layout adds to a context: `params` as a view, `workspace_root`, `agent`, `scope` and ways to
    publish that are not awaited.
    """

    params: Any

    def __init__(self, link: Link, given: Dict[str, Any], root: str) -> None:
        super().__init__(link, given, root)
        self.params = RunParameterView(given["parameters"])
        self.scope = RunScope(given["task"])
        self.agent = Agent(attempt_id=self.scope.attempt_id)
        self.workspace_root = self.workspace
        self.artifact_dir = self.artifacts
        self.dataset_root = Path(root, "task")
        self.published: Dict[str, Path] = {}
        self._declared: List[Dict[str, Any]] = given["artifacts"]

    def publish_json(self, artifact_id: str, value: Any) -> Path:
        """Hands `value` over as an artifact: JSON with sorted keys, and a newline at its end."""
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        path = self.artifact_dir / (artifact_id.replace("/", "-") + ".json")
        path.write_text(text + "\n", encoding="utf-8")
        return self._handed_over(artifact_id, path)

    def publish_file(self, artifact_id: str, source: Union[str, os.PathLike[str]]) -> Path:
        """Hands a file over as an artifact."""
        return self._handed_over(artifact_id, Path(source))

    def publish_tree(self, artifact_id: str, source: Union[str, os.PathLike[str]]) -> Path:
        """Hands a folder over as an artifact, as it is now."""
        return self._handed_over(artifact_id, Path(source))

    def _handed_over(self, artifact_id: str, path: Path) -> Path:
        if artifact_id not in {row["id"] for row in self._declared}:
            print(f"ageval_sdk: {artifact_id!r} is no artifact of the task, and is not scored")  # noqa: T201
        else:
            requests.drive(self._link, context.publishing(artifact_id, os.fspath(path)))
        self.published[artifact_id] = path
        return path

    def hand_over_the_rest(self, root: str) -> None:
        """Hands over what was declared, not published, and lies at its declared path."""
        for artifact, path in self._left(root):
            print(f"ageval_sdk: {artifact} was found at its declared path, and is handed over")  # noqa: T201
            self._handed_over(artifact, path)

    def _left(self, root: str) -> List[Tuple[str, Path]]:
        rows = [(row["id"], Path(root, row["path"])) for row in self._declared]
        return [(name, path) for name, path in rows if name not in self.published and path.exists()]


class RunContext(_Layout, context.AsyncContext):
    """For an async `run`."""


class PlainRunContext(_Layout, context.Context):
    """For a plain `run`."""

"""The shapes of what an evaluator gets and returns, for type checkers; nothing here is needed to run."""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Protocol, TypedDict, Union

from scorehost_sdk.scoring import AsyncScoring, Scoring


class InputRow(TypedDict):
    """A declared input: which artifact lies where, relative to /attempt."""

    artifact: str
    target: str


class TaskFacts(TypedDict):
    """`inputs["task"]`; `sample`, `repeat` and `attempt` count from 1."""

    task_id: str
    attempt: int
    submission: str
    sample: int
    repeat: int
    seed: int


class RunFacts(TypedDict):
    """`inputs["run"]`: how the run phase ended, and which limit it hit."""

    status: str
    limit: Optional[str]


class _Data(TypedDict):
    artifacts: Dict[str, str]  # id -> path in the container, present ones only
    artifacts_dir: str
    workspace_dir: str
    evaluation_dir: str
    output_dir: str
    parameters: Dict[str, Any]
    inputs: List[InputRow]
    task: TaskFacts
    run: RunFacts


class Inputs(_Data):
    """What a plain `evaluate(inputs)` gets."""

    scoring: Scoring


class AsyncInputs(_Data):
    """What an `async def evaluate(inputs)` gets."""

    scoring: AsyncScoring


class _Status(TypedDict):
    status: str  # PASS or FAIL


class Verdict(_Status, total=False):
    """What `evaluate` returns; rows of `checks` are made by `evaluation_check`."""

    score: Optional[float]
    metrics: Dict[str, Any]
    checks: List[Dict[str, Any]]


class Evaluate(Protocol):
    """A plain entrypoint."""

    def __call__(self, inputs: Inputs, /) -> Union[Verdict, Dict[str, Any]]:
        """The verdict on one submission."""


class AsyncEvaluate(Protocol):
    """An async entrypoint."""

    async def __call__(self, inputs: AsyncInputs, /) -> Union[Verdict, Dict[str, Any]]:
        """The verdict on one submission."""

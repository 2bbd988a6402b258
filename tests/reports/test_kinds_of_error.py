"""The vocabulary of `error.kind` is closed, documented, and blames as docs/errors.md says."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from scorehost.hosts.messages import FailedError
from scorehost.jobs.exit_status import WANTING
from scorehost.jobs.schedule import ENGINE_LOST
from scorehost.model.blame import TABLE, TOLD
from scorehost.model.errors_page import page
from scorehost.model.failure import KINDS, Blame, Failure, Phase, failure

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src/scorehost"
# Who hands a kind on to `failure`: their own callers are looked at in the same way.
FORWARD = {("hosts/images.py", "_failed"), ("hosts/evaluator.py", "_fail")}
# Kinds that no code makes yet, with the feature that they come with.
COMING: set[str] = set()
# Handed on by a forwarder, or from a frame or a fault whose kinds are a closed set too.
_HANDED_ON = ("kind", "error.kind", "self.fault.kind", "verdict.kind")
BY_THE_TABLE = {row.verdict.kind for row in TABLE if row.verdict.kind != TOLD}
TOLD_BY_THE_RUNNER = set(get_args(FailedError.model_fields["kind"].annotation))


def calls():
    """(file:line, name, positional arguments) of every call that names a kind."""
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).removeprefix("self.")
            if name == "failure" or (file, name) in FORWARD:
                yield f"{file}:{node.lineno}", name, node.args


def kind_of(name, arguments):
    argument = arguments[1 if name == "failure" else 0]
    return argument.value if isinstance(argument, ast.Constant) else ast.unparse(argument)


def named_kinds():
    return {(place, kind_of(name, arguments)) for place, name, arguments in calls()}


def test_the_page_of_errors_is_current():
    published = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    assert published == page(), "run `make schema`"


def test_every_kind_that_the_code_names_is_declared():
    strangers = {row for row in named_kinds() if row[1] not in KINDS and row[1] not in _HANDED_ON}
    assert strangers == set()
    assert len(named_kinds()) > 20


def test_every_declared_kind_is_made_somewhere():
    made = {kind for _, kind in named_kinds()} | TOLD_BY_THE_RUNNER | BY_THE_TABLE
    assert set(KINDS) - made - COMING == set()


def test_the_phase_that_a_call_names_is_one_of_its_kind():
    wrong = []
    for place, name, arguments in calls():
        phase, kind = ast.unparse(arguments[0]), kind_of(name, arguments)
        if name == "failure" and phase.startswith("Phase.") and kind in KINDS:
            known = Phase[phase.removeprefix("Phase.")] in KINDS[kind].phases
            wrong += [] if known else [(place, phase, kind)]
    assert wrong == []


def test_what_the_runner_may_tell_is_the_evaluation_s():
    assert set(KINDS) >= TOLD_BY_THE_RUNNER
    assert all(Phase.EVALUATE in KINDS[kind].phases for kind in TOLD_BY_THE_RUNNER)
    # None of them may be tried again by itself: submitted code may have run.
    assert not any(KINDS[kind].retryable for kind in TOLD_BY_THE_RUNNER)


def test_kinds_that_other_modules_compare_with_are_declared():
    assert set(KINDS) >= {ENGINE_LOST, *WANTING}


@pytest.mark.parametrize(
    ("kinds", "blame"),
    [
        (
            """evaluator_exception evaluator_exit evaluator_timeout evaluator_oom scratch_full invalid_result
            result_too_large channel_violation output_limit changed_input unknown_environment""",
            Blame.DATASET,
        ),
        ("invalid_submission submission_fault", Blame.SUBMISSION),
        (
            """image_pull_failed image_missing image_build_failed image_unusable start_failed start_timeout
            host_lost budget_spent share_spent""",
            Blame.ENVIRONMENT,
        ),
        ("engine_lost upload_damaged", Blame.ENGINE),
        ("adapter_missing", Blame.ADAPTER),
        ("internal", Blame.SCOREHOST),
    ],
)
def test_blame_is_what_the_design_decided(kinds, blame):
    declared = {kind for kind, facts in KINDS.items() if facts.blame is blame}
    if blame is Blame.ADAPTER:
        assert all(kind.startswith("adapter_") for kind in declared)
    else:
        assert declared == set(kinds.split())


def test_only_what_is_nobody_s_doing_may_be_tried_again():
    retryable = {facts.blame for facts in KINDS.values() if facts.retryable}
    assert retryable <= {Blame.ENVIRONMENT, Blame.ENGINE, Blame.ADAPTER}


def test_a_kind_that_is_not_declared_is_refused():
    with pytest.raises(KeyError, match="bad_luck"):
        failure(Phase.EVALUATE, "bad_luck", "it rained")
    made = failure(Phase.EVALUATE, "evaluator_exit", "x").model_dump()
    with pytest.raises(ValidationError, match=r"docs/errors\.md"):
        Failure.model_validate({**made, "kind": "bad_luck"})


def test_a_call_can_take_the_permission_to_try_again_away_and_never_give_it():
    assert failure(Phase.EVALUATE, "host_lost", "x").retryable
    assert not failure(Phase.EVALUATE, "host_lost", "x", retryable=False).retryable
    assert not failure(Phase.EVALUATE, "evaluator_exit", "x", retryable=True).retryable


def test_every_kind_says_what_happened_and_what_to_do_in_a_line():
    for kind, facts in KINDS.items():
        assert facts.phases, kind
        for text in (facts.meaning, facts.hint):
            assert text.isprintable(), kind
            assert text.endswith((".", "…}.")), kind

"""Where artifacts stand, what an evaluator is told, and what digests cover."""

from __future__ import annotations

import hashlib

import pytest
from hand_ins import spec_of, taken

from scorehost.attempt.digests import TaskTrees, Tools, scoring_digests
from scorehost.attempt.inputs import evaluator_inputs, run_inputs
from scorehost.attempt.layout import laid_out
from scorehost.attempt.work import Work
from scorehost.errors import AttemptFailed
from scorehost.model.failure import Phase
from scorehost.model.ids import AttemptKey
from scorehost.model.order import Order
from scorehost.runs.blobs import Blobs
from scorehost.spec.digests import profile_digest
from scorehost.spec.gold_key import GoldKey
from scorehost.spec.loading import load_dataset
from scorehost.spec.task import Artifact, Evaluation, InputRow
from scorehost.submissions.intake import take_in
from scorehost.submissions.sample import Sample
from trial import write_task

FILE = Artifact(id="f", path="artifacts/out/f.txt")
TREE = Artifact(id="t", path="workspace/code", kind="tree")


@pytest.fixture
def hand_in(tmp_path):
    (tmp_path / "s/artifacts/out").mkdir(parents=True)
    (tmp_path / "s/artifacts/out/f.txt").write_text("f")
    (tmp_path / "s/workspace/code/sub/empty").mkdir(parents=True)
    (tmp_path / "s/workspace/code/sub/x.py").write_text("x")
    return take_in(spec_of(FILE, TREE), Sample(tmp_path / "s"), Blobs(tmp_path / "b"))


def test_without_inputs_every_artifact_stands_at_its_own_path(hand_in):
    layout = laid_out(spec_of(FILE, TREE), hand_in)
    assert layout.paths == {"f": "/attempt/artifacts/out/f.txt", "t": "/attempt/workspace/code"}
    assert [entry.path for entry in layout.artifacts.entries] == ["out/f.txt"]
    assert [entry.path for entry in layout.workspace.entries] == ["code/sub/x.py"]
    assert set(layout.workspace.folders) >= {"code", "code/sub", "code/sub/empty"}


def test_inputs_move_artifacts_to_their_targets_and_leave_others_out(hand_in):
    rows = (InputRow(artifact="t", target="workspace"),)
    layout = laid_out(spec_of(FILE, TREE, evaluation=Evaluation(inputs=rows)), hand_in)
    assert layout.paths == {"t": "/attempt/workspace"}
    assert layout.artifacts.entries == ()
    assert [entry.path for entry in layout.workspace.entries] == ["sub/x.py"]
    assert layout.rows == rows


def test_an_artifact_that_is_missing_has_no_path(tmp_path):
    layout = laid_out(spec_of(FILE, TREE), take_in(spec_of(FILE, TREE), Sample(), Blobs(tmp_path / "b")))
    assert layout.paths == {}
    assert [row.artifact for row in layout.rows] == ["f", "t"]


def test_an_empty_tree_is_present_and_has_its_folder(tmp_path):
    (tmp_path / "s/workspace/code").mkdir(parents=True)
    empty = take_in(spec_of(TREE), Sample(tmp_path / "s"), Blobs(tmp_path / "b"))
    layout = laid_out(spec_of(TREE), empty)
    assert layout.paths == {"t": "/attempt/workspace/code"}
    assert layout.workspace.folders == ("code",)


KEY = GoldKey(b"k" * 32)
ATTEMPTS = {
    # printf of {"format":"scorehost.seed/1","phase":"evaluate","repeat":1,"sample":1,"submission":"s",
    # "task_id":"t"} in one line
    # | openssl dgst -sha256 -mac HMAC -macopt hexkey:6b…6b: the first 16 hex digits, halved.
    AttemptKey(task_id="t", submission="s"): 0x33C7E1239680AC78 >> 1,
    AttemptKey(task_id="session-audit", submission="team-a", sample=2, repeat=3): 0x3E53D9CAF0A6875C >> 1,
}


@pytest.mark.parametrize(("key", "seed"), ATTEMPTS.items())
def test_the_seed_is_the_first_63_bits_of_an_hmac_over_which_attempt_it_is(tmp_path, hand_in, key, seed):
    dataset = load_dataset(write_task(tmp_path / "d", "x = 1\n", parameters={"k": [1]}))
    order = Order(key, Work(dataset.tasks["t"], Sample()), number=5)
    inputs = evaluator_inputs(order, laid_out(spec_of(FILE, TREE), hand_in), KEY)
    assert inputs["task"] == {
        "task_id": key.task_id,
        "attempt": 5,
        "submission": key.submission,
        "sample": key.sample,
        "repeat": key.repeat,
        "seed": seed,
    }
    assert inputs["parameters"] == {"k": [1]}
    assert inputs["evaluation_dir"] == "/attempt/evaluation"
    assert inputs["run"] == {"status": "submitted", "limit": None}


def test_who_lacks_the_key_and_who_solves_cannot_tell_the_evaluators_seed(tmp_path):
    dataset = load_dataset(write_task(tmp_path / "d", "x = 1\n"))
    order = Order(AttemptKey(task_id="t", submission="s"), Work(dataset.tasks["t"], Sample()))
    other = AttemptKey(task_id="t", submission="s", repeat=2)
    seeds = {
        KEY.seed(order.key, Phase.EVALUATE),
        KEY.seed(other, Phase.EVALUATE),
        # What run.py and whatever plays its roles may know:
        run_inputs(order, KEY, "scorehost")["task"]["seed"],
        GoldKey(b"K" * 32).seed(order.key, Phase.EVALUATE),
    }
    assert len(seeds) == 4
    assert all(0 < seed < 1 << 63 for seed in seeds)


def digests_of(root, images=None):
    dataset = load_dataset(root)
    (task,) = dataset.tasks.values()
    made = scoring_digests(TaskTrees.read(task, KEY, Tools.read()), images or {"evaluator": "sha256:1"})
    return {**made.model_dump(), "profile": profile_digest(dataset.profiles)}


def changed(first, second) -> set[str]:
    return {name for name in first if first[name] != second[name]}


def test_digests_are_the_same_for_the_same_files_elsewhere(tmp_path):
    first = digests_of(write_task(tmp_path / "one", "x = 1\n"))
    assert digests_of(write_task(tmp_path / "two", "x = 1\n")) == first


@pytest.mark.parametrize(
    ("change", "digest"),
    [
        ({"gold": {"gold.txt": b"other"}}, "gold"),
        ({"gold": {"other.txt": b"gold"}}, "gold"),
        ({"evaluator": "x = 2\n"}, "evaluator"),
        ({"limits": {"memory_mb": 999}}, "limits"),
        ({"parameters": {"k": 1}}, "task"),
        ({"evaluation": {"output": {"score_range": [0, 2]}}}, "task"),
    ],
)
def test_what_bears_on_a_verdict_changes_exactly_its_own_digest(tmp_path, change, digest):
    first = digests_of(write_task(tmp_path / "one", "x = 1\n"))
    more = {"evaluator": "x = 1\n", **change}
    assert changed(first, digests_of(write_task(tmp_path / "two", **more))) == {digest}


def test_images_and_profile_have_digests_of_their_own(tmp_path):
    root = write_task(tmp_path / "one", "x = 1\n")
    first = digests_of(root)
    assert changed(first, digests_of(root, {"evaluator": "sha256:2"})) == {"images"}
    with (root / "profiles.yaml").open("a") as stream:
        stream.write("evaluate_host: {warm: 0}\n")
    assert changed(first, digests_of(root)) == {"profile"}


def test_the_execute_bit_of_gold_changes_its_digest(tmp_path):
    root = write_task(tmp_path / "one", "x = 1\n")
    first = digests_of(root)
    (root / "tasks/t/evaluation/gold.txt").chmod(0o755)
    assert changed(first, digests_of(root)) == {"gold"}


def test_a_trees_digest_is_what_the_architecture_says(tmp_path, hand_in):
    sha = hashlib.sha256(b"x").hexdigest()
    wanted = hashlib.sha256(b"sub/x.py\0-\0" + sha.encode() + b"\n").hexdigest()
    assert hand_in.artifacts["t"].digest == f"sha256:{wanted}"


def test_gold_that_cannot_be_read_any_more_is_a_changed_input_and_not_our_defect(tmp_path):
    root = write_task(tmp_path / "one", "x = 1\n")
    (task,) = load_dataset(root).tasks.values()
    (root / "tasks/t/evaluation/gold.txt").unlink()
    with pytest.raises(AttemptFailed) as caught:
        TaskTrees.read(task, KEY, Tools.read())
    assert caught.value.failure.kind == "changed_input"
    assert caught.value.failure.message == (
        "evaluation/gold.txt of the task cannot be read any more: No such file or directory"
    )


def test_a_submissions_digest_tells_artifacts_apart(tmp_path):
    (tmp_path / "s/artifacts").mkdir(parents=True)
    (tmp_path / "s/artifacts/x").write_text("same")
    one = Artifact(id="one", path="artifacts/x")
    two = Artifact(id="two", path="artifacts/x")
    assert taken(tmp_path, tmp_path / "s", one).digest != taken(tmp_path, tmp_path / "s", two).digest

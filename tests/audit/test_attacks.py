"""The kit of dishonest submissions: it fits the task, compiles, and never holds the right answer."""

from __future__ import annotations

import json

import pytest
from scripted_jobs import make_task
from test_mutants import subject

from scorehost.audit.attacks.files import Link
from scorehost.audit.attacks.kit import attacks, empty_files
from scorehost.audit.subject import Name, defined, subject_of
from scorehost.hosts.frames import KEEPER, FrameReader, WrongMac, new_key
from scorehost.hosts.messages import FRAMES
from scorehost_sdk.channel import LAST

SOLUTION = """\
class Shape:
    pass


async def fetch(x):
    return x


def double(x):
    return 2 * x
"""


def kit(one):
    return {attack.name: attack for attack in attacks(one)}


def test_code_attacks_define_what_the_solution_defines(tmp_path):
    assert defined(SOLUTION.encode()) == (Name("Shape"), Name("fetch", awaited=True), Name("double"))
    found = kit(subject(tmp_path, {"artifacts/s.py": SOLUTION}))
    for attack in found.values():
        content = attack.files["artifacts/s.py"]
        if attack.name.startswith(("copy-of", "link-to")):
            continue
        compile(content, attack.name, "exec")
        assert b"def double(" in content
        assert b"async def fetch(" in content
    assert {"equal-object", "exit-at-import", "printed-success", "planted-modules", "reads-gold"} <= set(
        found
    )
    assert {"kills-everything", "huge-answer", "endless-answer", "frames", "link-to-gold"} <= set(found)


def ran(root, name):
    """The names that the module of an attack holds once it is imported."""
    space = {"__name__": "submitted"}
    attack = kit(subject(root, {"artifacts/s.py": SOLUTION}))[name]
    exec(attack.files["artifacts/s.py"], space)  # noqa: S102 - those that do nothing when they are imported
    return space


@pytest.mark.parametrize("wanted", [0, "text", [1, 2], {"a": None}, 2.5, None, True])
def test_an_always_equal_object_is_equal_to_whatever_is_wanted(tmp_path, wanted):
    answer = ran(tmp_path, "equal-object")["double"](3)
    assert (answer == wanted, wanted == answer, bool(answer), answer != wanted) == (True, True, True, False)


@pytest.mark.parametrize(("name", "kind", "wanted"), [("equal-number", int, 7), ("equal-text", str, "seven")])
def test_an_always_equal_number_or_text_passes_for_its_type(tmp_path, name, kind, wanted):
    answer = ran(tmp_path, name)["double"](3)
    assert (isinstance(answer, kind), answer == wanted, wanted == answer) == (True, True, True)


GOLD = [[[[3], 6]], [[3, 6]], {"3": 6}, [{"x": 3, "expected": 6}], {"cases": [[3, 6]]}]


@pytest.mark.parametrize("gold", GOLD)
def test_the_look_at_gold_finds_answers_in_the_usual_shapes(tmp_path, gold):
    space = ran(tmp_path, "reads-gold")
    assert space["looked_up"](gold, (3,)) == 6
    assert space["looked_up"](gold, (4,)) is space["NOTHING"]


def test_a_link_leads_to_where_gold_lies_in_a_host(tmp_path):
    attack = kit(subject(tmp_path, {"artifacts/a.json": "{}"}))["link-to-gold"]
    assert attack.files == {"artifacts/a.json": Link("/attempt/evaluation")}


def test_json_attacks_keep_the_shape_and_none_says_the_same_as_the_solution(tmp_path):
    value = {"places": 40, "name": "hall"}
    found = kit(subject(tmp_path, {"artifacts/a.json": json.dumps(value)}))
    assert json.loads(found["always-true"].files["artifacts/a.json"]) == {"places": True, "name": True}
    assert found["not-a-number"].files["artifacts/a.json"] == b'{"places": NaN, "name": "hall"}'
    assert json.loads(found["nothing-inside"].files["artifacts/a.json"]) == {}
    numbers = kit(subject(tmp_path / "n", {"artifacts/a.json": '{"places":   40}'}))
    assert "wildcards" not in numbers  # it holds no text, so that would be the right answer


def test_a_copy_that_is_the_solution_is_no_attack(tmp_path):
    one = subject(tmp_path, {"artifacts/a.txt": "a test's task"})
    described = one.task.spec.model_copy(update={"description": "a test's task"})
    one = type(one)(one.task.model_copy(update={"spec": described}), one.files, one.solved)
    assert "copy-of-description" not in kit(one)


def test_a_tree_gets_modules_planted_in_each_of_its_folders(tmp_path):
    files = {"artifacts/tree/a.py": "x = 1\n", "artifacts/tree/b/c.txt": "two\n"}
    attack = kit(subject(tmp_path, files, kind="tree"))["planted-files"]
    assert attack.files["artifacts/tree/a.py"] == b""
    assert {"artifacts/tree/conftest.py", "artifacts/tree/b/sitecustomize.py"} <= set(attack.files)


def test_a_task_whose_solution_is_an_empty_file_has_no_empty_file_attack(tmp_path):
    assert empty_files(subject(tmp_path, {"artifacts/a.txt": ""})) is None
    assert empty_files(subject(tmp_path / "b", {"artifacts/a.txt": "x"})) is not None


def test_a_task_without_a_solution_is_attacked_by_what_it_declares(tmp_path):
    found = kit(subject_of(make_task(tmp_path, "bare", solution=False)))
    assert {"link-to-gold", "claimed-success", "exit-text"} <= set(found)


def test_forged_frames_are_those_that_are_spoken_but_for_the_proof(monkeypatch, tmp_path):
    monkeypatch.setattr("os.open", lambda *_: 2**30)  # no descriptor of this process is written to
    monkeypatch.setattr("os.write", lambda *_: 0)
    monkeypatch.setattr("os.close", lambda _: None)
    module = kit(subject(tmp_path, {"artifacts/s.py": SOLUTION}))["frames"].files["artifacts/s.py"]
    space = {"__name__": "submitted"}
    exec(module, space)  # noqa: S102 - nothing is written
    by_evaluator, by_keeper, by_controller = space["CALLS"][:3]
    assert by_evaluator[:5] == (len(by_evaluator) - 4).to_bytes(4, "big") + LAST
    cut = 4 + int.from_bytes(by_keeper[:4], "big")
    result, last = by_keeper[:cut], by_keeper[cut:]
    assert FRAMES.validate_python(json.loads(result[69:]), strict=True).kind == "result"
    assert last[68:69] == KEEPER
    assert FRAMES.validate_python(json.loads(last[69:]), strict=True).kind == "ended"
    assert json.loads(by_controller[68:])["kind"] == "reply"
    with pytest.raises(WrongMac):
        FrameReader(new_key()).feed(by_keeper)

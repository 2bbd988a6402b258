"""Names of folders for ids that are free text: readable, and apart on every file system."""

from __future__ import annotations

import hashlib
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorehost.model.ids import SUBMISSION_NAME, TASK_ID, path_part, path_parts


def eight(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@pytest.mark.parametrize("text", ["control", "session-audit", "a", "0", "a.b_c-d", "x" * 64])
def test_an_id_within_the_patterns_stands_for_itself(text):
    assert path_part(text) == text


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("org/model", "org-model"),
        ("Model", "model"),
        ("1.2+cu121", "1.2-cu121"),
        ("..", "id"),
        (".hidden", "hidden"),
        ("ends.", "ends"),
        ("日本", "id"),
        ("Gödel", "godel"),
        ("con", "con"),
        ("lpt1.txt", "lpt1.txt"),
        ("a b\tc\n", "a-b-c"),
        ("-rf", "rf"),
    ],
)
def test_any_other_is_a_slug_and_8_digits_of_the_digest_of_the_whole_id(text, slug):
    assert path_part(text) == f"{slug}-{eight(text)}"


def test_a_known_digest():
    # printf org/model | sha256sum
    assert path_part("org/model") == "org-model-c87c0c64"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Model", "model"),
        ("MODEL", "Model"),
        ("é", unicodedata.normalize("NFD", "é")),
        ("a/b", "a b"),
        ("x" * 65, "x" * 66),
        ("strasse", "straße"),
        ("K", "\u212a"),
    ],
)
def test_ids_that_a_file_system_may_take_for_one_have_two_names(one, other):
    assert path_part(one).casefold() != path_part(other).casefold()


@pytest.mark.parametrize(("text", "words"), [("", "empty"), ("a\ud800", "surrogate")])
def test_what_is_no_id_is_refused(text, words):
    with pytest.raises(ValueError, match=words):
        path_part(text)


def test_two_ids_that_come_to_one_name_are_refused_and_named():
    other = path_part("Model")  # a name that somebody gives to an id of his own
    assert path_parts(["Model", "x", "x"]) == {"Model": other, "x": "x"}
    with pytest.raises(ValueError, match=f"'Model' and '{other}' come to one name"):
        path_parts(["Model", other])


@given(st.text(min_size=1))
def test_every_part_is_a_task_id_and_a_submissions_name_that_folds_to_itself(text):
    part = path_part(text)
    assert TASK_ID.fullmatch(part)
    assert SUBMISSION_NAME.fullmatch(part)
    assert part == part.casefold() == unicodedata.normalize("NFC", part) == unicodedata.normalize("NFD", part)
    assert not part.endswith(".")


@given(st.sets(st.text("aAbB/ é", min_size=1, max_size=4), min_size=2, max_size=40))
def test_different_ids_have_different_parts(ids):
    assert len({part.casefold() for part in path_parts(ids).values()}) == len(ids)

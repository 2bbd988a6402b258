"""JSON as it is written: what is read back is what was there, laid out as the standard library does."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scorehost.model.json import canonical, dump

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(deadline=None)
@given(VALUES)
@example({"a": [], "b": {}, "c": [[1, {"d": "\x00\u2028é"}]], "e": "NaN and Infinity", "n": 10**40})
def test_a_dump_is_laid_out_as_the_standard_library_indents(value):
    assert dump(value) == json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


@settings(deadline=None)
@given(st.lists(st.integers() | NUMBERS))
@example([5e-324, 1.7976931348623157e308, -0.0, 1e-9, 1e22])
def test_every_number_comes_back_as_it_was(value):
    for data in (dump(value), canonical(value)):
        assert repr(json.loads(data)) == repr(value)


@pytest.mark.parametrize("write", [dump, canonical])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_of_json_is_refused(write, number):
    with pytest.raises(ValueError, match="Out of range float values"):
        write({"metrics": [number]})


@pytest.mark.parametrize("write", [dump, canonical])
def test_what_is_no_unicode_text_is_written_escaped(write):
    assert json.loads(write({"a\udcff": ["\udcfe"]})) == {"a\\udcff": ["\\udcfe"]}

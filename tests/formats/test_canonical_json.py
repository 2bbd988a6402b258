"""Canonical JSON is RFC 8785: its published vectors, and what it refuses."""

from __future__ import annotations

import hashlib
import json
import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorehost.model.canonical import jcs, jcs_digest, uncanonical
from scorehost.model.json import BadJson

# RFC 8785, appendix B: the bits of a double, and how it is written.
NUMBERS = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "written"), NUMBERS)
def test_numbers_are_written_as_appendix_b_writes_them(bits, written):
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert jcs(number) == written.encode()


def test_the_sample_of_section_3_2_2_comes_out_as_section_3_2_4_has_it():
    source = r"""{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    wanted = (
        r'{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        r'"string":"' + "\u20ac" + r"$\u000f\nA" + "'" + r'B\"\\\\\"/"}'
    )
    assert jcs(json.loads(source)) == wanted.encode()


def test_keys_are_sorted_by_utf_16_code_units_as_section_3_2_3_has_it():
    source = {
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\U0001f600": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis",
    }
    assert list(json.loads(jcs(source)).values()) == [
        "Carriage Return",
        "One",
        "Control",
        "Latin Small Letter O With Diaeresis",
        "Euro Sign",
        "Emoji: Grinning Face",
        "Hebrew Letter Dalet With Dagesh",
    ]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"seed": [0, 2**53]}, "seed[1]: a whole number beyond 2^53-1"),
        (-(2**53), "a whole number beyond 2^53-1"),
        pytest.param(10**5000, "a whole number beyond 2^53-1", id="5000 digits"),
        ({"a": {"b": "\ud800"}}, "a.b: text with a lone surrogate"),
        ({"\udfff": 1}, "a key that is not text"),
        ({1: 1}, "a key that is not text"),
        ([math.nan], "[0]: a number that is not finite"),
        ([-math.inf], "[0]: a number that is not finite"),
    ],
)
def test_what_has_no_canonical_form_is_refused_by_its_place(value, words):
    with pytest.raises(BadJson) as caught:
        jcs(value)
    assert words in str(caught.value)
    assert words in uncanonical(value)


@pytest.mark.parametrize("value", [2**53 - 1, -(2**53) + 1, True, "\U0001f600", 1e300, [], {}])
def test_everything_else_has_one(value):
    assert uncanonical(value) == ""
    assert json.loads(jcs(value)) == value


def test_a_digest_is_the_sha256_of_the_canonical_bytes():
    assert (
        jcs_digest({"b": 1.0, "a": "ä"}) == "sha256:" + hashlib.sha256('{"a":"ä","b":1}'.encode()).hexdigest()
    )


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.text()
    | st.floats(allow_nan=False, allow_infinity=False)
)


@given(st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20))
def test_canonical_bytes_say_the_same(value):
    assert json.loads(jcs(value), parse_int=float) == value  # every number is a double

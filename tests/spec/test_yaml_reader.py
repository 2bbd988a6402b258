"""Strict YAML: each input that readers disagree about, or that expands, is one message with its place."""

from __future__ import annotations

import resource
import time

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scorehost.errors import SpecError
from scorehost.spec import yaml_reader
from scorehost.spec.yaml_reader import MAX_BYTES, MAX_DEPTH, parse_yaml
from scorehost.spec.yaml_tree import find, plain

# One second for an input; the fixture only chooses the parser.
BOUNDED = settings(
    max_examples=300, deadline=1000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
LOADERS = [yaml.SafeLoader, *([yaml.CSafeLoader] if yaml.__with_libyaml__ else [])]


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.__name__, autouse=True)
def either_parser(request, monkeypatch):
    monkeypatch.setattr(yaml_reader, "_LOADER", request.param)


def told(data):
    with pytest.raises(SpecError) as caught:
        parse_yaml(data, file="t.yaml")
    return [str(problem) for problem in caught.value.problems]


def value(data):
    return plain(parse_yaml(data, file="t.yaml"))


@pytest.mark.parametrize(
    ("data", "start", "says"),
    [
        (b"a: 1\na: 2\n", "t.yaml:2:1:", "stands twice, first in line 1"),
        (b"a:\n  b:\n    - c: 1\n      c: 2\n", "t.yaml:4:7: a.b[0].c:", "stands twice, first in line 3"),
        (b"stages: {audit: 1, audit: 2}\n", "t.yaml:1:20: stages.audit:", "stands twice"),
        (b"network: no\n", "t.yaml:1:10: network: `no`", "quote it"),
        (b"network: Off\n", "t.yaml:1:10: network: `Off`", "quote it"),
        (b"network: y\n", "t.yaml:1:10: network: `y`", "quote it"),
        (b"envs:\n  on: 1\n", "t.yaml:2:3: envs: `on`", "quote it"),
        (b"envs:\n  n: 1\n", "t.yaml:2:3: envs: `n`", "quote it"),
        (b"1: x\n", "t.yaml:1:1: the key `1` is a number", "quote it"),
        (b"true: x\n", "t.yaml:1:1: the key `true` is a boolean", "quote it"),
        (b"null: x\n", "t.yaml:1:1: the key `null` is empty", "quote it"),
        (b"memory_mb: 1:30\n", "t.yaml:1:12: memory_mb: `1:30`", "base 60"),
        (b"user: 0100\n", "t.yaml:1:7: user: `0100`", "octal"),
        (b"mode: 0o644\n", "t.yaml:1:7: mode: `0o644`", "octal"),
        (b"mode: 0x1F\n", "t.yaml:1:7: mode: `0x1F`", "decimal"),
        (b"c: 1_000\n", "t.yaml:1:4: c: `1_000`", "without `_`"),
        (b"date: 2024-01-31\n", "t.yaml:1:7: date: `2024-01-31`", "quote it"),
        (b"date: 2024-01-31 10:00:00\n", "t.yaml:1:7: date: ", "quote it"),
        (b"x: .nan\n", "t.yaml:1:4: x: `.nan`", "finite"),
        (b"x: -.inf\n", "t.yaml:1:4: x: `-.inf`", "finite"),
        (b"x: 1e999\n", "t.yaml:1:4: x: `1e999`", "smaller number"),
        (b"x: " + b"1" * 5000 + b"\n", "t.yaml:1:4: x: ", "300 digits"),
        (b"x: &anchor 1\n", "t.yaml:1:4: x: an anchor", "Remove it"),
        (b"x: *nowhere\n", "t.yaml:1:4: x: an alias", "Write the value out"),
        (b"x: {<<: {a: 1}}\n", "t.yaml:1:5: x: a merge key", "Write the keys out"),
        (b"x: !!str 1\n", "t.yaml:1:4: x: a tag", "quote the value"),
        (b"x: !!python/object:os.system {}\n", "t.yaml:1:4: x: a tag", "Remove it"),
        (b"x:\n\ty: 1\n", "t.yaml:2:1: a tab", "Indent with spaces"),
        (b"\xef\xbb\xbfx: 1\n", "t.yaml:1:1: starts with a byte order mark", "without BOM"),
        (b"x: 1\r\nz: 2\r\n", "t.yaml:1:5: line ends are CRLF", "LF"),
        (b"x: 1\ny: \xff\n", "t.yaml:2:4: not UTF-8", "Save the file as UTF-8"),
        ("x: 1\n".encode("utf-16"), "t.yaml:1:1: not UTF-8", "Save the file as UTF-8"),
        (b"", "t.yaml:1:1: the file is empty", "format"),
        (b"# nothing\n", "t.yaml:1:1: the file is empty", "format"),
        (b"x: 1\n---\ny: 2\n", "t.yaml:2:1: a second document", "one document"),
        (b"- x\n", "t.yaml:1:1: the file must be a mapping", "key: value"),
        (b"x: a\x07b\n", "t.yaml:1:5: a control character (U+0007)", "Remove it"),
        (b"? [a, b]\n: 1\n", "t.yaml:1:3: a list or mapping as a key", "A key is text"),
        (b"x: [1\ny: 2\n", "t.yaml:2:2: not YAML", "Mend the line"),
        (b"x: " + b"[" * 40 + b"]" * 40 + b"\n", "t.yaml:1:35: x[0]", f"deeper than {MAX_DEPTH} levels"),
        (b"x: '" + b"a" * MAX_BYTES + b"'\n", "t.yaml:1:1: larger than", "file of its own"),
    ],
)
def test_what_is_ambiguous_or_expands_is_one_message_with_place_and_remedy(data, start, says):
    problems = told(data)
    assert len(problems) == 1, problems
    assert problems[0].startswith(start)
    assert says in problems[0]


def test_an_anchor_that_holds_itself_is_refused():
    first, second = told(b"x: &a [*a]\n")
    assert first.startswith("t.yaml:1:4: x: an anchor")
    assert second.startswith("t.yaml:1:8: x[0]: an alias")


def test_all_problems_of_a_file_are_told_together_in_order_of_place():
    places = [line.split(" ")[0] for line in told(b"a: no\nb: 0100\na: 1\nc: *d\n")]
    assert places == ["t.yaml:1:4:", "t.yaml:2:4:", "t.yaml:3:1:", "t.yaml:4:4:"]


def test_quoted_text_that_looks_like_something_else_is_text():
    assert value(b"a: \"no\"\nb: '0100'\n\"on\": '1:30'\n") == {"a": "no", "b": "0100", "on": "1:30"}


def test_plain_values_are_what_json_says():
    data = b"t: text\ni: -12\nf: 1e-6\ng: 2.50\nb: [true, false]\nz: null\ne:\nv: 3.12-slim\nu: a:b\n"
    assert value(data) == {
        "t": "text",
        "i": -12,
        "f": 1e-6,
        "g": 2.5,
        "b": [True, False],
        "z": None,
        "e": None,
        "v": "3.12-slim",
        "u": "a:b",
    }


def test_every_key_and_value_keeps_its_line_and_column():
    tree = parse_yaml(b"a:\n  b:\n    - c\n    - d: e\n", file="t.yaml")
    found = find(tree, ("a", "b", 1, "d"))
    assert (found.key, found.key_place.line, found.key_place.column) == ("a.b[1].d", 4, 7)
    assert (found.place.line, found.place.column) == (4, 10)


def test_an_alias_bomb_is_refused_in_a_second_and_little_memory():
    lines = [b"a0: &a0 [x, x]"]
    lines += [b"a%d: &a%d [*a%d, *a%d, *a%d]" % (n, n, n - 1, n - 1, n - 1) for n in range(1, 40)]
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    problems = told(b"\n".join(lines) + b"\n")
    assert time.perf_counter() - start < 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024  # KiB
    assert "an anchor" in problems[0]
    assert "Mend the ones above first" in problems[-1]
    assert len(problems) < 30


def test_a_hundred_thousand_open_brackets_end_in_a_second():
    start = time.perf_counter()
    told(b"x: " + b"[" * 100_000)
    assert time.perf_counter() - start < 1


MARKS = [
    ": ",
    "- ",
    "? ",
    "? :",
    "[",
    "]",
    "{",
    "}",
    ",",
    "&x ",
    "*x",
    "!t ",
    "<<",
    "'",
    '"',
    "|",
    ">",
    "%",
    "#",
]
WORDS = ["a", "b", "no", "0100", "1:30", "null", "\\", "é", "\U0001f600", "\ufeff", "\x00", "\t", "\r"]
PIECES = st.sampled_from([*MARKS, *WORDS, "\n", "\n  ", "  ", "\n---\n", "\n...\n"])


def told_or_read(data):
    """The problems of `data`, or none and a mapping; whatever else comes out fails the test."""
    try:
        assert isinstance(plain(parse_yaml(data, file="t.yaml")), dict)
    except SpecError as error:
        return error.problems
    return None


@BOUNDED
@given(st.lists(PIECES, max_size=60).map("".join).map(str.encode))
def test_of_any_yaml_like_text_only_a_mapping_or_problems_with_places_come(data):
    problems = told_or_read(data)
    assert problems is None or (problems and all(each.line >= 1 and each.column >= 1 for each in problems))


@BOUNDED
@given(st.binary(max_size=300))
def test_of_any_bytes_only_a_mapping_or_problems_come(data):
    assert told_or_read(data) != []

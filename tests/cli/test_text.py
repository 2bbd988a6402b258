"""Names and reasons that others wrote cannot act on a terminal."""

from __future__ import annotations

import pytest

from scorehost.cli.text import shorten, typed, visible


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb\nc\td", "a\\x0db\\x0ac\\x09d"),
        ("\x9b2J", "\\x9b2J"),
        ("abc\u202edef", "abc\\u202edef"),
        ("line\u2028two", "line\\u2028two"),
        ("\udcff", "\\udcff"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("größe 😀", "größe 😀"),
    ],
)
def test_control_and_format_characters_come_out_escaped_and_letters_stay(given, shown):
    assert visible(given) == shown


def test_only_what_is_asked_for_is_kept():
    assert visible("a\nb\r", keep="\n") == "a\nb\\x0d"


def test_a_shortened_text_fits_and_says_that_it_was_cut():
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abcd", 4) == "abcd"


def test_a_path_below_the_working_directory_is_shown_as_one_types_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert typed(tmp_path / "runs" / "j") == "runs/j"
    assert typed("runs/j") == "runs/j"
    assert typed(tmp_path.parent / "elsewhere") == str(tmp_path.parent / "elsewhere")

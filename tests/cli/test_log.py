"""The log: key=value on stderr, one line an event, and no secret in it."""

from __future__ import annotations

import pytest
import structlog

from scorehost import log
from scorehost.spec.own_secrets import own_masker

HIDDEN = "value-that-nobody-may-see"


@pytest.fixture
def configured(monkeypatch):
    """Sets the log up with a secret in the environment; puts structlog back afterwards."""
    monkeypatch.setenv("MY_API_TOKEN", HIDDEN)

    def configure(verbose):
        log.configure(verbose, mask=own_masker().text)
        return structlog.get_logger()

    yield configure
    structlog.reset_defaults()


def test_an_event_is_one_line_of_key_value_pairs(configured, capsys):
    configured(1).info("two words", b=2, a="x y", c="line\nbreak \x1b[2J")
    said = capsys.readouterr()
    assert said.out == ""
    (line,) = said.err.splitlines()
    assert line.startswith("time=")
    assert line.endswith(r'level=info event="two words" a="x y" b=2 c="line\nbreak \u001b[2J"')


def test_secrets_of_the_environment_and_logins_in_addresses_do_not_appear(configured, capsys):
    logger = configured(2)
    fields = {"url": "https://user:hunter22@host/x", "text": f"Bearer {HIDDEN}!", "db_password": "hunter22"}
    logger.warning("call", **fields)
    logger.debug(f"told {HIDDEN}")  # noqa: G004 - the text itself holds it
    said = capsys.readouterr().err
    assert HIDDEN not in said
    assert "hunter22" not in said
    assert said.count("[secret]") == 4


def test_the_text_of_an_exception_is_not_logged_since_it_may_quote_gold(configured, capsys):
    try:
        int("expected answer: forty-two")
    except ValueError:
        configured(0).exception("an attempt broke")
    said = capsys.readouterr().err
    assert "forty-two" not in said
    assert "exception=ValueError" in said


@pytest.mark.parametrize(("verbose", "seen"), [(0, {"w"}), (1, {"w", "i"}), (2, {"w", "i", "d"})])
def test_verbose_decides_what_is_said(configured, capsys, verbose, seen):
    logger = configured(verbose)
    logger.debug("d")
    logger.info("i")
    logger.warning("w")
    assert {line.rpartition("event=")[2] for line in capsys.readouterr().err.splitlines()} == seen

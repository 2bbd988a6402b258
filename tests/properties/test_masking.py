"""Masking: no form of a known secret passes, whatever stands around it and however it is cut."""

from __future__ import annotations

import base64
import json
import tracemalloc
import urllib.parse

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scorehost.model.masking import (
    HIDDEN,
    Masker,
    docker_config_secrets,
    environment_secrets,
    looks_secret,
)
from scorehost.spec.own_secrets import own_masker, secrets_in_files

SECRET = "s3cr3t/V+lue~=42"  # noqa: S105 - a test's
values = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=8, max_size=40).filter(
    lambda text: len(text.strip()) >= 8
)
around = st.binary(max_size=30)


@given(values, st.text(st.characters(codec="utf-8"), max_size=20))
@example('p@ss w/ö"\\rd%1!', "")
@example("\n----PRIVATE\nKEY----\n", "")
@example("pass\t wor \nd", "")
def test_every_form_of_a_value_is_masked(value, before):
    value = value.strip()
    masker = Masker([value])
    forms = {
        value,
        urllib.parse.quote(value, safe=""),
        urllib.parse.quote(value),
        urllib.parse.quote_plus(value),
        urllib.parse.quote(value, safe="").lower() if value.islower() else value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        base64.b64encode(value.encode()).decode(),
        base64.urlsafe_b64encode(value.encode()).decode(),
    }
    for form in forms:
        # What stands before may end in a sign that, with the form's first, is an escape of its own.
        masked = masker.text(f"{before} {form} after")
        assert form not in masked or form in HIDDEN, form
        assert HIDDEN in masked


@given(values, st.binary(max_size=20), st.binary(max_size=20))
def test_of_a_value_inside_longer_base64_less_than_one_sign_at_each_end_is_left(value, before, after):
    value = value.strip()
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + value.encode() + after).decode()
        masked = Masker([value]).text(text)
        assert HIDDEN in masked
        head, _, tail = masked.partition(HIDDEN)
        # Digits that stay belong to the bytes around it, and one on each side to both.
        assert len(head) <= len(before) * 8 // 6 + 1
        assert len(tail.rstrip("=")) <= -(-len(after) * 8 // 6) + 1


@given(
    st.lists(values, min_size=1, max_size=3),
    st.lists(st.one_of(around, st.integers(0, 2)), max_size=8),
    st.data(),
)
def test_cut_anywhere_a_stream_gives_what_the_whole_gives(secrets, parts, data):
    masker = Masker(secrets)
    forms = [form for value in secrets for form in (value.encode(), base64.b64encode(value.encode()))]
    text = b"".join(forms[part % len(forms)] if isinstance(part, int) else part for part in parts)
    stream = masker.stream()
    told = b""
    while text_left := text[:]:
        size = data.draw(st.integers(1, len(text_left)))
        told += stream.feed(text_left[:size])
        text = text_left[size:]
    told += stream.end()
    whole = b"".join(forms[part % len(forms)] if isinstance(part, int) else part for part in parts)
    assert told == masker.data(whole)


@pytest.mark.parametrize("size", range(1, 40))
def test_a_value_in_pieces_of_every_size_is_masked(size):
    text = b"before " + SECRET.encode() + b" between " + base64.b64encode(SECRET.encode()) + b" after"
    stream = Masker([SECRET]).stream()
    told = b"".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size)) + stream.end()
    assert told == b"before [secret] between [secret] after"


@given(around)
def test_bytes_without_a_value_stay_the_very_same(data):
    masker = Masker([SECRET])
    if SECRET.encode() not in data:
        assert masker.data(data) == data
    assert Masker().data(data) is data


@given(st.text())
def test_any_text_can_be_masked(text):
    assert Masker([SECRET]).text(text) == text.replace(SECRET, HIDDEN)


def test_a_longer_value_that_begins_like_a_shorter_one_leaves_no_rest():
    assert Masker(["password1", "password12345"]).text("password12345!") == "[secret]!"


def test_a_line_of_a_key_file_is_masked_alone():
    key = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA1234\nAbCdEfGhIjKlMnOpQrSt\n-----END KEY-----\n"
    masked = Masker([key]).text("  MIIEowIBAAKCAQEA1234\n-----END KEY-----\n")
    assert masked == "  [secret]\n-----END KEY-----\n"


def test_masking_a_tree_keeps_numbers_and_keys():
    masked = Masker(["12345678"]).tree({"12345678": [12345678, "x12345678", None, True]})
    assert masked == {"12345678": [12345678, "x[secret]", None, True]}


def test_short_values_are_left_alone():
    assert Masker(["", "yes", "1234567", "   a   "]).text("yes 1234567 a") == "yes 1234567 a"


def test_a_stream_holds_no_more_than_its_longest_form():
    stream = Masker([SECRET]).stream()
    piece = b"x" * 65_536
    stream.feed(piece)
    tracemalloc.start()
    for _ in range(200):
        stream.feed(piece)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1024 * 1024


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        *(
            (name, True)
            for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD")
        ),
        *((name, True) for name in ("mysql_pwd", "client-secret", "npm_config__auth", "PASSWD", "HF_TOKENS")),
        *((name, False) for name in ("PATH", "PWD", "OLDPWD", "KEYBOARD", "SSH_AUTH_SOCK", "MAX_TOKENS")),
        *((name, False) for name in ("TOKENIZERS_PARALLELISM", "LANG")),
    ],
)
def test_a_name_says_whether_its_value_is_secret(name, secret):
    assert looks_secret(name) is secret


def test_logins_inside_addresses_of_any_variable_are_secret():
    found = environment_secrets({"https_proxy": "http://me:p%40ssword1@proxy:3128", "URL": "http://host/x"})
    assert found == {"me:p%40ssword1", "p%40ssword1", "p@ssword1"}


def test_secrets_of_a_docker_configuration():
    login = base64.b64encode(b"me:registry-password").decode()
    config = {
        "auths": {
            "registry.test": {"auth": login, "email": "me@example.org"},
            "b": {"identitytoken": "an-identity"},
        },
        "proxies": {"default": {"httpProxy": "http://u:proxy-password@p:1", "noProxy": "localhost"}},
        "credsStore": "pass",
        "HttpHeaders": {"X-Meta-Token": "header-value"},
    }
    assert docker_config_secrets(config) == {
        *(login, "me:registry-password", "registry-password"),
        *("an-identity", "u:proxy-password", "proxy-password", "header-value"),
    }


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_a_docker_configuration_of_any_shape_is_read(config):
    docker_config_secrets(config)
    docker_config_secrets({"auths": config, "auth": config})


def test_where_a_secret_lies_is_none_and_what_lies_there_is(tmp_path, monkeypatch):
    place = tmp_path / "database-password"
    place.write_text(f"{SECRET}\n")
    environment = {
        "DB_PASSWORD_FILE": str(place),
        "TOKEN_PATH": str(tmp_path / "none"),
        "PASSWORD": "hunter-2000",
    }
    assert environment_secrets(environment) == {"hunter-2000"}
    assert secrets_in_files(environment) == {SECRET}
    monkeypatch.setenv("DB_PASSWORD_FILE", str(place))
    told = own_masker().text(f"read {SECRET} from {place}")
    assert told == f"read {HIDDEN} from {place}"

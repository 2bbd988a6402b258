"""profiles.yaml: defaults, misfits, and secrets that are refused and never printed."""

from __future__ import annotations

import pytest

from scorehost.spec.loading import load_dataset

HEAD = "format: scorehost.profiles/1\n"


KEYS = {"base_url": "http://127.0.0.1:8000/v1", "model": "some/model"}


def role(text):
    """A file with one sound role, and `text` in it (which comes first, and may take the place of a key)."""
    rest = ", ".join(f"{key}: {value!r}" for key, value in KEYS.items() if f"{key}:" not in text)
    return f"{HEAD}agent_profiles:\n  judge: {{executor: openai, {text}, {rest}}}\n"


def test_without_a_file_profiles_are_the_defaults_of_the_formats_page(folder):
    (folder.root / "profiles.yaml").unlink()
    found = folder.load().profiles
    assert (found.environment, found.concurrency, found.engine.host) == ("docker", "auto", None)
    assert (found.evaluate_host.docker_image, found.evaluate_host.warm) == ("scorehost/python:3", 1)
    assert (found.evaluate_host.isolated, found.evaluate_host.runtime) == (True, None)


def test_another_file_replaces_the_datasets_profiles(folder, tmp_path):
    (tmp_path / "mine.yaml").write_text(HEAD + "concurrency: 7\n")
    assert folder.load(profiles=tmp_path / "mine.yaml").profiles.concurrency == 7
    assert "there is no such file" in folder.problem(profiles=tmp_path / "nowhere.yaml")


@pytest.mark.parametrize(
    ("line", "start"),
    [
        ("concurrency: 0", "2:14: concurrency: must be at least 1; or it must be `auto`"),
        (
            "concurrency: many",
            "2:14: concurrency: a whole number is wanted, and this is text; or it must be `auto`",
        ),
        ("evaluate_host: {warm: -1}", "2:23: evaluate_host.warm: must be at least 0"),
        (
            "evaluate_host: {docker: x}",
            "2:17: evaluate_host.docker: unknown key. Did you mean `docker_image`?",
        ),
        ("engine: tcp", "2:9: engine: a mapping is wanted"),
        ("run_host: {network: bridge}", "2:1: run_host: not yet: the run phase"),
    ],
)
def test_a_misfit_is_told_with_its_place(folder, line, start):
    folder.write("profiles.yaml", HEAD + line + "\n")
    assert folder.problem().startswith(f"profiles.yaml:{start}")


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("api_key: sk-proj-0123456789abcdef", "0123456789abcdef"),
        ("api_key: plainword99", "plainword99"),
        ("token: 12345678", "12345678"),
        ("password: hunter2-hunter2", "hunter2"),
        ("AUTH_TOKEN: abcdefgh", "abcdefgh"),
        ("parameters: {secret: abcdefgh}", "abcdefgh"),
        ("parameters: {secrets_token: [abcdefgh]}", "abcdefgh"),
        ("model: ghp_0123456789abcdefghij", "0123456789abcdefghij"),
        ("model: Bearer abcdef0123456789", "abcdef0123456789"),
        ("base_url: 'https://someone:letmein@127.0.0.1/v1'", "letmein"),
        ("model: 'x AKIA0123456789ABCDEF z'", "0123456789ABCDEF"),
    ],
)
def test_a_literal_secret_is_refused_and_its_value_never_printed(folder, text, secret):
    folder.write("profiles.yaml", role(text))
    problem = folder.problem()
    assert problem.startswith("profiles.yaml:3:")
    assert "looks like, a secret. Write `${NAME}`" in problem
    assert secret not in problem


def test_the_value_of_a_passed_variable_is_refused_wherever_it_stands(folder, monkeypatch):
    monkeypatch.setenv("PROVIDER_API_KEY", "correct-horse-battery")
    folder.write("profiles.yaml", role("pass_env: [PROVIDER_API_KEY], model: correct-horse-battery"))
    problem = folder.problem()
    assert "looks like, a secret" in problem
    assert "correct-horse" not in problem


def test_no_message_about_profiles_holds_a_value(folder):
    folder.write(
        "profiles.yaml", HEAD + "concurrency: hidden-a\nenvironment: 0100200\nengine: {host: 42424242}\n"
    )
    text = "\n".join(folder.problems())
    assert text.count("profiles.yaml:") == 3
    assert not any(value in text for value in ("hidden-a", "0100200", "42424242"))


def test_references_and_plain_words_are_no_secrets(folder):
    numbers = "parameters: {max_output_tokens: 1024, max_token: 5}"
    text = f"api_key: '${{PROVIDER_API_KEY}}', model: provider/judge-2026-07-13, {numbers}"
    folder.write("profiles.yaml", role(text))
    assert "judge" in folder.load().profiles.agent_profiles


def test_roles_that_no_task_uses_are_read_and_kept(folder):
    folder.write("profiles.yaml", role("timeout_seconds: 180"))
    dataset = load_dataset(folder.root)
    bound = dataset.profiles.agent_profiles["judge"]
    assert (bound.executor, bound.timeout_seconds, bound.model) == ("openai", 180, "some/model")

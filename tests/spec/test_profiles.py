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


def test_scoring_in_the_run_phases_container_goes_with_no_network_only(folder):
    folder.write("profiles.yaml", HEAD + "evaluate_host: {isolated: false}\nrun_host: {network: none}\n")
    assert folder.load().profiles.evaluate_host.isolated is False
    folder.write("profiles.yaml", HEAD + "evaluate_host: {isolated: false}\nrun_host: {network: bridge}\n")
    told = folder.problem()
    assert told.startswith("profiles.yaml:3:21: run_host.network: with `evaluate_host.isolated: false` gold")
    assert told.endswith("Write `network: none`, or `isolated: true`")


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
        ("run_host: {network: 'container:x'}", "2:21: run_host.network: the name of a network"),
        ("run_host: {network: host}", "2:21: run_host.network: the name of a network"),
        ("run_host: {network: no}", "2:21: run_host.network: the value is a boolean to some"),
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


@pytest.fixture
def adapter(folder):
    """An adapter's script beside profiles.yaml."""
    return folder.write("adapters/judge.py", "print()\n")


def command(text, base="command: [python3, adapters/judge.py]"):
    return f"{HEAD}agent_profiles:\n  judge: {{executor: command, {base}{', ' if text else ''}{text}}}\n"


def test_a_role_of_a_program_has_the_defaults_of_the_agents_page(folder, adapter):
    folder.write("profiles.yaml", command(""))
    role = folder.load().profiles.agent_profiles["judge"]
    assert (role.command, role.timeout_seconds) == (("python3", "adapters/judge.py"), 180)
    assert (role.retries, role.pass_env, role.modes, role.parameters) == (0, (), None, {})
    assert (role.max_concurrent, role.requests_per_minute, role.adapter_user) == (None, None, None)


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("timeout_seconds: 0", "timeout_seconds: must be greater than 0"),
        ("timeout_seconds: 3601", "timeout_seconds: must be at most 3600"),
        ("retries: -1", "retries: must be at least 0"),
        ("retries: 1.5", "retries: a whole number is wanted"),
        ("modes: [session, talk]", "modes[1]: must be"),
        ("modes: []", "modes: is empty"),
        ("pass_env: [A-B]", "pass_env: names of environment variables are wanted"),
        ("pass_env: [HOME]", "pass_env: PATH, LANG"),
        ("max_concurrent: 0", "max_concurrent: must be at least 1"),
        ("requests_per_minute: 0", "requests_per_minute: must be greater than 0"),
        ("base_url: 'http://127.0.0.1/v1'", "base_url: is for `executor: openai`"),
        ("timeout: 5", "timeout: unknown key. Did you mean `timeout_seconds`?"),
    ],
)
def test_a_misfit_of_a_role_is_told_with_its_place(folder, adapter, text, start):
    folder.write("profiles.yaml", command(text))
    problem = folder.problem()
    assert problem.startswith("profiles.yaml:3:")
    assert f": agent_profiles.judge.{start}" in problem


@pytest.mark.parametrize(
    ("base", "says"),
    [
        ("command: []", "is missing. Write the adapter's command"),
        ("command: [adapters/judge.py]", "the program is a relative path"),
        ("command: [no-such-program-here]", "the program is not on the fixed PATH (/usr/local/sbin:"),
        ("command: [/no/such/program]", "the program is not there"),
        ("command: [/etc/passwd]", "the program is not there, or may not be executed"),
        ("command: [python3]", "names no script"),
        ("command: [python3, -m, judge]", "names no script"),
        ("command: [python3, adapters/other.py]", "the script (argument 1) is not there"),
        ("command: python3 adapters/judge.py", "a list is wanted"),
    ],
)
def test_a_command_that_cannot_be_found_is_a_load_error(folder, adapter, base, says):
    folder.write("profiles.yaml", command("", base))
    assert says in folder.problem()


def test_a_script_is_found_after_options_and_by_an_absolute_path(folder, adapter):
    folder.write("profiles.yaml", command("", f"command: [python3, -I, {adapter}, --fast]"))
    assert folder.load().profiles.agent_profiles["judge"].command[2] == str(adapter)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("base_url: 127.0.0.1:8000", "base_url: the address of an OpenAI-compatible endpoint is wanted"),
        ("model: ''", "model: the name of a model is wanted"),
        ("parameters: {stream: true}", "parameters: stream: the request sets this itself"),
        ("modes: [behavior]", "modes: an endpoint plays session and judge only"),
        ("command: [python3]", "command: is for `executor: command`"),
        ("adapter_user: nobody", "adapter_user: is for `executor: command`"),
    ],
)
def test_a_misfit_of_an_endpoint_is_told(folder, text, says):
    folder.write("profiles.yaml", role(text))
    assert f"agent_profiles.judge.{says}" in folder.problem()


def test_a_role_without_a_binding_is_a_load_error_at_its_place(folder):
    folder.write("profiles.yaml", role("timeout_seconds: 1"))
    folder.task("agent_profiles:\n  - id: judge\n  - id: judg\n")
    assert folder.problem() == (
        "tasks/one/task.yaml:5:9: agent_profiles[1].id: the role `judg` has no binding. Did you mean `judge`?"
    )


def test_a_role_that_is_listed_twice_is_a_load_error(folder):
    folder.write("profiles.yaml", role("timeout_seconds: 1"))
    folder.task("agent_profiles: [{id: judge}, {id: judge}]\n")
    assert folder.problem().startswith(
        "tasks/one/task.yaml:3:36: agent_profiles[1].id: `judge` is listed twice"
    )


def test_a_binding_with_a_problem_is_told_once_and_its_role_is_bound(folder):
    folder.write("profiles.yaml", role("retries: many"))
    folder.task("agent_profiles: [{id: judge}]\n")
    assert folder.problem().startswith("profiles.yaml:3:")


@pytest.mark.parametrize("name", ["Judge", "judge one", "1st"])
def test_a_roles_name_is_small_letters_digits_and_signs(folder, name):
    folder.write("profiles.yaml", role("retries: 0").replace("judge:", f"'{name}':"))
    assert "a role's name is small letters" in folder.problem()


def test_the_user_of_adapters_may_stand_for_the_whole_file(folder):
    folder.write("profiles.yaml", HEAD + "adapter_user: nobody\n")
    assert folder.load().profiles.adapter_user == "nobody"

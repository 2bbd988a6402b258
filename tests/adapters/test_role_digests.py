"""What answers for a role has a digest: over its model, parameters and files, and over nothing else."""

from __future__ import annotations

import hashlib

import pytest

from scorehost.errors import UsageError
from scorehost.scoring.rescore.changes import roles_now
from scorehost.spec.commands import resolve_command
from scorehost.spec.dataset import Dataset
from scorehost.spec.digests import role_digest
from scorehost.spec.profiles import Profiles
from scorehost.spec.roles import Role

ENDPOINT = Role(
    executor="openai", base_url="http://127.0.0.1:8000/v1", model="m", parameters={"temperature": 1.0}
)


def test_the_digest_of_an_endpoint_is_what_sha256sum_makes_of_the_documented_json():
    text = '{"arguments":[],"executor":"openai","files":{},"model":"m","parameters":{"temperature":1}}'
    assert role_digest(ENDPOINT, None) == "sha256:" + hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("change", [{"model": "n"}, {"parameters": {"temperature": 0}}, {"parameters": {}}])
def test_model_and_parameters_change_it(change):
    assert role_digest(ENDPOINT.model_copy(update=change), None) != role_digest(ENDPOINT, None)


@pytest.mark.parametrize(
    "change", [{"base_url": "http://127.0.0.1:9/v1"}, {"timeout_seconds": 1.0}, {"retries": 3}]
)
def test_where_and_how_patiently_it_is_asked_does_not(change):
    assert role_digest(ENDPOINT.model_copy(update=change), None) == role_digest(ENDPOINT, None)


def command(folder, content="print()", *arguments):
    folder.mkdir(exist_ok=True)
    (folder / "judge.py").write_text(content)
    role = Role(executor="command", command=("python3", "judge.py", *arguments), model="m")
    return role_digest(role, resolve_command(role.command, folder))


def test_an_adapters_file_and_arguments_change_it_and_where_it_lies_does_not(tmp_path):
    one = command(tmp_path / "one")
    assert command(tmp_path / "two") == one
    assert command(tmp_path / "two", "print(1)") != one
    assert command(tmp_path / "two", "print()", "--strict") != one


def test_parameters_without_a_canonical_form_are_refused_by_their_place():
    role = ENDPOINT.model_copy(update={"parameters": {"seed": 2**60}})
    with pytest.raises(UsageError, match=r"parameters\.seed: a whole number beyond 2\^53-1"):
        role_digest(role, None)


def test_a_role_whose_program_has_gone_is_told_to_be_unknown(tmp_path):
    gone = Role(executor="command", command=("python3", "gone.py"))
    dataset = Dataset(
        root=tmp_path,
        dataset_id="d",
        version="1",
        profiles=Profiles(agent_profiles={"judge": ENDPOINT, "gone": gone}),
        profiles_path=tmp_path / "profiles.yaml",
        tasks={},
    )
    assert roles_now(dataset) == {"judge": role_digest(ENDPOINT, None), "gone": None}

"""manifest.json and salts.json: nobody can guess what is private, and who holds it can still prove it."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scripted_results import second_with

from scorehost.model.check import CheckRow
from scorehost.model.result import read_result
from scorehost.runs.draft import drafted
from scorehost.runs.manifest import (
    ManifestFile,
    agrees,
    fresh_salts,
    listed_digest,
    read_manifest,
)
from scorehost.runs.private import is_private, private_metrics, result_salt
from scorehost.runs.reader import Reader

PRIVATE, PUBLIC = CheckRow(id="a", status="PASS"), CheckRow(id="b", status="FAIL", visibility="public")


def test_a_salted_digest_is_what_sha256sum_makes_of_salt_and_digest():
    # (printf 000102030405060708090a0b0c0d0e0f | xxd -r -p
    #  printf hello | openssl dgst -sha256 -binary) | sha256sum
    salt, sha256 = bytes(range(16)).hex(), hashlib.sha256(b"hello").hexdigest()
    wanted = "fa77b7260682b2491917cc1de4fd8ffb85e910f0cde10db449bf04a25be6474d"
    assert listed_digest(sha256, salt) == f"salted-sha256:{wanted}"
    assert listed_digest(sha256, None) == f"sha256:{sha256}"


@pytest.mark.parametrize(
    ("path", "checks", "private"),
    [
        ("result.json", (PRIVATE,), False),
        ("evaluation/checks.json", (PUBLIC,), False),
        ("evaluation/checks.json", (), False),
        ("evaluation/checks.json", (PUBLIC, PRIVATE), True),
        ("evaluation/observation.jsonl", (), True),
        ("evaluation/calls/1/call.json", (), True),
        ("run/calls/1/request.json", (), True),
        ("logs/evaluator.log", (), True),
        ("logs/result.json", (), True),
        ("artifacts/answer.txt", (), True),
        ("workspace/x", (), True),
        ("salts.json", (), True),
        ("whatever.comes", (), True),
    ],
)
def test_what_is_private(path, checks, private):
    assert is_private(path, checks) is private


def salts_of(folder):
    with Reader(folder) as reader:
        return reader.salts()


def written(folder, checks, log=b"the gold is 42"):
    with drafted(folder) as draft:
        draft.write("logs/evaluator.log", log)
        draft.close(read_result(second_with()), checks)
    return read_manifest((folder / "manifest.json").read_bytes()), salts_of(folder)


def test_no_plain_digest_of_a_private_file_stands_anywhere(tmp_path):
    manifest, salts = written(tmp_path / "a", (PRIVATE,))
    plain = {path for path in (tmp_path / "a").rglob("*") if path.is_file()}
    plain = {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in plain}
    everything = b"".join(path.read_bytes() for path in plain).decode()
    told = {str(path.relative_to(tmp_path / "a")) for path, sha256 in plain.items() if sha256 in everything}
    assert told == {"result.json"}
    assert {file.path: file.digest.partition(":")[0] for file in manifest.files} == {
        "evaluation/checks.json": "salted-sha256",
        "logs/evaluator.log": "salted-sha256",
        "result.json": "sha256",
        "salts.json": "salted-sha256",
    }
    assert set(salts) == {"evaluation/checks.json", "logs/evaluator.log", "salts.json"}
    assert {len(bytes.fromhex(salt)) for salt in salts.values()} == {16}


def test_equal_files_of_two_attempts_have_different_digests(tmp_path):
    one, _ = written(tmp_path / "a", (PRIVATE,))
    two, _ = written(tmp_path / "b", (PRIVATE,))
    assert not {f.digest for f in one.files if f.path != "result.json"} & {
        f.digest for f in two.files if f.path != "result.json"
    }


def test_whoever_holds_the_salts_can_check_every_file(tmp_path):
    manifest, salts = written(tmp_path / "a", (PRIVATE,))
    for file in manifest.files:
        data = (tmp_path / "a" / file.path).read_bytes()
        assert agrees(file, hashlib.sha256(data).hexdigest(), salts)
        assert not agrees(file, hashlib.sha256(data + b"x").hexdigest(), salts)


def test_without_its_salt_a_private_file_agrees_with_nothing():
    sha256 = hashlib.sha256(b"x").hexdigest()
    salts = fresh_salts(["p"]).salts
    file = ManifestFile(path="p", size=1, digest=listed_digest(sha256, salts["p"]))
    assert agrees(file, sha256, salts)
    for other in ({}, {"p": ""}, {"p": "zz"}, {"p": "00" * 16}):
        assert not agrees(file, sha256, other)


@given(st.sets(st.text(), max_size=50))
def test_every_file_has_a_salt_of_its_own(paths):
    salts = fresh_salts(paths).salts
    assert set(salts) == paths
    assert len(set(salts.values())) == len(paths)


FIRST = {
    "format": "scorehost.manifest/1",
    "job_id": "j",
    "task_id": "t",
    "submission": "s",
    "sample": 1,
    "repeat": 1,
    "attempt": 2,
    "files": [{"path": "artifacts/a", "size": 3, "sha256": "ab"}],
}


def test_a_manifest_of_the_first_format_is_read():
    manifest = read_manifest(json.dumps(FIRST).encode())
    assert (manifest.try_number, manifest.kind) == (2, "score")
    assert manifest.files == (ManifestFile(path="artifacts/a", size=3, digest="sha256:ab"),)


@pytest.mark.parametrize(
    "change", [{"format": "scorehost.manifest/3"}, {"files": 1}, {"files": [{}]}, {"more": 1}]
)
def test_what_is_no_manifest_is_refused(change):
    with pytest.raises(ValidationError):
        read_manifest(json.dumps({**FIRST, **change}).encode())


def test_a_result_with_a_metric_that_its_task_does_not_declare_has_a_salt():
    # Its hash stands in events: without a salt, what is left out of a copy could be guessed from it.
    assert private_metrics({"rmse": 1, "expected": 42}, ["rmse"]) == {"expected"}
    salts = {result_salt({"rmse": 1, "expected": 42}, ["rmse"]) for _ in range(2)}
    assert {len(salt) for salt in salts} == {32}
    assert len(salts) == 2
    assert result_salt({"rmse": 1}, ["rmse", "mae"]) is None
    assert private_metrics({"rmse": "42", "mae": True, "r2": 0.5}, ["rmse", "mae", "r2"]) == {"rmse", "mae"}

"""gold.key: made once wherever that is possible, refused when it is no secret, and part of nothing else."""

from __future__ import annotations

import hashlib
import hmac
import os
import stat
import subprocess
import sys

import pytest

from scorehost.errors import SpecError, UsageError
from scorehost.hosts.recipe import Recipe
from scorehost.spec.gold_key import GoldFile, GoldKey, gold_key
from scorehost.spec.loading import load_dataset, load_task_dir
from trial import write_task

KEY = GoldKey(b"k" * 32)
GOLD = GoldFile("gold.txt", 4, executable=False, sha256=hashlib.sha256(b"gold").hexdigest())


@pytest.fixture
def root(tmp_path):
    return write_task(tmp_path / "d", "x = 1\n")


def test_a_gold_digest_is_what_openssl_makes_of_the_documented_message():
    # printf of the message | openssl dgst -sha256 -mac HMAC -macopt hexkey:6b…6b (32 times)
    assert KEY.digest([GOLD]) == "gold-hmac:d427d9276c57cff481a95e4067a06ecc7d6c54ca55c120920e499c9fe266aa51"
    message = (
        '{"files":[{"executable":false,"path":"gold.txt","sha256":'
        '"24d7f03d8dc3c3666969e6fa5bb1fac4736d3f1353c28307ed51b320f9dc42d3","size":4}],'
        '"format":"scorehost.gold/1"}'
    )
    made = hmac.new(b"k" * 32, message.encode(), "sha256").hexdigest()
    assert KEY.digest([GOLD]) == f"gold-hmac:{made}"


def test_a_keys_id_is_the_first_16_digits_of_an_hmac_of_its_own():
    # printf scorehost.gold-key/1 | openssl dgst -sha256 -mac HMAC -macopt hexkey:6b…6b
    assert KEY.id == "5dc1990b80d3e9f3"


@pytest.mark.parametrize(
    "other",
    [
        GOLD._replace(path="gold.tx"),
        GOLD._replace(size=5),
        GOLD._replace(executable=True),
        GOLD._replace(sha256=None),
    ],
)
def test_whatever_changes_of_a_file_changes_the_digest(other):
    assert KEY.digest([other]) != KEY.digest([GOLD])


def test_the_order_in_which_files_are_found_changes_nothing():
    two = GOLD._replace(path="\udcff")
    assert KEY.digest([GOLD, two]) == KEY.digest([two, GOLD])


def test_a_key_does_not_show_itself():
    assert "kkkk" not in repr(KEY) + str(KEY)


def test_the_first_need_makes_a_key_of_32_random_bytes_for_its_owner_alone(root):
    key = gold_key(load_dataset(root))
    status = (root / "gold.key").stat()
    assert (status.st_size, stat.S_IMODE(status.st_mode)) == (32, 0o600)
    assert gold_key(load_dataset(root)) == key
    assert {path.name for path in root.iterdir()} == {"dataset.yaml", "profiles.yaml", "tasks", "gold.key"}


def test_reading_a_dataset_makes_no_key(root):
    load_dataset(root)
    assert not (root / "gold.key").exists()


def test_two_datasets_have_two_keys(root, tmp_path):
    other = write_task(tmp_path / "e", "x = 1\n")
    assert gold_key(load_dataset(root)).id != gold_key(load_dataset(other)).id


def test_private_gold_has_its_key_with_it(root, tmp_path):
    private = tmp_path / "private"
    (private / "t").mkdir(parents=True)
    (private / "t/gold.txt").write_text("other")
    key = gold_key(load_dataset(root, gold=private))
    assert (private / "gold.key").read_bytes() != b""
    assert not (root / "gold.key").exists()
    assert gold_key(load_dataset(root, gold=private)) == key


def test_a_task_on_its_own_has_its_key_beside_task_yaml(root, tmp_path):
    alone = (root / "tasks/t").rename(tmp_path / "t")
    gold_key(load_task_dir(alone))
    assert (alone / "gold.key").is_file()
    assert set(load_task_dir(alone).tasks["t"].gold) == {"gold.txt"}


def test_a_dataset_in_the_other_layout_has_its_key_beside_its_root_file(root):
    (root / "dataset.yaml").unlink()
    (root / "profiles.yaml").write_text("format: ageval.profiles/1\n")
    (root / "ageval.yaml").write_text("format: ageval.dataset/1\ndataset_id: d\nversion: '1'\n")
    path = root / "tasks/t/task.yaml"
    path.write_text(path.read_text().replace("scorehost.task/1", "ageval.task/1"))
    gold_key(load_dataset(root))
    assert (root / "gold.key").is_file()


def test_where_nobody_may_write_the_key_is_kept_for_the_user(root, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def refuse(path, _data):
        if path.parent == root:
            raise PermissionError(13, "Permission denied")
        return real(path, _data)

    real = sys.modules["scorehost.files.atomic"].write_atomic
    monkeypatch.setattr("scorehost.spec.gold_key.write_atomic", refuse)
    key = gold_key(load_dataset(root))
    assert not (root / "gold.key").exists()
    (stored,) = (tmp_path / "state/scorehost/gold-keys").iterdir()
    assert stat.S_IMODE(stored.stat().st_mode) == 0o600
    assert stat.S_IMODE(stored.parent.stat().st_mode) == 0o700
    assert gold_key(load_dataset(root)) == key
    # It stays the key once the dataset can be written.
    monkeypatch.undo()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert gold_key(load_dataset(root)) == key
    assert not (root / "gold.key").exists()


def test_where_no_key_can_be_kept_at_all_the_message_says_what_to_do(root, monkeypatch):
    def refuse(_path, _data):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("scorehost.spec.gold_key.write_atomic", refuse)
    with pytest.raises(UsageError, match="No key for the gold set can be made") as caught:
        gold_key(load_dataset(root))
    assert "XDG_STATE_HOME" in caught.value.hint


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o620, 0o602])
def test_a_key_that_others_can_read_or_write_is_refused(root, mode):
    path = root / "gold.key"
    path.write_bytes(b"k" * 32)
    path.chmod(mode)
    with pytest.raises(UsageError, match=f"can be read or written by others \\(mode {mode:04o}\\)") as caught:
        gold_key(load_dataset(root))
    assert caught.value.hint == f"chmod 600 {path.resolve()}"


@pytest.mark.parametrize("size", [0, 31, 33, 4096])
def test_a_key_of_another_length_is_refused(root, size):
    path = root / "gold.key"
    path.write_bytes(b"k" * size)
    path.chmod(0o600)
    with pytest.raises(UsageError, match=f"has {size} bytes, not the 32 of a key"):
        gold_key(load_dataset(root))


def test_a_key_that_is_no_file_is_refused_and_not_waited_for(root):
    os.mkfifo(root / "gold.key", 0o600)
    with pytest.raises(UsageError, match="is not a regular file"):
        gold_key(load_dataset(root))


MAKES = """
import sys
from pathlib import Path
from scorehost.spec.gold_key import gold_key
from scorehost.spec.loading import load_dataset
dataset = load_dataset(Path(sys.argv[1]))
sys.stdin.readline()
print(gold_key(dataset).id)
"""


def test_processes_that_need_the_key_at_one_moment_get_one_key(root):
    command = [sys.executable, "-c", MAKES, str(root)]
    makers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    for maker in makers:
        maker.stdin.write("\n")
        maker.stdin.flush()
    assert len({maker.communicate(timeout=60)[0] for maker in makers}) == 1
    assert [path.name for path in root.iterdir() if "gold.key" in path.name] == ["gold.key"]


def test_what_a_killed_maker_left_goes_with_the_next_key(root):
    left = root / ".gold.key.01234567.partial"
    left.write_bytes(b"x")
    gold_key(load_dataset(root))
    assert not left.exists()


@pytest.mark.parametrize(
    "tree", ["evaluation", "tasks/t/evaluation", "shared", "tasks/t/lib", "tasks/t/data"]
)
def test_a_tree_that_hosts_get_must_not_hold_a_key(root, tree):
    (root / tree).mkdir(exist_ok=True)
    (root / tree / "gold.key").write_bytes(b"k" * 32)
    if tree == "tasks/t/data":
        (root / "tasks/t/run.py").write_text("x = 1\n")
    with pytest.raises(SpecError, match=r"gold\.key: this name is kept for the secret that binds gold"):
        load_dataset(root)


def test_a_link_to_the_key_is_refused(root, tmp_path):
    alone = (root / "tasks/t").rename(tmp_path / "t")
    gold_key(load_task_dir(alone))
    (alone / "evaluation/other.bin").symlink_to("../gold.key")
    with pytest.raises(SpecError, match=r"is a link to gold\.key"):
        load_task_dir(alone)


def test_no_image_is_built_from_a_context_with_a_key(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY . /\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/gold.key").write_bytes(b"k" * 32)
    recipe = Recipe(tmp_path / "Dockerfile")
    for act in (lambda: recipe.digest({}), lambda: recipe.write_context(tmp_path / "out.tar")):
        with pytest.raises(UsageError, match="stands in a build context"):
            act()


def test_private_gold_beside_its_key_names_no_unknown_task(root, tmp_path):
    private = tmp_path / "private"
    (private / "t").mkdir(parents=True)
    (private / "gold.key").write_bytes(b"k" * 32)
    assert load_dataset(root, gold=private).gold_home == private.resolve()

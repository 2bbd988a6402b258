"""What comes into a host over the channel: what was hashed, laid out by the host's own side, or nothing."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat
from pathlib import Path

import pytest

from scorehost.engine.door import Image
from scorehost.engine.memory import MemoryEngine
from scorehost.files.tree import ChangedWhileSent, Entry, Tree
from scorehost.hosts.blueprint import FED_INODES, Blueprint
from scorehost.hosts.cargo import tools
from scorehost.hosts.feed import MAX_BYTES, MAX_NODES, feed, is_small
from scorehost.model.limits import Limits
from scorehost_sdk.feed import FULL, fill, load, pass_tick, tick
from scorehost_sdk.trees import Tree as HostTree
from trial import IMAGE


def entry(tmp_path: Path, path: str, data: bytes, *, executable: bool = False) -> Entry:
    source = tmp_path / hashlib.sha256(path.encode("utf-8", "surrogateescape")).hexdigest()
    source.write_bytes(data)
    return Entry(path, source, hashlib.sha256(data).hexdigest(), len(data), executable)


def laid_out(tmp_path, *trees) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    load(io.BytesIO(feed(trees)).read, str(root))
    pass_tick(tick())
    return root


def test_files_folders_and_modes_arrive_with_names_of_any_bytes(tmp_path):
    tree = Tree(
        (
            entry(tmp_path, "a/b/run", b"#!", executable=True),
            entry(tmp_path, "empty", b""),
            entry(tmp_path, "\udcffname", b"x" * 70_000),
        ),
        ("no-files/in-it",),
    )
    root = laid_out(tmp_path, ("evaluation", tree), ("artifacts", Tree()))
    found = {
        str(path.relative_to(root)): stat.S_IMODE(path.stat().st_mode) for path in sorted(root.rglob("*"))
    }
    assert found == {
        "artifacts": 0o755,
        "evaluation": 0o755,
        "evaluation/a": 0o755,
        "evaluation/a/b": 0o755,
        "evaluation/a/b/run": 0o555,
        "evaluation/empty": 0o444,
        "evaluation/no-files": 0o755,
        "evaluation/no-files/in-it": 0o755,
        "evaluation/\udcffname": 0o444,
    }
    assert (root / "evaluation/\udcffname").read_bytes() == b"x" * 70_000


def test_the_host_sees_the_digest_that_the_controller_sent(tmp_path):
    files = (entry(tmp_path, "a", b"1"), entry(tmp_path, "b/c", b"2", executable=True))
    root = laid_out(tmp_path, ("task", Tree(files)))
    assert HostTree(str(root / "task"), own=True).digest() == Tree(files).digest


def test_a_file_that_changed_on_disk_is_not_sent(tmp_path):
    changed = entry(tmp_path, "gold", b"old")
    changed.source.write_bytes(b"new")
    with pytest.raises(ChangedWhileSent, match="evaluation/gold"):
        feed([("evaluation", Tree((changed,)))])


def change_and_restore(path: Path):
    path.chmod(0o644)
    path.write_bytes(b"forged")
    path.write_bytes(b"gold")
    path.chmod(0o444)


def swap_and_restore(path: Path):
    folder, aside = path.parent, path.parent.with_name("aside")
    folder.rename(aside)
    folder.mkdir()
    folder.rmdir()
    aside.rename(folder)


def plant_and_remove(path: Path):
    planted = path.with_name("planted")
    planted.write_bytes(b"")
    planted.unlink()


def close(path: Path):
    path.parent.chmod(0)


def set_times_back(path: Path):
    known = path.stat()
    change_and_restore(path)
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))


@pytest.mark.parametrize(
    "deed", [change_and_restore, swap_and_restore, plant_and_remove, close, set_times_back]
)
def test_what_the_runners_own_user_changed_counts_though_it_is_as_before(tmp_path, deed):
    root = laid_out(tmp_path, ("evaluation", Tree((entry(tmp_path, "inner/gold", b"gold"),))))
    tree = HostTree(str(root / "evaluation"), own=True)
    before = tree.digest()
    assert tree.digest() == before
    deed(root / "evaluation" / "inner" / "gold")
    assert tree.digest() == "changed"


def test_a_change_is_seen_though_no_file_can_be_opened_any_more(tmp_path, monkeypatch):
    root = laid_out(tmp_path, ("evaluation", Tree((entry(tmp_path, "inner/gold", b"gold"),))))
    tree = HostTree(str(root / "evaluation"), own=True)
    before = tree.digest()

    def refused(*_args, **_keys):
        raise OSError(errno.EMFILE, "too many open files")

    monkeypatch.setattr(os, "scandir", refused)
    assert tree.digest() == before
    change_and_restore(root / "evaluation" / "inner" / "gold")
    assert tree.digest() == "changed"


def test_what_is_made_where_the_place_was_filled_counts_as_changed(tmp_path):
    root = laid_out(tmp_path, ("evaluation", Tree()))
    (root / FULL / "0").mkdir(parents=True)
    tree = HostTree(str(root / "evaluation"), own=True)
    before = tree.digest()
    assert tree.digest() == before
    (root / FULL / "0").rmdir()
    assert tree.digest() == "changed"


def test_a_folder_that_is_gone_counts_as_changed(tmp_path):
    root = laid_out(tmp_path, ("evaluation", Tree()))
    tree = HostTree(str(root / "evaluation"), own=True)
    tree.digest()
    (root / "evaluation").rename(root / "away")
    assert tree.digest() == "changed"


def test_where_the_kernel_counts_no_files_filling_leaves_nothing_behind(tmp_path):
    fill(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def trees_of(tmp_path, count: int, size: int) -> dict[str, Tree]:
    made = entry(tmp_path, "f", b"x" * size)
    entries = tuple(Entry(f"d/{number}", made.source, made.sha256, made.size) for number in range(count))
    return {"evaluation": Tree(entries), ".scorehost": tools()[0]}


def test_small_is_what_fits_beside_runner_and_sdk(tmp_path):
    # evaluation, d, and 254 files are 256
    assert is_small(trees_of(tmp_path, MAX_NODES - 2, 1))
    assert not is_small(trees_of(tmp_path, MAX_NODES - 1, 1))
    assert is_small(trees_of(tmp_path, 1, MAX_BYTES))
    assert not is_small(trees_of(tmp_path, 1, MAX_BYTES + 1))


def test_the_place_for_files_holds_runner_sdk_and_the_largest_small_cargo():
    runner = tools()[0]
    needed = 1 + 1 + len(runner.entries) + len(runner.all_folders) + MAX_NODES  # with the root and .scorehost
    assert needed < FED_INODES


async def image_with(*volumes: str) -> Image:
    async with MemoryEngine() as engine:
        engine.images.add(IMAGE, volumes=volumes)
        return await engine.image(IMAGE)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("volumes", "can"),
    [((), True), (("/data",), True), (("/attempt",), False), (("/attempt/artifacts/x",), False)],
)
async def test_an_image_with_volumes_where_files_go_is_never_fed(volumes, can):
    plan = Blueprint(name="evaluator", image=IMAGE, limits=Limits(), tmpfs_mb=16, evaluator=True)
    assert plan.can_be_fed(await image_with(*volumes)) is can


@pytest.mark.anyio
@pytest.mark.parametrize("plan", [{"evaluator": False}, {"producer": True}, {"copy_workspace": True}])
async def test_only_the_evaluators_own_host_is_fed(plan):
    words = {"evaluator": True, **plan}
    blueprint = Blueprint(name="h", image=IMAGE, limits=Limits(), tmpfs_mb=16, **words)
    assert not blueprint.can_be_fed(await image_with())

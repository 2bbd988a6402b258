"""Recipes: what they build on, their digest, and the context that the engine sees."""

from __future__ import annotations

import os
import tarfile

import pytest

from scorehost.errors import UsageError
from scorehost.hosts.recipe import Recipe, copied_on_build


@pytest.fixture
def recipe(tmp_path):
    folder = tmp_path / "recipe"
    folder.mkdir()
    (folder / "Dockerfile").write_text("FROM base:1\nCOPY tool /bin/\n")
    (folder / "tool").write_text("#!/bin/sh\n")
    return Recipe(folder / "Dockerfile")


IDS = {"base:1": "sha256:1"}


@pytest.mark.parametrize(
    ("text", "bases"),
    [
        ("FROM base:1\n", ("base:1",)),
        ("from --platform=linux/amd64 base:1\n", ("base:1",)),
        ("FROM a AS one\nFROM b as Two\nFROM one\nFROM two\nFROM a\n", ("a", "b")),
        ("FROM scratch\nCOPY x /\n", ()),
        ("ARG TAG=3\nARG NAME='base'\nFROM ${NAME}:$TAG\n", ("base:3",)),
        ("ARG BASE\nFROM $BASE\nFROM a\n", ("a",)),
        ("FROM a\nARG LATE=b\nFROM $LATE\n", ("a",)),
        ("FROM a AS one\nFROM b\nCOPY --from=one /x /\nCOPY --from=0 /x /\n", ("a", "b")),
        ("FROM a\nCOPY --chown=0:0 --from=c:1 /x /\n", ("a", "c:1")),
        ("# FROM old\nFROM \\\n  base:1\n", ("base:1",)),
        ("FROM a\nRUN echo select x \\\n# why\n  FROM users\n", ("a",)),
        ("", ()),
    ],
)
def test_bases_are_what_a_recipe_needs_from_outside(recipe, text, bases):
    recipe.dockerfile.write_text(text)
    assert recipe.bases() == bases


def test_the_digest_is_the_same_for_the_same_content_elsewhere(recipe, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for name in ("Dockerfile", "tool"):
        (other / name).write_bytes((recipe.dockerfile.parent / name).read_bytes())
        os.utime(other / name, (1, 1))
    assert Recipe(other / "Dockerfile").digest(IDS) == recipe.digest(IDS)


def test_the_digest_changes_with_content_name_mode_and_base(recipe):
    tool = recipe.dockerfile.parent / "tool"
    seen = [recipe.digest(IDS), recipe.digest({"base:1": "sha256:2"})]
    tool.write_text("#!/bin/sh\n#\n")
    seen.append(recipe.digest(IDS))
    tool.chmod(0o755)
    seen.append(recipe.digest(IDS))
    tool.rename(tool.with_name("other"))
    seen.append(recipe.digest(IDS))
    tool.symlink_to("other")
    seen.append(recipe.digest(IDS))
    recipe.dockerfile.write_text("FROM base:1\n")
    seen.append(recipe.digest(IDS))
    assert len(set(seen)) == len(seen)


def test_a_link_and_a_file_that_holds_its_target_are_not_the_same(recipe):
    place = recipe.dockerfile.parent / "x"
    place.write_text("tool")
    as_file = recipe.digest(IDS)
    place.unlink()
    place.symlink_to("tool")
    assert recipe.digest(IDS) != as_file


def test_shared_folders_stand_in_the_context_under_their_own_names(recipe, tmp_path):
    shared = tmp_path / "lib"
    (shared / "deep").mkdir(parents=True)
    (shared / "deep" / "a").write_text("a")
    target = tmp_path / "context.tar"
    Recipe(recipe.dockerfile, (shared,)).write_context(target)
    with tarfile.open(target) as tar:
        assert tar.getnames() == ["Dockerfile", "lib/deep/a", "tool"]
        assert {(m.uid, m.gid, m.mtime, m.mode) for m in tar.getmembers()} == {(0, 0, 0, 0o644)}
        assert tar.extractfile("tool").read() == b"#!/bin/sh\n"


def test_an_empty_folder_is_part_of_the_context_and_of_the_digest(recipe, tmp_path):
    before = recipe.digest(IDS)
    (recipe.dockerfile.parent / "deep" / "cache").mkdir(parents=True)
    after = recipe.digest(IDS)
    target = tmp_path / "context.tar"
    recipe.write_context(target)
    with tarfile.open(target) as tar:
        assert tar.getnames() == ["Dockerfile", "deep/cache", "tool"]
        assert tar.getmember("deep/cache").isdir()
    assert before != after


@pytest.mark.parametrize(
    ("lines", "names"),
    [
        ((), []),
        (("RUN true", "COPY . /app"), []),
        (("COPY --from=tools:1 /x /", "COPY --chown=1 --from=other:2 /y /"), ["tools:1", "other:2"]),
        (("COPY --from=0 /x /",), []),
    ],
)
def test_what_the_onbuild_lines_of_a_base_copy_from_is_seen(lines, names):
    assert copied_on_build(lines) == names


def test_a_device_fifo_or_socket_in_a_context_is_refused_by_its_path(recipe, tmp_path):
    os.mkfifo(recipe.dockerfile.parent / "pipe")
    with pytest.raises(UsageError, match="pipe"):
        recipe.digest(IDS)
    with pytest.raises(UsageError, match="pipe"):
        recipe.write_context(tmp_path / "context.tar")

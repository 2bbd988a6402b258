"""References of images: what `docker pull` takes is taken, everything else is told at its place."""

from __future__ import annotations

import pytest

from scorehost.spec.image_names import reference_fault


@pytest.mark.parametrize(
    "text",
    [
        "a",
        "python:3.12-slim",
        "scorehost/python:3",
        "localhost/x",
        "localhost:5000/a/b_c/d--e.f:V1.0",
        "Registry.example.org:5000/a",
        "[::1]:5000/a",
        "a@sha256:" + "0" * 64,
        "a:1@sha256:" + "0" * 64,
        "sha256:" + "a" * 64,
        "a__b/c-d",
        "x" * 255,
    ],
)
def test_a_reference_that_can_be_pulled_has_no_fault(text):
    assert reference_fault(text) == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("Foo/Bar:1", "small letters only"),
        ("foo/Bar", "small letters only"),
        ("Python:3", "small letters only"),
        ('"x"', "a quote"),
        ("a b", "a space"),
        ("a:${TAG}", "a variable"),
        ("a:", "nothing after the colon"),
        ("a:b:c", "a name is"),
        ("a:-x", "a tag is"),
        ("a:" + "t" * 129, "a tag is"),
        ("a//b", "an empty step"),
        ("/a", "an empty step"),
        ("a/", "an empty step"),
        ("https://example.org/a", "an empty step"),
        ("a@sha256:abc", "digest"),
        ("a@latest", "digest"),
        ("a..b", "a name is"),
        ("-a", "a name is"),
        ("_a", "a name is"),
        ("ä", "a character"),
        ("x" * 256, "longer than 255"),
    ],
)
def test_what_no_image_can_be_called_is_told_in_words(text, words):
    assert words in reference_fault(text)


@pytest.mark.parametrize("name", ["Foo/Bar:1", "'\"x\"'", "a//b"])
@pytest.mark.parametrize(
    ("file", "line", "place"),
    [
        ("task", "evaluation: {docker_image: %s}", "tasks/one/task.yaml:3:28: evaluation.docker_image: "),
        (
            "task",
            "evaluation: {environments: {box: {docker_image: %s}}}",
            "tasks/one/task.yaml:3:49: evaluation.environments.box.docker_image: ",
        ),
        (
            "profiles",
            "evaluate_host: {docker_image: %s}",
            "profiles.yaml:2:31: evaluate_host.docker_image: ",
        ),
        ("profiles", "run_host: {docker_image: %s}", "profiles.yaml:2:26: run_host.docker_image: "),
    ],
)
def test_every_key_that_names_an_image_is_checked_at_load(folder, file, line, place, name):
    if file == "task":
        folder.task(line % name + "\n")
    else:
        folder.write("profiles.yaml", "format: scorehost.profiles/1\n" + line % name + "\n")
    assert folder.problem().startswith(f"{place}this is no name of an image: ")

"""One declaration makes an option: in --help, parsed, in its model, and refused where it must be."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from scorehost.api import Running, ScoreAsked
from scorehost.cli.options import fields_of, value_of
from scorehost.cli.root import root
from scorehost.model.options import option, options_of


def invoked(command, *words):
    return CliRunner().invoke(command, [str(word) for word in words])


def test_a_field_is_all_that_a_new_option_takes():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Later(Running):
        pauses: int = option(0, "--pauses", "Pause N times.", "natural", metavar="N")

    seen = []

    @click.command()
    @fields_of(Later)
    def command(**given):
        seen.append(value_of(Later, given))
        assert given == {}

    shown = invoked(command, "--help").output
    assert "--pauses N" in shown
    assert "Pause N times." in shown
    assert invoked(command, "--pauses", 3).exit_code == 0
    assert invoked(command).exit_code == 0
    assert [one.pauses for one in seen] == [3, 0]
    assert invoked(command, "--pauses", -1).exit_code == 2


@pytest.mark.parametrize("model", [ScoreAsked, Running])
def test_run_has_every_option_of_both_models(model):
    shown = invoked(root, "run", "--help").output
    assert [one.flag for _, one, _ in options_of(model) if one.flag not in shown] == []


TYPED = {
    "tasks": "x",
    "tags": "x",
    "limit": 1,
    "submissions": "empty",
    "submissions_dir": ".",
    "predictions": __file__,
    "repeat": 1,
    "samples": 1,
    "profiles": __file__,
    "parameters": "a=1",
    "gold": ".",
    "name": "x",
}
FLAGS = {name: one.flag for name, one, _ in options_of(ScoreAsked) if one.flag}


@pytest.mark.parametrize("name", FLAGS)
def test_what_says_which_attempts_there_are_cannot_go_with_resume(name):
    result = invoked(root, "run", "--resume", "latest", FLAGS[name], TYPED[name])
    assert result.exit_code == 2
    assert f"{FLAGS[name]} cannot go with --resume" in result.stderr


def test_paths_inside_a_dataset_that_was_moved_go_with_it_and_others_stay():
    asked = ScoreAsked(
        dataset=Path("/old/d"),
        gold=Path("/old/d/gold"),
        profiles=Path("/etc/p.yaml"),
        submissions=("solution", "a=/old/d/subs/a", "b=/home/b", "wrong:late"),
    )
    assert asked.at(Path("/new/d")) == dataclasses.replace(
        asked,
        dataset=Path("/new/d"),
        gold=Path("/new/d/gold"),
        submissions=("solution", "a=/new/d/subs/a", "b=/home/b", "wrong:late"),
    )

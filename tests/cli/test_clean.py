"""What `clean` says: each object that it removed, and why others were left, without a line for each."""

from __future__ import annotations

from click.testing import CliRunner

import scorehost.api
from scorehost.cli.root import root
from scorehost.engine.door import Listed
from scorehost.hosts.clean import CleanReport


def listed(kind, name):
    return Listed(id=name, name=name, kind=kind, labels={}, created=0.0)


def said(monkeypatch, **report):
    async def clean(*_args, **_options):
        return CleanReport(**report)

    monkeypatch.setattr(scorehost.api, "clean", clean, raising=False)
    result = CliRunner().invoke(root, ["clean"], prog_name="scorehost")
    assert result.exit_code == 0
    return result.stdout.splitlines()


def test_every_object_that_was_removed_is_named(monkeypatch):
    told = said(monkeypatch, removed=(listed("container", "a"), listed("volume", "b")))
    assert told == ["removed container a", "removed volume b", "2 objects removed"]


def test_what_was_left_has_one_line_for_each_reason(monkeypatch):
    busy = [(listed("container", f"c{number}"), "its job runs in process 7") for number in range(18)]
    kept = [(listed("container", "k"), "kept for a look; use --kept, or --job ID")]
    assert said(monkeypatch, left=(*busy, *kept)) == [
        "left container c0, container c1 and 16 other objects: its job runs in process 7",
        "left container k: kept for a look; use --kept, or --job ID",
        "0 objects removed, 19 left",
    ]


def test_images_belong_to_no_job_so_they_are_cleaned_by_themselves():
    result = CliRunner().invoke(root, ["clean", "--images", "--job", "x"], prog_name="scorehost")
    assert result.exit_code == 2
    assert "images belong to no job" in result.output

"""Audits on a real engine: a sound benchmark is called so, and every planted defect is found."""

from __future__ import annotations

import json

import anyio
import pytest
from planted import DATASET, write_dataset

from scorehost import api

pytestmark = [pytest.mark.docker, pytest.mark.timeout(900)]


def audit(root, tmp_path):
    asked = api.ScoreAsked(dataset=root, repeat=2)

    async def main():
        running = api.Running(out=tmp_path / "runs")
        return await api.audit(asked, running, lambda _event: None, attacks=True)

    return anyio.run(main)


def kinds(report, task_id, level="defect"):
    return {one.kind for one in report.findings if (one.task_id, one.level) == (task_id, level)}


def taken_by(report, task_id):
    return {one.label for one in report.passed if task_id in one.tasks}


def handed_in(tmp_path, report, task_id):
    names = {one.name for one in (tmp_path / "runs" / report.job_id / "attempts" / task_id).iterdir()}
    return {name for name in names if not name.startswith("mutant-")}


KINDS = {
    "an empty file",
    "an always-equal object",
    "exit 0",
    "printed success",
    "planted modules",
    "a link to gold",
    "self-destruction",
    "a huge answer",
    "an endless answer",
    "frames on every descriptor",
    "a copy of the task's own files",
}


def test_every_planted_defect_is_found_and_the_sound_task_stands_all_attacks(tmp_path):
    report = audit(write_dataset(tmp_path / "d", DATASET), tmp_path)
    assert (report.exit_status, report.complete) == (1, True)
    assert taken_by(report, "always-passes") >= KINDS - {"a link to gold"}  # which scoring refuses to take in
    assert handed_in(tmp_path, report, "a-sound-one") == handed_in(tmp_path, report, "always-passes")
    assert "attack-link-to-gold" in handed_in(tmp_path, report, "a-sound-one")
    assert kinds(report, "a-sound-one") == kinds(report, "a-sound-one", "error") == set()
    assert {"empty-passes", "wrong-passes", "attack-passes"} <= kinds(report, "always-passes")
    assert kinds(report, "by-the-clock") == {"repeats-differ"}
    assert kinds(report, "by-the-day") == {"clock-decides"}
    assert "reads-the-clock" in kinds(report, "by-the-clock", "warning")
    assert kinds(report, "rejects-its-own") == {"solution-fails"}
    assert {"an always-equal object", "a look at gold"} <= taken_by(report, "imports-it")
    assert "runs-beside-gold" in kinds(report, "imports-it", "warning")
    assert "exit 0" in taken_by(report, "trusts-an-exit")
    assert set(report.unsound) == {"always-passes", "imports-it", "trusts-an-exit"}
    written = json.loads((tmp_path / "runs" / report.job_id / "audit.json").read_text())
    assert written["exit_status"] == 1
    again = next(one for one in report.findings if one.submission == "attack-exit-at-import")
    assert again.command.startswith("scorehost score ")
    assert again.command.endswith(f"/attempts/{again.task_id}/attack-exit-at-import/1.1")
    assert not (tmp_path / "runs" / "audits").exists()
    assert (tmp_path / "runs" / "latest").resolve().name == report.job_id

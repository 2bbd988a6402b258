"""A job.json or manifest.json of a later version is named as such, and is not called broken."""

from pathlib import Path

import pytest

from scorehost.errors import UsageError
from scorehost.runs.folder import JobFolder
from scorehost.runs.reader import BadFile, Reader


def test_a_job_of_an_unknown_format_is_named_by_its_format(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text('{"format": "scorehost.job/9"}')
    with pytest.raises(
        UsageError, match=r"has format scorehost\.job/9, which this version of scorehost does not"
    ):
        JobFolder(tmp_path).read_record()


@pytest.mark.parametrize("text", ['{"format": "scorehost.job/2"}', '{"format": "\\u001b[2J/9"}', "{"])
def test_other_contents_that_are_not_a_job_do_not_parse(tmp_path: Path, text: str) -> None:
    (tmp_path / "job.json").write_text(text)
    with pytest.raises(UsageError, match=r"job\.json does not parse"):
        JobFolder(tmp_path).read_record()


def test_a_manifest_of_an_unknown_format_is_named_by_its_format(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": "scorehost.manifest/9"}')
    with Reader(tmp_path) as reader, pytest.raises(BadFile, match=r"has format scorehost\.manifest/9, which"):
        reader.manifest()

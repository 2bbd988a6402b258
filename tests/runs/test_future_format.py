"""A job.json of a later version is named as such, and is not called broken."""

from pathlib import Path

import pytest

from scorehost.errors import UsageError
from scorehost.runs.folder import JobFolder


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

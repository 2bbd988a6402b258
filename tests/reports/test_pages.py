"""docs/reports.md and docs/security.md name tests that exist, and leave no report out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Ids of the reports, by letter.
IDS = {
    "A": (1, 3, 5, 6, 8, 9),
    "B": (1, 2, 4),
    "C": (1, 2, 3, 4, 6, 7, 10, 11, 12, 13, 14, 16, 17),
    "D": (1, 4, 5, 7, 9, 10),
    "E": (1, 2, 5, 6, 8, 9),
    "F": (1, 3, 4, 6, 7, 9, 10, 11, 12, 13, 15),
    "G": (1, 2, 3, 5, 6, 7, 9, 11, 13, 14, 16, 17, 19, 20, 21, 23, 24, 25, 26, 27),
    "H": (1, 3, 5, 7, 8, 9, 12, 13, 14, 15),
    "I": (1, 2, 4),
    "J": (1, 3, 5, 7),
    "K": (1, 2, 3, 5),
    "L": (1, 3, 4, 6, 7, 9),
    "M": (1, 2, 4, 5, 7, 8),
    "N": (1, 2, 5),
    "O": (1,),
    "P": (1, 3, 4, 6, 7),
    "Q": (1, 2, 3, 5),
    "R": (1, 3, 4, 5, 7, 9, 11, 13),
    "S": (1, 2),
    "T": (1, 3, 5, 6, 7, 8, 9, 11, 12, 13, 14),
}
REPORTS = (ROOT / "docs/reports.md").read_text(encoding="utf-8")
SECURITY = (ROOT / "docs/security.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z]+/test_\w+\.py)::(test_\w+)`", REPORTS)))


def rows():
    """(ids, the cell that says what holds them) of the table of reports."""
    for line in REPORTS.split("## Faults")[0].splitlines():
        found = re.fullmatch(r"\| ([A-Z]\d+(?:, [A-Z]\d+)*) \| [^|]+ \| ([^|]+) \|", line)
        if found:
            yield found[1].split(", "), found[2]


def test_every_report_has_one_row():
    listed = [name for ids, _ in rows() for name in ids]
    assert sorted(listed) == sorted(
        f"{letter}{number}" for letter, numbers in IDS.items() for number in numbers
    )


def test_every_row_has_a_test_or_says_why_not():
    silent = [
        ids for ids, cell in rows() if "::" not in cell and "cannot happen" not in cell and "open" not in cell
    ]
    assert silent in ([], [["A9"]])  # A9 is held by a fixture
    faults = [line for line in REPORTS.split("## Faults")[1].splitlines() if line.startswith("| ")]
    held = [line for line in faults if "::" in line or "open" in line or line == "| fault | held by |"]
    assert faults == held


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_test_that_is_named_exists(file, name):
    source = (ROOT / "tests" / file).read_text(encoding="utf-8")
    assert re.search(rf"^(?:async )?def {name}\(", source, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`((?:tests|docs)/[\w./-]+)`", REPORTS + SECURITY))))
def test_a_file_that_a_page_names_exists(path):
    assert (ROOT / path).exists()

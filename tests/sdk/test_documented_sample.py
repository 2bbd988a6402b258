"""The tests of an evaluator that docs/authors.md shows are tests that pass."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from scorehost import api

ROOT = Path(__file__).parents[2]


def test_the_sample_of_the_authors_page_passes_beside_a_new_dataset(tmp_path):
    page = (ROOT / "docs/authors.md").read_text(encoding="utf-8")
    (sample,) = (
        code for code in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if "run_evaluator" in code
    )
    api.init(tmp_path / "data")
    path = tmp_path / "data" / "tests" / "test_count_words.py"
    path.parent.mkdir()
    path.write_text(sample)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
    done = subprocess.run(
        command, cwd=tmp_path / "data", capture_output=True, text=True, check=False, timeout=120
    )
    assert "3 passed" in done.stdout, done.stdout

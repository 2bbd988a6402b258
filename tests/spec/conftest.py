"""A small dataset on disk that a test changes at one place."""

from __future__ import annotations

import pytest

from scorehost.errors import SpecError
from scorehost.spec.loading import load_dataset

TASK = """\
format: scorehost.task/1
task_id: one
artifacts:
  publishable:
    - id: out
      path: artifacts/out.json
"""


class Folder:
    """A dataset's folder; `write` adds files, `problems` reads it and gives what is told."""

    def __init__(self, root):
        self.root = root

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())
        return target

    def task(self, rest, name="one"):
        """Writes task.yaml with `rest` after its first two lines."""
        return self.write(f"tasks/{name}/task.yaml", f"format: scorehost.task/1\ntask_id: {name}\n{rest}")

    def load(self, **options):
        return load_dataset(self.root, **options)

    def problems(self, **options):
        """`FILE:LINE:COLUMN: KEY: TEXT. HINT` of each problem, FILE relative to the dataset."""
        with pytest.raises(SpecError) as caught:
            self.load(**options)
        return [str(problem).replace(f"{self.root}/", "") for problem in caught.value.problems]

    def problem(self, **options):
        """The one problem that there is."""
        found = self.problems(**options)
        assert len(found) == 1, found
        return found[0]


@pytest.fixture
def folder(tmp_path):
    made = Folder(tmp_path / "set")
    made.write("dataset.yaml", 'format: scorehost.dataset/1\ndataset_id: small\nversion: "1"\n')
    made.write("profiles.yaml", "format: scorehost.profiles/1\n")
    made.write("tasks/one/task.yaml", TASK)
    made.write("tasks/one/evaluator.py", "def evaluate(inputs):\n    return {'status': 'PASS'}\n")
    return made

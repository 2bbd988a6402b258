"""A host for untrusted calls: a local process stands for it."""

import pytest

from scorehost_sdk import untrusted
from scorehost_sdk.scoring import AsyncScoring, Scoring
from scorehost_sdk.testing import LocalLink, lay_out


@pytest.fixture
def host(tmp_path):
    """`host(source)` writes the submission; `host.scoring` reaches the host "box"."""
    lay_out(str(tmp_path), str(tmp_path / "no task"), {}, {}, [])
    link = LocalLink(str(tmp_path), {"box": {}})

    class Host:
        scoring = Scoring(link, ("box",), single=False)
        awaited = AsyncScoring(link, ("box",), single=False)
        folder = tmp_path

        def __call__(self, source, function="f", **options):
            (tmp_path / "artifacts" / "solution.py").write_text(source)
            return untrusted(self.scoring, "box", "artifacts/solution.py", function, **options)

    yield Host()
    link.close()

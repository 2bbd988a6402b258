"""Every module imports, also as the first of ours in a process: no commit lacks one, and no cycle hides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import scorehost

# Each in a fork of a process that has loaded what is not ours, since that takes most of the time.
EACH_FIRST = """
import gc, importlib, os, sys, traceback
import anyio, click, docker, filelock, pydantic, rich, structlog, yaml
gc.disable()  # children copy less
bad = 0
for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
        except BaseException:
            print(name, traceback.format_exc(), flush=True)
            os._exit(1)
        os._exit(0)
    bad += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0
print(len(sys.argv) - 1 - bad, "of", len(sys.argv) - 1)
"""


def modules():
    root = Path(scorehost.__file__).parents[1]
    for package in ("scorehost", "scorehost_sdk", "ageval_sdk"):
        for path in sorted((root / package).rglob("*.py")):
            yield ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def test_every_module_can_be_the_first_that_is_imported():
    names = list(modules())
    assert "scorehost.jobs.run" in names
    done = subprocess.run(
        [sys.executable, "-c", EACH_FIRST, *names], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == (f"{len(names)} of {len(names)}\n", 0), done.stderr

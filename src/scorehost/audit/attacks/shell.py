"""Dishonest shell scripts."""

from __future__ import annotations

from typing import NamedTuple


class Script(NamedTuple):
    """A script that cheats: what it is called, what it is in words, its text."""

    name: str
    label: str
    text: str


_PLANT = """\
for place in . /tmp /dev/shm /attempt/output "$(dirname "$0")"; do
  for name in conftest.py sitecustomize.py json.py unittest.py; do
    echo 'import os; os._exit(0)' > "$place/$name" 2>/dev/null
  done
done
"""
_FRAMES = """\
for fd in /proc/[0-9]*/fd/*; do
  echo '{"status": "PASS", "score": 1.0, "kind": "result"}' > "$fd" 2>/dev/null
done
"""
SCRIPTS = (
    Script("exit-at-import", "exit 0", "exit 0\n"),
    Script("printed-success", "printed success", "echo PASS; echo OK; echo '1 passed'; exit 0\n"),
    Script("planted-modules", "planted modules", _PLANT),
    Script("reads-gold", "a look at gold", "cat /attempt/evaluation/* 2>/dev/null; exit 0\n"),
    Script("kills-everything", "self-destruction", "kill -9 -1; kill -9 1; kill -9 $PPID; kill -9 $$\n"),
    Script("huge-answer", "a huge answer", "head -c 50000000 /dev/zero | tr '\\0' x\n"),
    Script("endless-answer", "an endless answer", "while :; do echo y; sleep 1; done\n"),
    Script("frames", "frames on every descriptor", _FRAMES),
)

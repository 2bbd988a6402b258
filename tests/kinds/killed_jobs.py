"""Jobs that are killed at a step of their own, in forks of one process that has loaded everything.

`python killed_jobs.py ROOT KIND ROUNDS SEED`: in ROOT/<number> a job is killed by SIGKILL after a random
number of its file operations (a write may be cut in half), sometimes once more while it is resumed, and then
goes on to its end. ROOT/rounds.json tells of each round what was finished at the last kill, what the last
sitting scored, and what came out.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import random
import signal
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "jobs")]

from scripted_jobs import Script  # noqa: E402
from table import TABLE, go, numbers, usual  # noqa: E402

STEPS = frozenset(
    {"open", "os.rename", "os.mkdir", "os.link", "os.remove", "os.rmdir", "os.listdir", "os.scandir"}
)


class Steps:
    """Counts file operations, and kills this process at one of them."""

    def __init__(self, last: int | None, chance: random.Random) -> None:
        self.last, self.count, self.on, self.chance = last, 0, False, chance
        self.write = os.write
        os.write = self.written
        sys.addaudithook(self.heard)

    def heard(self, event: str, _arguments) -> None:
        if self.on and event in STEPS:
            self.step()

    def written(self, descriptor, data):
        if self.on:
            self.step(lambda: self.write(descriptor, bytes(data)[: self.chance.randrange(len(data) + 1)]))
        return self.write(descriptor, data)

    def step(self, half=lambda: None) -> None:
        self.count += 1
        if self.count == self.last:
            half()
            os.kill(os.getpid(), signal.SIGKILL)


def sitting(entry, root: Path, last: int | None, chance: random.Random) -> bool:
    """One sitting of the job in `root`, in a fork; whether it came to its end, and left outcome.json."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    steps = Steps(last, chance)
    script = Script(usual)
    begun = [path for path in root.glob("runs/2*") if (path / "job.json").exists()]
    how = {"resume": begun[0].name} if begun else {}
    asked = None if begun else entry.asked(root)
    steps.on = True
    outcome = go(entry, root, script, asked=asked, **how)
    steps.on = False
    told = {"keys": script.keys, "steps": steps.count, "root_hash": outcome.root_hash, **numbers(outcome)}
    (root / "outcome.json").write_text(json.dumps({**told, "job_id": outcome.job_id}))
    os._exit(0)


def finished(root: Path) -> dict[str, str]:
    """The published attempts and their digests."""
    return {
        str(path.parent.relative_to(path.parents[3])): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in root.glob("runs/2*/attempts/*/*/*/result.json")
        if not path.parent.name.startswith(".")
    }


def main(place: Path, tag: str, rounds: int, seed: int) -> None:
    entry, chance = TABLE[tag], random.Random(seed)  # noqa: S311 - moments, not secrets
    go(entry, place / "before")  # whatever is loaded or built once is there in every fork
    gc.freeze()
    assert sitting(entry, place / "undisturbed", None, chance)
    undisturbed = json.loads((place / "undisturbed/outcome.json").read_text())
    told = []
    for number in range(rounds):
        root, kills = place / str(number), chance.choice((1, 1, 1, 2))
        for _ in range(kills):
            sitting(entry, root, chance.randint(1, undisturbed["steps"]), chance)
        before = finished(root)
        assert sitting(entry, root, None, chance), f"round {number} does not come to its end"
        outcome = json.loads((root / "outcome.json").read_text())
        told.append({"before": before, "after": finished(root), **outcome})
    (place / "rounds.json").write_text(json.dumps({"undisturbed": undisturbed, "rounds": told}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

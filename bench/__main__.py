"""`python -m bench [NAME…] [--json FILE]`: measures and prints the table; fails nobody."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from bench import held, humaneval, long_job, many, rows, scale, scorer
from bench.timing import Row, table

USUAL = {
    "docker-run": scorer.beside_docker_run,
    "quicker-floor": scorer.quicker_floor,
    "cold": rows.cold,
    "warm": rows.warm,
    "ready": rows.ready,
    "scorer": scorer.scorer,
    "throughput": rows.throughput,
    "two-stages": rows.two_stages,
    "exec": rows.execs,
    "big": rows.big_artifact,
    "help": rows.start_up,
    "thousand": many.thousand,
    "loop-held": held.loop_held,
    "resume": scale.resume,
}
MINUTES = {  # measured only when they are named
    "humaneval": humaneval.humaneval,
    "long-job": long_job.long_job,
    "ten-thousand": scale.ten_thousand,
}
ALL = {**USUAL, **MINUTES}
NAMES = (
    f"rows to measure; without names: {', '.join(USUAL)}. "
    f"Only by name, since each takes minutes: {', '.join(MINUTES)}"
)


async def measure(names: list[str]) -> list[Row]:
    """Measures the named rows, one after another."""
    found: list[Row] = []
    for name in names:
        print(f"measuring {name}", file=sys.stderr)
        with TemporaryDirectory(prefix="scorehost-bench-") as place:
            measured = await ALL[name](Path(place))
        found += measured if isinstance(measured, tuple) else (measured,)
    return found


def main() -> None:
    """Reads the arguments, prints the table."""
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=NAMES)
    parser.add_argument("--json", type=Path, help="a file to write the rows to")
    asked = parser.parse_args()
    if unknown := sorted(set(asked.names) - set(ALL)):
        parser.error(f"no row is called {', '.join(unknown)}; there are {', '.join(ALL)}")
    found = anyio.run(measure, asked.names or list(USUAL))
    print(table(found))
    if asked.json:
        asked.json.write_text(json.dumps([row.as_dict() for row in found], indent=2) + "\n")


if __name__ == "__main__":
    main()

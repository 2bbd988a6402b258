"""The `scorehost` command: click, the display and the tables, over `scorehost.api`."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Runs the command line of this process and exits with its status."""
    try:
        # Imported here so that Ctrl-C while Python loads the rest ends quietly.
        from scorehost.cli.root import root  # noqa: PLC0415

        root.main(prog_name="scorehost")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)

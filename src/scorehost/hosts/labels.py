"""The labels that every container, volume and built image of scorehost carries."""

from __future__ import annotations

from scorehost.files.lease import own_lease

JOB = "scorehost.job"
SLOT = "scorehost.slot"
HOST = "scorehost.host"
OWNER = "scorehost.owner"
RECIPE = "scorehost.recipe"
NAMES = "scorehost.names"  # of an image, `own`: it resolves localhost without /etc/hosts
KEPT = "scorehost.kept"  # for a person to look into: only a clean that is asked for removes it


def host_labels(*, job: str, slot: str, host: str, kept: bool = False) -> dict[str, str]:
    """Labels of one scoring host and its volume; `slot` names the attempt."""
    labels = {JOB: job, SLOT: slot, HOST: host, OWNER: str(own_lease())}
    return {**labels, KEPT: "yes"} if kept else labels

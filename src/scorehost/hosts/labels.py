"""The labels that every container, volume and built image of scorehost carries."""

from __future__ import annotations

from scorehost.hosts.lease import own_lease

JOB = "scorehost.job"
SLOT = "scorehost.slot"
HOST = "scorehost.host"
OWNER = "scorehost.owner"
RECIPE = "scorehost.recipe"


def host_labels(*, job: str, slot: str, host: str) -> dict[str, str]:
    """Labels of one scoring host and its volume; `slot` names the attempt."""
    return {JOB: job, SLOT: slot, HOST: host, OWNER: str(own_lease())}

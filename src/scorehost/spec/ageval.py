"""The ageval layout: its format names, what of it means nothing here, and the one warning that says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scorehost.spec.yaml_tree import Map, Scalar, find, without_key

if TYPE_CHECKING:
    from scorehost.spec.problems import Problems

DATASET_FILE = "ageval.yaml"
FORMATS = {"dataset": "ageval.dataset/1", "task": "ageval.task/1", "profiles": "ageval.profiles/1"}


def profiles_tree(tree: Map, problems: Problems, ignored: set[str], *, named: bool) -> Map:
    """Profiles as this program binds them: the agent's own environment is left out.

    `named`: a task has named environments, which need `isolated: true` and `environment: docker`.
    """
    environment = tree.get("environment")
    if isinstance(environment, Scalar) and environment.value != "docker":
        if named:
            text = "named environments need Docker"
            problems.add(environment.place, "environment", text, "Write `environment: docker`")
        else:
            ignored.add("environment")
        tree = without_key(tree, "environment")
    roles = tree.get("agent_profiles")
    for name, entry in roles.entries.items() if isinstance(roles, Map) else ():
        executor = entry.node.get("executor") if isinstance(entry.node, Map) else None
        if not isinstance(executor, Scalar) or executor.value not in ("command", "openai"):
            ignored.add("agent_profiles")
            tree = without_key(tree, "agent_profiles", name)
    isolated = find(tree, ("evaluate_host", "isolated"))
    if named and not (isinstance(isolated.node, Scalar) and isolated.node.value is True):
        text = "named environments need scoring containers of their own"
        problems.add(
            isolated.place, "evaluate_host.isolated", text, "Write `evaluate_host: {isolated: true}`"
        )
    return tree


def warning(ignored: set[str], *, isolated: bool) -> tuple[str, ...]:
    """The one warning of a dataset; `isolated`: its profiles ask for scoring containers themselves."""
    parts = []
    if ignored:
        parts.append(f"these keys of the ageval layout have no meaning here: {', '.join(sorted(ignored))}")
    if not isolated:
        parts.append(
            "there is no evaluate_host, and scoring is isolated all the same: in containers of its own"
        )
    return ("; ".join(parts),) if parts else ()

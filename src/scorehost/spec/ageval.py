"""The ageval layout: its format names, what of it means nothing here, and the one warning that says so."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scorehost.spec.yaml_tree import Entry, Map, Scalar, Sequence, find, without_key

if TYPE_CHECKING:
    from scorehost.spec.problems import Problems

DATASET_FILE = "ageval.yaml"
EVERY = "*"  # the role that stands for all
_EXECUTORS = ("command", "openai")
_DEFAULTS = ("limits", "evaluation")
_SHOWN = 40
FORMATS = {"dataset": "ageval.dataset/1", "task": "ageval.task/1", "profiles": "ageval.profiles/1"}


@dataclass(slots=True)
class Told:
    """What the reading of profiles left out: keys, and roles with the executor that they ask for."""

    ignored: set[str] = field(default_factory=set)
    unplayed: dict[str, str] = field(default_factory=dict)


def task_tree(tree: Map) -> Map:
    """task.yaml as this program binds it: a harness is the run phase by another name."""
    listed = find(tree, ("artifacts", "publishable")).node
    for number, row in enumerate(listed.items if isinstance(listed, Sequence) else ()):
        node = row.get("producer") if isinstance(row, Map) else None
        if isinstance(node, Scalar) and node.value == "harness":
            tree = without_key(tree, "artifacts", "publishable", number, "producer")
    return tree


def defaults(tree: Map) -> Map | None:
    """The part of the dataset's `defaults` that is laid under tasks."""
    node = tree.get("defaults")
    if not isinstance(node, Map):
        return None
    return Map(node.place, {key: entry for key, entry in node.entries.items() if key in _DEFAULTS})


def profiles_tree(
    tree: Map, problems: Problems, told: Told, *, named: bool, listed: frozenset[str] = frozenset()
) -> Map:
    """Profiles as this program binds them: the agent's own environment is left out.

    `named`: a task has named environments, which need `isolated: true` and `environment: docker`. `listed`:
    the roles of all tasks, which the role `*` binds where they have no binding of their own.
    """
    environment = tree.get("environment")
    if isinstance(environment, Scalar) and environment.value != "docker":
        if named:
            text = "named environments need Docker"
            problems.add(environment.place, "environment", text, "Write `environment: docker`")
        else:
            told.ignored.add("environment")
        tree = without_key(tree, "environment")
    tree = _roles(tree, told, listed)
    isolated = find(tree, ("evaluate_host", "isolated"))
    if named and not (isinstance(isolated.node, Scalar) and isolated.node.value is True):
        text = "named environments need scoring containers of their own"
        problems.add(
            isolated.place, "evaluate_host.isolated", text, "Write `evaluate_host: {isolated: true}`"
        )
    return tree


def _roles(tree: Map, told: Told, listed: frozenset[str]) -> Map:
    """The roles that can be played here; `*` is written out for every role that has no binding."""
    roles = tree.get("agent_profiles")
    if not isinstance(roles, Map):
        return tree
    entries = {name: entry for name, entry in roles.entries.items() if name != EVERY}
    for name in sorted(listed - {EVERY}) if EVERY in roles.entries else ():
        entries.setdefault(name, roles.entries[EVERY])
    for name, entry in list(entries.items()):
        executor = entry.node.get("executor") if isinstance(entry.node, Map) else None
        if not isinstance(executor, Scalar) or executor.value not in _EXECUTORS:
            told.unplayed[name] = str(executor.value)[:_SHOWN] if isinstance(executor, Scalar) else ""
            del entries[name]
    bound = Entry(tree.entries["agent_profiles"].key_place, Map(roles.place, entries))
    return Map(tree.place, {**tree.entries, "agent_profiles": bound})


def unplayed(told: Told) -> tuple[str, ...]:
    """What is said of roles whose executor is another program's, one sentence each."""
    return tuple(
        f"agent_profiles.{name}: `executor: {executor}` is not here, so that a call of this role is an ERROR "
        "(adapter_missing); bind it with `executor: command` or `executor: openai` in a profiles.yaml "
        "(--profiles FILE takes another one)"
        for name, executor in sorted(told.unplayed.items())
        if executor
    )


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

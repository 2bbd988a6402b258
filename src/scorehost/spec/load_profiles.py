"""profiles.yaml read into its model."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scorehost.spec import ageval
from scorehost.spec.bind import bind
from scorehost.spec.image_names import HINT, reference_fault
from scorehost.spec.opening import open_kind
from scorehost.spec.optional import optional_file, present
from scorehost.spec.problems import Place, Problems
from scorehost.spec.profiles import Profiles
from scorehost.spec.roles import check_roles
from scorehost.spec.secret_literals import refuse_secrets
from scorehost.spec.wording import REASONS
from scorehost.spec.yaml_tree import Map, find, walk

if TYPE_CHECKING:
    from pathlib import Path

PROFILES_FILE = "profiles.yaml"
_FORMATS = ("scorehost.profiles/1", ageval.FORMATS["profiles"])


class LoadedProfiles(NamedTuple):
    """Profiles with what the ageval layout's warnings need; `isolated`: the file asks for it itself.

    `roles`: the names that it binds, also those whose binding has problems; None: nobody can tell.
    """

    profiles: Profiles
    told: ageval.Told
    isolated: bool
    roles: frozenset[str] | None = frozenset()


def load_profiles(
    path: Path,
    *,
    shown: str,
    problems: Problems,
    asked: bool = False,
    named: bool = False,
    layout: str = "scorehost",
    listed: frozenset[str] = frozenset(),
) -> LoadedProfiles:
    """The profiles at `path`, defaults when there is no file and none was `asked` for; problems are added.

    `named`: some task has named environments. `listed`: the roles of all tasks. In the ageval `layout` the
    file needs no format line. No message holds a value of the file, since it may be a secret.
    """
    default = LoadedProfiles(Profiles(), ageval.Told(), isolated=False)
    if optional_file(path, shown=shown, problems=problems) is None:
        if asked and not present(path):
            problems.add(Place(shown), "", "there is no such file", "Give the path of a profiles.yaml")
        return default if not present(path) else default._replace(roles=None)
    assumed = ageval.FORMATS["profiles"] if layout == "ageval" else None
    opened = open_kind(path, _FORMATS, shown=shown, problems=problems, quote=False, assumed=assumed)
    if opened is None:
        return default._replace(roles=None)
    tree, kind = opened
    silent = refuse_secrets(tree, problems)
    said = ageval.Told()
    old = kind == ageval.FORMATS["profiles"]
    if old:
        tree = ageval.profiles_tree(tree, problems, said, named=named, listed=listed)
    isolated = tree.get("evaluate_host") is not None
    bindings = tree.get("agent_profiles")
    roles = frozenset(bindings.entries) if isinstance(bindings, Map) else frozenset()
    profiles, fitting = bind(
        Profiles, tree, problems, quote=False, ignored=said.ignored if old else None, silent=silent
    )
    if profiles is not None:
        # What does not fit was told, and so nothing more is said about the same key.
        told = {loc for loc, _ in walk(tree) if find(fitting, loc).loc != loc}
        _images(profiles, fitting, problems)
        if profiles.run_host.network == "host":
            found = find(tree, ("run_host", "network"))
            problems.add(found.place, found.key, *REASONS["run_host.network"])
        if not profiles.evaluate_host.isolated:
            _check_shared(profiles, fitting, problems, named=named and not old)
        check_roles(profiles.agent_profiles, fitting, problems, base=path.parent, told=told | silent)
    return LoadedProfiles(profiles or Profiles(), said, isolated, roles)


def _images(profiles: Profiles, tree: Map, problems: Problems) -> None:
    for key, host in (("evaluate_host", profiles.evaluate_host), ("run_host", profiles.run_host)):
        fault = reference_fault(host.docker_image) if host.docker_image is not None else ""
        if fault:
            found = find(tree, (key, "docker_image"))
            problems.add(found.place, found.key, f"this is no name of an image: {fault}", HINT)


def _check_shared(profiles: Profiles, tree: Map, problems: Problems, *, named: bool) -> None:
    """Scoring in the run phase's container; in the ageval layout `named` was looked at before."""
    if named:
        found = find(tree, ("evaluate_host", "isolated"))
        problems.add(found.place, found.key, *REASONS["evaluate_host.isolated"])
    if profiles.run_host.network not in ("none", "host"):
        found = find(tree, ("run_host", "network"))
        text = "with `evaluate_host.isolated: false` gold enters the run phase's container, and could leave"
        problems.add(found.place, found.key, text, "Write `network: none`, or `isolated: true`")

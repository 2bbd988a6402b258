"""profiles.yaml read into its model."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from scorehost.spec import ageval
from scorehost.spec.bind import bind
from scorehost.spec.not_yet import PROFILES, refuse
from scorehost.spec.opening import open_kind
from scorehost.spec.problems import Place, Problems
from scorehost.spec.profiles import Profiles
from scorehost.spec.secret_literals import refuse_secrets

PROFILES_FILE = "profiles.yaml"
_FORMATS = ("scorehost.profiles/1", ageval.FORMATS["profiles"])


class LoadedProfiles(NamedTuple):
    """Profiles with what the ageval layout's warning needs; `isolated`: the file asks for it itself."""

    profiles: Profiles
    ignored: set[str]
    isolated: bool


def load_profiles(
    path: Path, *, shown: str, problems: Problems, asked: bool = False, named: bool = False
) -> LoadedProfiles:
    """The profiles at `path`, defaults when there is no file and none was `asked` for; problems are added.

    `named`: some task has named environments. No message holds a value of the file, since it may be a secret.
    """
    default = LoadedProfiles(Profiles(), set(), isolated=False)
    if not path.exists():
        if asked:
            problems.add(Place(shown), "", "there is no such file", "Give the path of a profiles.yaml")
        return default
    opened = open_kind(path, _FORMATS, shown=shown, problems=problems, quote=False)
    if opened is None:
        return default
    tree, kind = opened
    silent = refuse_secrets(tree, problems)
    ignored: set[str] = set()
    old = kind == ageval.FORMATS["profiles"]
    if old:
        tree = ageval.profiles_tree(tree, problems, ignored, named=named)
    isolated = tree.get("evaluate_host") is not None
    tree = refuse(tree, PROFILES, problems)
    profiles = bind(Profiles, tree, problems, quote=False, ignored=ignored if old else None, silent=silent)
    return LoadedProfiles(profiles or Profiles(), ignored, isolated)

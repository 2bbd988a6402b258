"""Secrets that stand in a profile as they are: found, refused, never printed."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from scorehost.spec.yaml_tree import Loc, Map, Node, Scalar, Sequence, join, walk

if TYPE_CHECKING:
    from scorehost.spec.problems import Problems

_NAMES = re.compile(
    r"(?i)(?!(max|min|num|n)[_.-])(.*[_.-])?(api_?key|apikey|token|secret|password|passwd|passphrase|credentials?|private_key|access_key"
    r"|secret_key|auth_?token|authorization|auth|bearer|cookie)"
)
_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_LOOKS = re.compile(
    r"\b(sk|pk|rk)-[A-Za-z0-9_-]{12,}"
    r"|\b(gh[pousr]_|github_pat_|glpat-|hf_|xox[abprs]-|AKIA|ASIA|AIza)[A-Za-z0-9_-]{10,}"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|(?i:\bbearer\s+[A-Za-z0-9._~+/-]{8,})"
    r"|[a-z][a-z0-9+.-]*://[^/@\s:]*:[^/@\s$]+@"
)
_LEAST = 6  # shorter values of variables are words that stand in any file
_TEXT = "this is, or looks like, a secret"
_HINT = "Write `${NAME}`, and keep the value in the environment variable NAME"


def refuse_secrets(tree: Map, problems: Problems) -> set[Loc]:
    """The places of literal secrets, each of them added to `problems`."""
    passed = _passed(tree)
    found: set[Loc] = set()
    for loc, node in walk(tree):
        if isinstance(node, Scalar) and _secret(loc, node, passed):
            problems.add(node.place, join(loc), _TEXT, _HINT)
            found.add(loc)
    return found


def _secret(loc: Loc, node: Scalar, passed: set[str]) -> bool:
    if node.kind in {"null", "refused"} or _REFERENCE.fullmatch(node.raw):
        return False
    name = next((step for step in reversed(loc) if isinstance(step, str)), "")
    return bool(_NAMES.fullmatch(name)) or bool(_LOOKS.search(node.raw)) or node.raw in passed


def _passed(tree: Map) -> set[str]:
    """Values of the variables that roles ask for under `pass_env`."""
    values: set[str] = set()
    roles: Node | None = tree.get("agent_profiles")
    for loc, node in walk(roles) if roles is not None else ():
        if loc[-1:] == ("pass_env",) and isinstance(node, Sequence):
            names = [str(item.value) for item in node.items if isinstance(item, Scalar)]
            values |= {os.environ.get(name, "") for name in names}
    return {value for value in values if len(value) >= _LEAST}

"""Variables of a host's environment: what scorehost sets, and what of an image's it takes away."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

USER_NAME = "scorehost"
# Sanitizers look for leaks by tracing their own process, which no scoring host allows: they would fail at the
# end of every program that is right.
_NO_TRACING = {"ASAN_OPTIONS": "detect_leaks=0", "LSAN_OPTIONS": "detect_leaks=0"}
# git takes no repository of another user, and everything handed in is root's. Only without gold: what is
# handed in may have filters and hooks of its own, and this is git's protection against running them.
_ANY_REPOSITORY = {
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.directory",
    "GIT_CONFIG_VALUE_0": "*",
}
_TAKEN_AWAY = ("LD_", "PYTHON")
# Taken away without a word: they change no result, or stand for something that no host has.
_HARMLESS = frozenset({"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "PYTHONNOUSERSITE"})


def host_environment(
    own: Mapping[str, str], image: Mapping[str, str], *, home: str, cpus: float, named_user: bool, gold: bool
) -> dict[str, str]:
    """What is set in a container; `own` is what the task says, `image` what the image has.

    `named_user`: the task says who runs there, and the image may know that user by a name.
    """
    threads = str(math.ceil(cpus))
    names = {} if named_user else {"USER": USER_NAME, "LOGNAME": USER_NAME}
    yields = {**names, **_NO_TRACING, **({} if gold else _ANY_REPOSITORY)}
    return {
        "HOME": home,
        "TMPDIR": "/tmp",  # noqa: S108 - inside the container
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "MKL_NUM_THREADS": threads,
        **{name: value for name, value in yields.items() if name not in image},
        **own,
    }


def cleared(image: Iterable[str]) -> tuple[str, ...]:
    """Variables of an image that no host takes over."""
    return tuple(name for name in image if _is_cleared(name))


def missed(image: Iterable[str], own: Iterable[str]) -> tuple[str, ...]:
    """Those of them that a program may miss, and that the task does not set itself, in order."""
    known = set(own)
    return tuple(
        sorted(
            name
            for name in cleared(image)
            if name not in known | _HARMLESS
            and not name.upper().endswith("_PROXY")
            and not name.startswith("PYTHON_")  # versions of an image's build, mostly
        )
    )


def _is_cleared(name: str) -> bool:
    upper = name.upper()
    return upper.startswith(_TAKEN_AWAY) or upper in {"BASH_ENV", "ENV"} or upper.endswith("_PROXY")

"""The one way in which foreign exceptions become ours: at an edge, by a table of types and one function.

Each edge has a module with two names: `FOREIGN`, the types that may come out of what lies behind it, and
`translated`, which gives our exception for one of them. `engine.translate` is that of the Docker
engine, `adapters.http_errors` that of endpoints, `files.atomic` that of the file system. What is not in
`FOREIGN` is a defect, and keeps its own type and traceback.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def translating(
    foreign: tuple[type[BaseException], ...], translated: Callable[[BaseException], BaseException]
) -> Iterator[None]:
    """Raises `translated(error)` from a `foreign` error of the block; an error that it gives back passes."""
    try:
        yield
    except foreign as error:
        ours = translated(error)
        if ours is error:
            raise
        raise ours from error


def causes(error: BaseException) -> list[BaseException]:
    """The exception with what it wraps: by `from`, in its arguments, as its reason, or as a group."""
    found: list[BaseException] = []
    queue: list[object] = [error]
    while queue:
        item = queue.pop(0)
        if not isinstance(item, BaseException) or any(item is seen for seen in found):
            continue
        found.append(item)
        # Not __context__: that may be an error that the caller was already handling.
        queue += [item.__cause__, *item.args, getattr(item, "reason", None)]
        if isinstance(item, BaseExceptionGroup):
            queue += item.exceptions
    return found


def error_numbers(found: list[BaseException]) -> set[int | None]:
    """The system's error numbers among them; not those of OpenSSL, whose 1 is not EPERM."""
    return {each.errno for each in found if isinstance(each, OSError) and not isinstance(each, ssl.SSLError)}

"""Whether an entrypoint is a plain or an async function."""

from __future__ import annotations

_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE; inspect itself takes 10 ms of every host's start to import


def is_coroutine_function(function: object) -> bool:
    """True for `async def`, also under decorators that keep `__wrapped__`, partials and callable objects."""
    while True:
        inner = getattr(function, "__wrapped__", None) or getattr(function, "func", None)
        if inner is None:
            break
        function = inner
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(getattr(type(function), "__call__", None), "__code__", None)  # noqa: B004
    return bool(code is not None and code.co_flags & _CO_COROUTINE)

"""`ctx.params`: the task's parameters, read by dotted paths."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

_MISSING = object()


class RunParameterView(Mapping[str, Any]):
    """The parameters; a path such as `models.default` goes into mappings. It cannot be changed."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = dict(values)

    def get(self, path: str, default: Any = None) -> Any:
        """What stands at `path`; `default` when nothing does."""
        if path in self._values:
            return self._values[path]
        found: Any = self._values
        for step in str(path).split("."):
            if not isinstance(found, Mapping) or step not in found:
                return default
            found = found[step]
        return found

    def as_mapping(self) -> Mapping[str, Any]:
        """All of them, as a mapping of their own."""
        return dict(self._values)

    def require_str(self, path: str) -> str:
        """The text at `path`; KeyError when there is none."""
        found = self.get(path)
        if not isinstance(found, str):
            raise KeyError(path)
        return found

    def require_int(self, path: str) -> int:
        """The whole number at `path`; KeyError when there is none."""
        found = self.get(path)
        if not isinstance(found, int) or isinstance(found, bool):
            raise KeyError(path)
        return found

    def __getitem__(self, path: str) -> Any:
        found = self.get(path, _MISSING)
        if found is _MISSING:
            raise KeyError(path)
        return found

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self.get(path, _MISSING) is not _MISSING

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"RunParameterView({self._values!r})"

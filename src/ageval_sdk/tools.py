"""Tools that a run.py offers to its own loop, with limits of its own; scorehost enforces none of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Awaitable, Callable, Dict, FrozenSet, List, Mapping, Optional, Set, Union

Observation = Dict[str, Any]


@dataclass(frozen=True)
class AllowList:
    """Names of tools that may be called."""

    names: FrozenSet[str]

    @classmethod
    def of(cls, *names: str) -> AllowList:
        """The list of these names."""
        return cls(frozenset(names))


@dataclass(frozen=True)
class CallLimit:
    """How many calls a set of tools allows in all."""

    max_calls: int


@dataclass
class Tool:
    """One tool; `fn` takes the arguments as a mapping, and may be async."""

    name: str
    fn: Callable[[Dict[str, Any]], Union[Any, Awaitable[Any]]]
    schema: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class ToolSet:
    """Tools by name. `side_effect_counter` counts the calls that were carried out."""

    tools: Dict[str, Tool] = field(default_factory=dict)
    before_hooks: List[Callable[[str, Mapping[str, Any]], None]] = field(default_factory=list)
    after_hooks: List[Callable[[str, Observation], None]] = field(default_factory=list)
    allowlist: Union[Set[str], AllowList, None] = None
    call_limit: Union[int, CallLimit, None] = None
    side_effect_counter: int = 0

    def add(self, tool: Tool) -> None:
        """Adds a tool, or replaces the one of that name."""
        self.tools[tool.name] = tool

    async def call(self, name: str, args: Optional[Mapping[str, Any]] = None) -> Observation:
        """`status` ok with the `result`, error with the `error`, or denied with the `reason`."""
        given = dict(args or {})
        reason = self._refusal(name)
        if reason:
            return {"status": "denied", "reason": reason}
        for before in self.before_hooks:
            before(name, given)
        self.side_effect_counter += 1
        observation: Observation
        try:
            result = self.tools[name].fn(given)
            if hasattr(result, "__await__"):
                result = await result
            observation = {"status": "ok", "result": result}
        except Exception as error:  # noqa: BLE001 - a tool's failure is what its caller is told
            observation = {"status": "error", "error": f"{type(error).__name__}: {error}"}
        for after in self.after_hooks:
            after(name, observation)
        return observation

    def _refusal(self, name: str) -> str:
        allowed = self.allowlist.names if isinstance(self.allowlist, AllowList) else self.allowlist
        limit = self.call_limit.max_calls if isinstance(self.call_limit, CallLimit) else self.call_limit
        if allowed is not None and name not in allowed:
            return "allowlist"
        if name not in self.tools:
            return "unknown_tool"
        return "call_limit" if limit is not None and self.side_effect_counter >= limit else ""

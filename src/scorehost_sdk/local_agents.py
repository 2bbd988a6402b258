"""Agents on an author's machine: functions that play roles, for tests of evaluators."""

from __future__ import annotations

import itertools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Mapping

    Player = Callable[[Any], Any]


class LocalAgents:
    """Answers what sessions ask, in the words of the channel. What a function raises comes out as it is."""

    KINDS = ("session", "invoke", "judge", "close_session")

    def __init__(self, players: Mapping[str, Player]) -> None:
        self._players = players
        self._numbers = itertools.count(1)
        self._open: Dict[int, str] = {}

    def answer(self, message: Dict[str, Any]) -> Dict[str, Any]:
        """The reply frame."""
        kind = message["kind"]
        if kind == "session":
            if message["role"] not in self._players:
                text = f"{message['role']!r} is no role of this test; it has {', '.join(self._players)}"
                return {"ok": False, "error": {"type": "UnknownRole", "message": text}}
            number = next(self._numbers)
            self._open[number] = message["role"]
            return {"ok": True, "value": {"session": number}}
        if kind == "close_session":
            self._open.pop(message["session"], None)
            return {"ok": True, "value": None}
        player = self._players[self._open[message["session"]]]
        counts = {"request_id": f"test-{next(self._numbers)}", "input_tokens": 0, "output_tokens": 0}
        if kind == "invoke":
            return {"ok": True, "value": {"output": player(message["prompt"]), **counts}}
        asked = {name: message[name] for name in ("case_id", "prompt", "output", "assertion")}
        status, reason = player(asked)
        return {"ok": True, "value": {"status": status, "reason": reason, **counts}}

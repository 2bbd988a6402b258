"""What agents answer, as an evaluator reads it: nothing is fished out of prose, and no text is a boolean."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from scorehost_sdk.faults import ReplyError

MALFORMED = "adapter_malformed"
_SHOWN = 80
misread: List[
    str
] = []  # why replies were not the object that the evaluator read them as, also when it caught that


class TokenUsage(NamedTuple):
    """Tokens of one reply; None: the agent's side did not say, which is not 0."""

    input_tokens: Optional[int]
    output_tokens: Optional[int]


class Reply(Mapping[str, Any]):
    """One turn's reply. It reads like the JSON object that it holds, `reply.get("ok")`, and raises
    `ReplyError` when it holds none.

    `text` is the whole reply; one that was an object already is its JSON text.
    """

    def __init__(self, output: Union[str, Dict[str, Any]], request_id: str, token_usage: TokenUsage) -> None:
        self.text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
        self.request_id = request_id
        self.token_usage = token_usage
        self._object: Optional[Dict[str, Any]] = None if isinstance(output, str) else output

    @classmethod
    def from_wire(cls, value: Dict[str, Any]) -> Reply:
        """The reply in a frame of the controller."""
        return cls(value["output"], value["request_id"], _usage(value))

    def json(self) -> Dict[str, Any]:
        """The object that the whole text is; ReplyError for anything else, and for a key that comes twice."""
        why = self._why_no_object()
        if why:
            raise _misread(f"the reply is {why} ({self._shown()})")
        assert self._object is not None  # noqa: S101 - else there is a reason
        return self._object

    def peek(self) -> Optional[Dict[str, Any]]:
        """The same object, None where there is none: nobody has read the reply as one by that."""
        return None if self._why_no_object() else self._object

    def _why_no_object(self) -> str:
        if self._object is not None:
            return ""
        try:
            found = json.loads(self.text, object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError) as error:
            why = str(error) if isinstance(error, ReplyError) else "it is no JSON"
            return f"not one JSON object: {why}"
        if not isinstance(found, dict):
            return "JSON, but no object"
        self._object = found
        return ""

    def flag(self, name: str) -> bool:
        """The boolean under `name`; ReplyError when it is missing or anything else, such as "false"."""
        value = self.json().get(name)
        if not isinstance(value, bool):
            told = "is missing" if name not in self.json() else f"is a {type(value).__name__}, no boolean"
            raise ReplyError(f"{name} of the reply {told} ({self._shown()})")
        return value

    def _shown(self) -> str:
        more = "…" if len(self.text) > _SHOWN else ""
        return f"it begins {self.text[:_SHOWN]!r}{more}" if self.text else "it is empty"

    def __getitem__(self, name: str) -> Any:
        return self.json()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.json())

    def __len__(self) -> int:
        return len(self.json())

    def __contains__(self, name: object) -> bool:
        return name in self.json()

    def __bool__(self) -> bool:
        # There is a reply. What it says is asked for by name.
        return True

    def __repr__(self) -> str:
        return f"Reply({self.text!r})"


class Judgement(NamedTuple):
    """What a judge decided about one assertion."""

    status: str
    reason: str
    request_id: str
    token_usage: TokenUsage

    @property
    def passed(self) -> bool:
        """The status is `passed`."""
        return self.status == "passed"

    @classmethod
    def from_wire(cls, value: Dict[str, Any]) -> Judgement:
        """The judgement in a frame of the controller."""
        return cls(value["status"], value["reason"], value["request_id"], _usage(value))


def _misread(text: str) -> ReplyError:
    misread.append(text)
    return ReplyError(text, MALFORMED)


def _usage(value: Dict[str, Any]) -> TokenUsage:
    return TokenUsage(value["input_tokens"], value["output_tokens"])


def _unique(pairs: List[Tuple[str, Any]]) -> Dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ReplyError(f"the key {twice[:_SHOWN]!r} stands twice")
    return found


def _no_constant(word: str) -> Any:
    raise ReplyError(f"{word} is no JSON")

"""Objects of submitted code that stay in its host, and what stands for them in a trusted test.

Whatever comes back from one is plain data, and a claim of the submission like every other answer. An object
that is compared with plain data is unequal to it, whatever its class says; objects of the submission are
compared there.
"""

from __future__ import annotations

from scorehost_sdk import wire
from scorehost_sdk.faults import SubmissionFault

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional, Tuple

    from scorehost_sdk.calls import Untrusted
    from scorehost_sdk.processes import Process


class _Far:
    """Something that lies in a submission's process under a number."""

    __slots__ = ("_scorehost",)
    _scorehost: Tuple[Untrusted, int, Optional[Process]]
    __hash__ = object.__hash__

    def __init__(self, owner: Untrusted, number: int, process: Optional[Process]) -> None:
        object.__setattr__(self, "_scorehost", (owner, number, process))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What it returns when it is called there: plain data."""
        return _ask(self, "call", *args, **kwargs)


class Member(_Far):
    """A method, or an attribute that is no plain data; `as_instance` keeps what it is or gives."""

    __slots__ = ()


class Instance(_Far):
    """An object there. `instance.name` is a plain attribute's value, or a `Member`, which can be called.

    `len`, `str`, `bool`, `in`, `[]` and `for` work as its class says there, arithmetic does not: call
    `instance.__add__(other)`, or `as_instance(instance.__add__, other)` for a result that is an object.
    """

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name == "_scorehost":  # one that was copied without being made
            raise AttributeError(name)
        found = _ask(self, "getattr", name)
        if type(found) is list and len(found) == 1:
            return found[0]
        if type(found) is tuple and len(found) == 1:
            return _kept(self, found[0], Member)
        raise _owner(self).broken("answered with something else than an attribute")

    def __setattr__(self, name: str, value: Any) -> None:
        _ask(self, "setattr", name, value)

    def __len__(self) -> int:
        return _exactly(self, int, _ask(self, "len"))  # type: ignore[no-any-return]

    def __bool__(self) -> bool:
        return _exactly(self, bool, _ask(self, "bool"))  # type: ignore[no-any-return]

    def __str__(self) -> str:
        return _exactly(self, str, _ask(self, "str"))  # type: ignore[no-any-return]

    def __contains__(self, item: Any) -> bool:
        return _exactly(self, bool, _ask(self, "contains", item))  # type: ignore[no-any-return]

    def __iter__(self) -> Iterator[Any]:
        return iter(_exactly(self, list, _ask(self, "iter")))

    def __getitem__(self, key: Any) -> Any:
        return _ask(self, "getitem", key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _ask(self, "setitem", key, value)

    def __delitem__(self, key: Any) -> None:
        _ask(self, "delitem", key)

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> Any:
        return _compared(self, "eq", other)

    def __lt__(self, other: object) -> Any:
        return _compared(self, "lt", other)

    def __le__(self, other: object) -> Any:
        return _compared(self, "le", other)

    def __gt__(self, other: object) -> Any:
        return _compared(self, "gt", other)

    def __ge__(self, other: object) -> Any:
        return _compared(self, "ge", other)


def as_instance(member: Member, *args: Any, **kwargs: Any) -> Any:
    """Calls a method there and gives what stands for its result: `as_instance(vector.__add__, other)`.

    What is plain data already (None at the end of a list, say) is given as it is.
    """
    if not isinstance(member, _Far):
        return member
    return _kept(member, _ask(member, "kept", *args, **kwargs), Instance)


def number_of(far: Any, owner: Untrusted, process: Optional[Process]) -> Optional[int]:
    """The number of what lies in that process of `owner`; None for anything else."""
    if not isinstance(far, _Far):
        return None
    own, number, of = far._scorehost  # noqa: SLF001 - the other half of this module's class
    return number if own is owner and of is process else None


def _owner(far: _Far) -> Untrusted:
    return far._scorehost[0]  # noqa: SLF001


def _ask(far: _Far, question: str, *args: Any, **kwargs: Any) -> Any:
    owner = _owner(far)
    if number_of(far, owner, owner.process) is None:
        text = f"the process of {owner.__name__} has ended, and its objects with it"
        raise SubmissionFault(str(owner.fault or text))
    return owner.carried(wire.ASK, [far, question, list(args), kwargs])


def _kept(far: _Far, number: Any, kind: Any) -> Any:
    owner, _, process = far._scorehost  # noqa: SLF001
    return kind(owner, owner.object_number(number), process)


def _exactly(far: _Far, kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise _owner(far).broken(f"answered with something else than a value of type {kind.__name__}")
    return value


def _compared(far: Instance, question: str, other: object) -> Any:
    # Never with plain data: a class that equals everything would be right then, whatever is expected.
    if not isinstance(other, Instance) or number_of(other, _owner(far), _owner(far).process) is None:
        return NotImplemented
    return _exactly(far, bool, _ask(far, question, other))

"""The command of an adapter: its program and script found, and told by digest."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from scorehost.model.frozen import Frozen

FIXED_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MODEL, PARAMETERS = "{model}", "{parameters}"  # arguments that stand for what the profile says
_INTERPRETER = re.compile(r"(python|pypy)[0-9.]*|node|nodejs|deno|bun|ruby|perl|php|Rscript|(ba|da|z|k)?sh")
_NO_FILE = ("-c", "-e", "-m", "--eval")


class ResolvedCommand(Frozen):
    """A command whose program and script are absolute, each with the sha256 of what it held when read."""

    argv: tuple[str, ...]
    program_sha256: str
    script: str | None
    script_sha256: str | None


def command_fault(command: tuple[str, ...], base: Path) -> tuple[str, str] | None:
    """What is wrong with a command, and what to do; None when it can be resolved."""
    if not command:
        return "is missing", "Write the adapter's command, such as [python3, adapters/judge.py]"
    name = command[0]
    if any("\0" in part for part in command):
        return "holds a NUL", "Remove it"
    if "/" in name and not name.startswith("/"):
        text = "the program is a relative path"
        return text, "Write an absolute path, or its interpreter first: [python3, adapters/judge.py]"
    if _program(name) is None:
        where = "there" if name.startswith("/") else f"on the fixed PATH ({FIXED_PATH})"
        return f"the program is not {where}, or may not be executed", "Install it, or write an absolute path"
    return _script_fault(command, base) if _interprets(name) else None


def _script_fault(command: tuple[str, ...], base: Path) -> tuple[str, str] | None:
    number = _script_number(command)
    if number is None:
        return "names no script", "Put the adapter into a file, so that its content can be recorded"
    if not (base / command[number]).is_file():
        text = f"the script (argument {number}) is not there; it is looked for in {base}"
        return text, "Write a path relative to profiles.yaml, or an absolute one"
    return None


def resolve_command(command: tuple[str, ...], base: Path) -> ResolvedCommand:
    """The command with absolute paths and digests; ValueError with `command_fault`'s words, or OSError."""
    fault = command_fault(command, base)
    program = _program(command[0]) if command else None
    if fault or program is None:
        raise ValueError(". ".join(fault or ("the program is not there",)))
    argv, script = [program, *command[1:]], None
    number = _script_number(command) if _interprets(command[0]) else None
    if number is not None:
        script = argv[number] = str((base / command[number]).absolute())
    return ResolvedCommand(
        argv=tuple(argv),
        program_sha256=_sha256(Path(program)),
        script=script,
        script_sha256=_sha256(Path(script)) if script else None,
    )


def _program(name: str) -> str | None:
    places = [name] if name.startswith("/") else [f"{folder}/{name}" for folder in FIXED_PATH.split(":")]
    found = (place for place in places if name and Path(place).is_file() and os.access(place, os.X_OK))
    return next(found, None)


def _interprets(name: str) -> bool:
    return _INTERPRETER.fullmatch(Path(name).name) is not None


def _script_number(command: tuple[str, ...]) -> int | None:
    for number, part in enumerate(command[1:], start=1):
        if part in _NO_FILE:
            return None
        if not part.startswith("-"):
            return number
    return None


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

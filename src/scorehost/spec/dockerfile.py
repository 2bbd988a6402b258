"""A Dockerfile read as the Dockerfile reference says: instructions with their lines, and what it builds on.

https://docs.docker.com/reference/dockerfile/. It is read as the engine's classic builder reads it, by which
recipes are built: for that one a here-document is further instructions.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_DIRECTIVE = re.compile(r"#\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.+?)\s*")
_HERE_DOCUMENT = re.compile(r"\d*<<-?(?P<quote>[\"']?)[A-Za-z0-9_.-]+(?P=quote)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"""(?:\\.|"(?:\\.|[^"\\])*"?|'[^']*'?|[^\s\\"'])+|\\$""")
_FROM_WORDS = 3  # IMAGE AS NAME


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; `line` is where it begins, `word` is in capitals, `rest` comes after its flags."""

    line: int
    word: str
    flags: tuple[tuple[str, str], ...]
    rest: str

    def flag(self, name: str) -> str:
        """The value of `--name=VALUE`; "" without one."""
        return next((value for key, value in self.flags if key == name), "")

    @property
    def arguments(self) -> list[str]:
        """What comes after the flags, as a JSON list or as words without their quotes."""
        if self.rest.startswith("["):
            try:
                listed = json.loads(self.rest)
            except ValueError:
                listed = None
            if isinstance(listed, list) and all(isinstance(item, str) for item in listed):
                return listed
        return [unquoted(word) for word in words(self.rest)]

    @property
    def here_document(self) -> bool:
        """Whether BuildKit would take the lines below for a here-document."""
        takes = self.word in {"RUN", "COPY", "ADD"}
        return takes and any(_HERE_DOCUMENT.fullmatch(word) for word in words(self.rest))


@dataclass(frozen=True, slots=True)
class Base:
    """An image that is built on or copied from, as written and with its variables filled in."""

    line: int
    written: str
    name: str


def read(text: str) -> tuple[Instruction, ...]:
    """The instructions of a Dockerfile; continued lines are joined, comments and empty lines left out."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    escape = _escape(lines)
    continued = re.compile(rf"(?<!{re.escape(escape)}){re.escape(escape)}[ \t]*$")
    found: list[Instruction] = []
    joined, start = "", 0
    for number, raw in enumerate(lines, start=1):
        line = raw.strip() if not joined else raw.rstrip()
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        start = start or number
        if continued.search(line):
            joined += continued.sub("", line)
            continue
        found.append(_instruction(start, joined + line))
        joined, start = "", 0
    if joined.strip():
        found.append(_instruction(start, joined))
    return tuple(found)


def _escape(lines: Iterable[str]) -> str:
    """What the parser directive `escape` says; directives stand before everything else."""
    for line in lines:
        directive = _DIRECTIVE.fullmatch(line.strip())
        if directive is None:
            break
        if directive[1].lower() == "escape" and directive[2] in ("\\", "`"):
            return directive[2]
    return "\\"


def _instruction(line: int, text: str) -> Instruction:
    word, _, rest = text.strip().partition(" ") if " " in text.strip() else text.strip().partition("\t")
    rest = rest.strip()
    flags: list[tuple[str, str]] = []
    while rest.startswith("--"):
        first = words(rest)[0]
        rest = rest[len(first) :].lstrip()
        if first == "--":
            break
        name, _, value = first[2:].partition("=")
        flags.append((name.lower(), unquoted(value)))
    return Instruction(line, word.upper(), tuple(flags), rest)


def words(text: str) -> list[str]:
    """Words between blanks, quotes kept; what stands in quotes is one word, closed or not."""
    return [found[0] for found in _WORD.finditer(text)]


def unquoted(word: str) -> str:
    """A word without its quotes and escapes; variables stay as they are."""
    return _filled(word, {}, "\\", keep=True)


def filled(word: str, values: Mapping[str, str], escape: str = "\\") -> str:
    """A word without quotes, its variables filled in: $NAME, ${NAME}, and with :- :+ :? or - + ?."""
    return _filled(word, values, escape, keep=False)


def _filled(word: str, values: Mapping[str, str], escape: str, *, keep: bool) -> str:
    out, place, quote = "", 0, ""
    while place < len(word):
        sign = word[place]
        if sign == escape and quote != "'" and place + 1 < len(word):
            escapes = not quote or word[place + 1] in f'"${escape}'
            out += word[place + escapes : place + 2]
            place += 2
        elif sign in "\"'" and quote in ("", sign):
            quote = "" if quote else sign
            place += 1
        elif sign == "$" and quote != "'" and not keep:
            value, place = _variable(word, place + 1, values, escape)
            out += value
        else:
            out += sign
            place += 1
    return out


def _variable(word: str, place: int, values: Mapping[str, str], escape: str) -> tuple[str, int]:
    """The value of the variable whose name begins at `place`, and where the text goes on."""
    braced = word[place : place + 1] == "{"
    name = _NAME.match(word, place + braced)
    if name is None:
        return "$", place
    value = values.get(name[0], "")
    if not braced:
        return value, name.end()
    end = _closing(word, place)
    change = re.fullmatch(r"(:?)([-+?])(.*)", word[name.end() : end], re.DOTALL)
    if change is not None:
        there = bool(value) if change[1] else name[0] in values
        other = filled(change[3], values, escape)
        value = {"-": value if there else other, "+": other if there else "", "?": value}[change[2]]
    return value, end + 1


def _closing(word: str, place: int) -> int:
    depth = 0
    for index in range(place, len(word)):
        depth += {"{": 1, "}": -1}.get(word[index], 0)
        if not depth:
            return index
    return len(word)


def bases(instructions: Iterable[Instruction]) -> Iterator[Base]:
    """Every image that is built on or copied from, without stages of its own and `scratch`.

    Variables count with the defaults of ARGs before the first FROM, as only those are known there.
    """
    values: dict[str, str] = {}
    stages: set[str] = {"scratch"}
    count = 0
    for each in instructions:
        if each.word == "ARG" and not count:
            for word in words(each.rest):
                name, equals, value = word.partition("=")
                if equals:
                    values[name] = filled(value, values)
        elif each.word == "FROM":
            parts = each.rest.split()
            written = parts[0] if parts else ""
            name = filled(written, values)
            if name.lower() not in stages:
                yield Base(each.line, written, name)
            count += 1
            if len(parts) == _FROM_WORDS and parts[1].upper() == "AS":
                stages.add(parts[2].lower())
        else:
            source = copied_from(each)
            if source and source.lower() not in stages and not (source.isdigit() and int(source) < count):
                yield Base(each.line, source, source)


def copied_from(each: Instruction) -> str:
    """The image or stage that a COPY takes from; "" for its own context, and for everything else."""
    return each.flag("from") if each.word == "COPY" else ""

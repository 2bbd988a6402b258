"""Strict YAML: bytes to a tree with places, everything that is ambiguous or expands refused."""

from __future__ import annotations

import codecs
import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from scorehost.spec.problems import Place, Problems
from scorehost.spec.scalars import resolve
from scorehost.spec.wording import missing_space
from scorehost.spec.yaml_tree import Entry, Loc, Map, Node, Scalar, Sequence, join

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_BYTES = 1_048_576
MAX_DEPTH = 32
MAX_NODES = 50_000
_SHOWN = 60
_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OF_MAPPINGS = ("mapping values are not allowed", "could not find expected ':'")
_PAIR_LINE = re.compile(r"\s*(?:- +)*([A-Za-z_][A-Za-z0-9_.-]*:(?![\s/:]|$).*?)\s*")
_SURROGATE = re.compile("[\ud800-\udfff]")
# libyaml's parser is about twenty times faster; both give the same events.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_yaml(data: bytes, *, file: str) -> Map:
    """The tree of one file; raises `SpecError` with every problem, and nothing else."""
    problems = Problems()
    tree = read_tree(data, file=file, problems=problems)
    problems.raise_any()
    # Nothing was wrong, so there is a tree.
    return tree if tree is not None else Map(Place(file, 1, 1), {})


def read_file(path: Path, *, file: str, problems: Problems, quote: bool = True) -> Map | None:
    """Reads the file at `path`, which messages call `file`; None when it is no mapping or cannot be read."""
    try:
        # Asked first: opening a FIFO would wait for a writer.
        if not stat.S_ISREG(path.stat().st_mode):
            problems.add(Place(file), "", "is not a file", "Put a file there")
            return None
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        text = "is a link that leads to no file" if path.is_symlink() else "is not there"
        problems.add(Place(file), "", text, "Put the file there, or remove its folder")
        return None
    except OSError as error:
        problems.add(Place(file), "", f"cannot be read: {error.strerror}", "Make it a readable file")
        return None
    return read_tree(data, file=file, problems=problems, quote=quote)


def read_tree(data: bytes, *, file: str, problems: Problems, quote: bool = True) -> Map | None:
    """The tree of `data`, its problems added to `problems`; None when nothing can be bound.

    With `quote=False` no message holds a value of the file.
    """
    text = _decode(data, file, problems)
    if text is None:
        return None
    builder = _Builder(file, problems, quote)
    try:
        root = builder.build(text)
    except yaml.YAMLError as error:
        _syntax(error, text, file, problems, quote=quote)
        return None
    if root is None:
        return None
    if not isinstance(root, Map):
        problems.add(root.place, "", "the file must be a mapping", "Write `key: value` lines")
        return None
    return root


def _decode(data: bytes, file: str, problems: Problems) -> str | None:
    if len(data) > MAX_BYTES:
        problems.add(
            Place(file, 1, 1), "", f"larger than {MAX_BYTES} bytes", "Keep long material in a file of its own"
        )
        return None
    if data.startswith(codecs.BOM_UTF8):
        problems.add(Place(file, 1, 1), "", "starts with a byte order mark", "Save it as UTF-8 without BOM")
        data = data[len(codecs.BOM_UTF8) :]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        problems.add(_place(file, before), "", "not UTF-8", "Save the file as UTF-8")
        return None
    if "\r" in text:
        place = _place(file, text[: text.index("\r")])
        problems.add(place, "", "line ends are CRLF or CR", "Save the file with LF line ends")
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    odd = _UNPRINTABLE.search(text)
    if odd:
        place = _place(file, text[: odd.start()])
        problems.add(
            place,
            "",
            f"a control character (U+{ord(odd[0]):04X})",
            'Remove it, or write it as "\\x.." in quotes',
        )
        return None
    return text


def _place(file: str, before: str) -> Place:
    lines = before.split("\n")
    return Place(file, len(lines), len(lines[-1]) + 1)


def _without_space(error: yaml.YAMLError, lines: list[str]) -> tuple[int, int, str] | None:
    """Line, column and text of the `key:value` that made a block mapping unreadable, if that is why."""
    if not any(words in str(getattr(error, "problem", "")) for words in _OF_MAPPINGS):
        return None
    marks = [getattr(error, name, None) for name in ("problem_mark", "context_mark")]
    last = max(mark.line for mark in marks if mark is not None)
    for number in range(min(last, len(lines) - 1), -1, -1):
        found = _PAIR_LINE.fullmatch(lines[number])
        if found:
            return number, found.start(1), found[1]
        if number < last and lines[number].strip() and not lines[number].lstrip().startswith("#"):
            return None  # the line before is in order
    return None


def _syntax(error: yaml.YAMLError, text: str, file: str, problems: Problems, *, quote: bool) -> None:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        problems.add(Place(file, 1, 1), "", "not YAML", "Look for characters that do not belong there")
        return
    lines = text.split("\n")
    line = lines[mark.line] if mark.line < len(lines) else ""
    place = Place(file, mark.line + 1, mark.column + 1)
    if line[mark.column : mark.column + 1] == "\t" or line[: len(line) - len(line.lstrip())].count("\t"):
        problems.add(place, "", "a tab where YAML wants spaces", "Indent with spaces")
        return
    near = _without_space(error, lines)
    if near is not None:
        number, column, raw = near
        problems.add(Place(file, number + 1, column + 1), "", *missing_space(raw, quote=quote))
        return
    what = getattr(error, "problem", None) or "it cannot be read"
    problems.add(place, "", f"not YAML: {what}", "Mend the line, or quote the value")


class _Stop(Exception):
    """A cap was passed; the rest of the file is not read."""


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    place: Place
    is_map: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    key: str | None = None
    key_place: Place | None = None  # set: the next node is the value
    key_plain: bool = False  # without quotes
    flow: bool = False  # in braces or brackets
    ignored: bool = False  # the value belongs to a key that was refused

    def step(self) -> str | int:
        if not self.is_map:
            return len(self.items)
        return self.key if self.key is not None else "?"


class _Builder:
    def __init__(self, file: str, problems: Problems, quote: bool) -> None:
        self._file = file
        self._problems = problems
        self._quote = quote
        self._stack: list[_Open] = []
        self._nodes = 0
        self._root: Node | None = None

    def build(self, text: str) -> Node | None:
        documents = 0
        try:
            for event in self._events(text):
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        self._say(event, "a second document starts here", "Write one document in a file")
                        break
                else:
                    self._take(event)
        except _Stop:
            return None
        if documents == 0:
            self._problems.add(
                Place(self._file, 1, 1), "", "the file is empty", "Write its `format:` line first"
            )
        return self._root

    def _events(self, text: str) -> Iterator[Any]:
        yield from yaml.parse(text, Loader=_LOADER)

    def _take(self, event: Any) -> None:
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            self._count(event)
            self._marks(event)
            if len(self._stack) >= MAX_DEPTH:
                self._say(event, f"nested deeper than {MAX_DEPTH} levels", "Flatten it")
                raise _Stop
            is_map = isinstance(event, yaml.MappingStartEvent)
            self._stack.append(_Open(self._at(event), is_map, flow=bool(event.flow_style)))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            done = self._stack.pop()
            made: Node = (
                Map(done.place, done.entries) if done.is_map else Sequence(done.place, tuple(done.items))
            )
            self._attach(made)
        elif isinstance(event, yaml.ScalarEvent):
            self._count(event)
            plain = not event.style
            node = self._scalar(event)
            self._attach(node, plain=plain)
        elif isinstance(event, yaml.AliasEvent):
            self._count(event)
            self._say(event, "an alias (`*name`)", "Write the value out")
            self._attach(Scalar(self._at(event), "refused", None, ""))

    def _scalar(self, event: Any) -> Scalar:
        place, raw = self._at(event), str(event.value)
        if self._marks(event):
            return Scalar(place, "refused", None, "")
        if _SURROGATE.search(raw):
            self._say(event, "half of a surrogate pair", "Write the character itself")
            return Scalar(place, "refused", None, "")
        if event.style:
            return Scalar(place, "text", raw, raw)
        if raw == "<<" and self._wants_key():
            return Scalar(place, "text", raw, raw)
        found = resolve(raw)
        if found.kind == "refused":
            shown = f"`{raw[:_SHOWN]}`" if self._quote else "the value"
            self._say(event, f"{shown} {found.text}", found.hint)
        return Scalar(place, found.kind, found.value, raw)

    def _attach(self, node: Node, *, plain: bool = False) -> None:
        if not self._stack:
            self._root = node
            return
        top = self._stack[-1]
        if not top.is_map:
            top.items.append(node)
        elif top.key_place is None:
            self._key(top, node)
            top.key_plain = plain
        else:
            if self._lacks_space(top, node):
                top.ignored = True
            if not top.ignored and top.key is not None:
                top.entries[top.key] = Entry(top.key_place, node)
            top.key, top.key_place, top.ignored = None, None, False

    def _key(self, top: _Open, node: Node) -> None:
        top.key_place, top.ignored = node.place, True
        if not isinstance(node, Scalar):
            self._problems.add(node.place, self._path(), "a list or mapping as a key", "A key is text")
        elif node.kind == "text":
            name = str(node.value)
            first = top.entries.get(name)
            if name == "<<":
                self._problems.add(node.place, self._path(), "a merge key (`<<`)", "Write the keys out")
            elif first is not None:
                top.key = name
                text = f"this key stands twice, first in line {first.key_place.line}"
                self._problems.add(node.place, self._path(), text, "Remove one of them")
            else:
                top.key, top.ignored = name, False
        elif node.kind != "refused":
            shown = f"the key `{node.raw[:_SHOWN]}` is " if node.raw else "the key is "
            kind = {"integer": "a number", "number": "a number", "boolean": "a boolean"}.get(
                node.kind, "empty"
            )
            self._problems.add(node.place, self._path(), shown + kind, "quote it")

    def _lacks_space(self, top: _Open, node: Node) -> bool:
        """Tells of `{key:value}`, which YAML reads as one long key without a value."""
        if not (top.flow and top.key_plain and isinstance(node, Scalar)) or top.key_place is None:
            return False
        if node.kind != "null" or node.raw or top.key is None or ":" not in top.key:
            return False
        raw, top.key = top.key, None
        self._problems.add(top.key_place, self._path(), *missing_space(raw, quote=self._quote))
        return True

    def _wants_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].is_map and self._stack[-1].key_place is None

    def _marks(self, event: Any) -> bool:
        if event.anchor is not None:
            self._say(event, "an anchor (`&name`)", "Remove it, and write the value out where it is wanted")
        if event.tag is not None:
            self._say(event, "a tag (`!name`)", "Remove it; quote the value if it is text")
        return event.tag is not None

    def _count(self, event: Any) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._say(event, f"more than {MAX_NODES} values", "Keep long material in a file of its own")
            raise _Stop

    def _at(self, event: Any) -> Place:
        return Place(self._file, event.start_mark.line + 1, event.start_mark.column + 1)

    def _path(self) -> str:
        loc: Loc = tuple(open_.step() for open_ in self._stack)
        steps = loc[:-1] if loc and loc[-1] == "?" else loc
        return join(steps)[:200]

    def _say(self, event: Any, text: str, hint: str) -> None:
        self._problems.add(self._at(event), self._path(), text, hint)

"""What `run(ctx)` of a run.py is given: its folders, sessions, and the way its artifacts are handed over."""

from __future__ import annotations

import base64
import os
import shutil
import stat
import sys
from pathlib import Path

from scorehost_sdk import requests
from scorehost_sdk.agents import Agent, AsyncAgent
from scorehost_sdk.returned import Rejected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Iterator, Union

    from scorehost_sdk.agents import AsyncSession, Session
    from scorehost_sdk.requests import Steps
    from scorehost_sdk.scoring import Link

PART = (
    512 * 1024
)  # a part stands in memory several times on its way, and memory is what a run phase has least of
_SAID = 200  # characters of why run.py says that it failed
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def context(link: Link, given: Dict[str, Any], waits: bool, root: str) -> Union[Context, AsyncContext]:
    """The context of a run phase in the host's folder `root`; the task's data is laid into its workspace."""
    made: Union[Context, AsyncContext]
    if given["layout"] == "ageval":
        from ageval_sdk.context import PlainRunContext, RunContext  # noqa: PLC0415 - few tasks need it

        made = (RunContext if waits else PlainRunContext)(link, given, root)
    else:
        made = (AsyncContext if waits else Context)(link, given, root)
    staged = os.path.join(root, ".scorehost", "workspace")
    if os.path.isdir(staged):
        shutil.copytree(staged, made.workspace, dirs_exist_ok=True, copy_function=_copied)
        os.chmod(made.workspace, 0o700)
    return made


def finished(made: Union[Context, AsyncContext], value: Any, root: str) -> None:
    """Takes what run.py returned; Rejected when it says that it failed.

    After a call that an agent's side did not answer, that is the failure: no run.py can be blamed for it.
    """
    rest = getattr(made, "hand_over_the_rest", None)
    if rest is not None:
        rest(root)
    if getattr(value, "status", "") == "failed":
        sessions = sys.modules.get("ageval_sdk.sessions")
        fault = getattr(sessions, "last_fault", "")
        said = str(getattr(value, "text", ""))[:_SAID]
        text = f"run.py gave up ({said})" if said else "run.py gave up"
        raise Rejected(fault or "evaluator_exception", text)


def _copied(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    os.chmod(target, 0o755 if os.stat(source).st_mode & 0o100 else 0o644)


class _Shared:
    def __init__(self, link: Link, given: Dict[str, Any], root: str) -> None:
        self._link = link
        self.params: Dict[str, Any] = given["parameters"]
        self.task: Dict[str, Any] = given["task"]
        self.workspace = Path(root, "workspace")
        self.artifacts = Path(root, "artifacts")


class Context(_Shared):
    """For a plain `run`: every call blocks.

    `params` are the task's parameters, `workspace` a folder with its data and `artifacts` an empty one (both
    in memory, both writable), `task` says which sample it is, with its `seed`.
    """

    def session(self, role: str) -> Session:
        """A conversation with a role, from `with` to its end."""
        return Agent(self._link, ()).session(role)

    def publish(self, artifact: str, path: Union[str, os.PathLike[str]]) -> None:
        """Hands the file or folder at `path` over as an artifact of the task; once more replaces it.

        What was handed over counts, whatever happens afterwards. ScoringError when it may not be taken.
        """
        requests.drive(self._link, publishing(artifact, os.fspath(path)))


class AsyncContext(_Shared):
    """For an async `run`: every call is awaited; otherwise as `Context`."""

    def session(self, role: str) -> AsyncSession:
        """A conversation with a role, from `async with` to its end."""
        return AsyncAgent(self._link, ()).session(role)

    async def publish(self, artifact: str, path: Union[str, os.PathLike[str]]) -> None:
        """Hands the file or folder at `path` over as an artifact of the task; once more replaces it.

        What was handed over counts, whatever happens afterwards. ScoringError when it may not be taken.
        """
        await requests.adrive(self._link, publishing(artifact, os.fspath(path)))


def publishing(artifact: str, path: str) -> Steps[None]:
    """The steps that carry a file or a folder; ValueError for a link, a device, a FIFO or a socket in it."""
    common = {"kind": "publish", "artifact": str(artifact)}
    kind = os.lstat(path).st_mode
    yield dict(common, step="begin"), ()
    if stat.S_ISDIR(kind):
        yield from _folder(common, os.fsencode(path), b"")
    else:
        yield from _file(common, os.fsencode(path), b"")
    yield dict(common, step="end"), ()


def _folder(common: Dict[str, Any], folder: bytes, prefix: bytes) -> Steps[None]:
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        name = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            yield dict(common, step="folder", path=_text(name)), ()
            yield from _folder(common, entry.path, name + b"/")
        else:
            yield from _file(common, entry.path, name)


def _file(common: Dict[str, Any], path: bytes, name: bytes) -> Steps[None]:
    shown = path.decode("utf-8", "backslashreplace")
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise ValueError(f"{shown} is no regular file or folder; only these can be published")
    with open(os.open(path, _OPEN), "rb") as file:
        executable = bool(os.fstat(file.fileno()).st_mode & 0o100)
        part = dict(common, step="file", path=_text(name), executable=executable)
        for data, more in _parts(file):
            yield dict(part, data=_text(data), more=more), ()


def _parts(file: Any) -> Iterator[Any]:
    data = file.read(PART)
    while True:
        following = file.read(PART) if len(data) == PART else b""
        yield data, bool(following)
        if not following:
            return
        data = following


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")

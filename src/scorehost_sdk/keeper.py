"""Keeps an evaluation that runs in a child: holds key, channel and digests, and vouches for its end.

Nothing of the task runs in this process, and once the child has begun nothing is imported and no file is read
here but the kernel's: what the child's user could write reaches it as bytes of a socket only.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from _socket import CMSG_SPACE, MSG_DONTWAIT, SCM_CREDENTIALS, SOL_SOCKET
from contextlib import suppress

from scorehost_sdk.channel import LAST, REQUEST
from scorehost_sdk.confinement import not_held
from scorehost_sdk.feed import fill, load, pass_tick, tick
from scorehost_sdk.rights import adopt_orphans, close_memory, open_places
from scorehost_sdk.signed import EVALUATOR, KEEPER, REPLY, TIME, Signed, die
from scorehost_sdk.trees import Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from typing import Any, Dict, List, NoReturn, Optional, Tuple

# Longer than a controller waits for the end of this process before it takes the way here for cut.
LINGER_SECONDS = 10.0
EXIT_SECONDS = 5.0  # from the evaluator's last word to the beginning of its exit
_PIECE = 1 << 18
_LENGTH, _MOST = 4, 16 * 1024 * 1024  # of a message: the size of its own size, and the largest
_CREDENTIALS = 12  # struct ucred: pid, uid, gid
_MEMORY, _CPU = "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpuacct/cpuacct.usage"


def keep(controller: Signed, way: socket, child: int, root: str) -> NoReturn:
    """Takes the first frame and what follows it, has `child` evaluate, and ends this process.

    `way` leads to the child, and tells who writes there. Whatever goes wrong here ends the host without a
    word, and then nothing counts.
    """
    try:
        _Keeper(controller, way, child, root).keep()
    except BaseException as trouble:  # noqa: BLE001 - nothing may go on after it
        die(5, "scorehost: the keeper of this evaluation failed: %s: %s" % (type(trouble).__name__, trouble))


class _Keeper:
    def __init__(self, controller: Signed, way: socket, child: int, root: str) -> None:
        self._controller, self._way, self._child, self._root = controller, way, child, root
        self._heard, self._unsent = bytearray(), bytearray()
        self._open = True
        self._status: Optional[int] = None  # the child's end
        self._said = self._stopped = self._broken = self._alone = False
        self._cut_at = self._exit_by = float("inf")
        self._trees: Dict[str, Tree] = {}
        self._kills = 0

    def keep(self) -> NoReturn:
        safe = close_memory()  # before the key comes
        start = self._controller.start()
        self._see_that_it_is_held(start["alone"], start.pop("excused"))
        laid_out = 0
        if start["fed"]:
            load(self._controller.read, self._root)
            fill(self._root)
            laid_out = tick()
        # In a container, and not on the machine of whoever tries this file out.
        self._alone = start.pop("alone") and os.getppid() == 1 and os.getuid() != 0
        open_places(start.pop("shared"))
        if self._alone:
            adopt_orphans()  # where that fails, what is killed at the end is not waited for
        wake = self._woken()
        self._trees = {folder: Tree(folder, start["fed"]) for folder in start.pop("trees")}
        digests = {folder: tree.digest() for folder, tree in self._trees.items()}
        self._kills = _kills() or 0
        python = "%d.%d.%d" % sys.version_info[:3]
        self._say({"kind": "hello", "python": python, "trees": digests, "dumpable": not safe})
        if start["fed"]:
            pass_tick(laid_out)
        sys.path[:], sys.meta_path[:] = [], []  # from now on the child could put a module there
        body = json.dumps(start).encode("ascii")
        self._unsent += len(body).to_bytes(4, "big") + body
        self._reap()
        while self._status is None:
            self._turn(wake)
        self._kill_all()
        while self._open and self._from_child():
            pass  # what it had said before its end
        self._vouch()

    def _see_that_it_is_held(self, in_container: bool, excused: List[str]) -> None:
        """Where the engine did not do as it was asked: takes no file, says so in its hello, and ends."""
        unenforced = [name for name in not_held() if name not in excused] if in_container else []
        if unenforced:
            python = "%d.%d.%d" % sys.version_info[:3]
            self._say({"kind": "hello", "python": python, "trees": {}, "unenforced": unenforced})
            os._exit(0)

    def _say(self, document: Dict[str, Any]) -> None:
        self._controller.say(KEEPER, json.dumps(document).encode("ascii"))

    @staticmethod
    def _woken() -> int:
        """A descriptor that can be read whenever a child has ended."""
        source, sink = os.pipe()
        os.set_blocking(sink, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(sink, warn_on_full_buffer=False)
        return source

    def _ready(self, wake: int) -> Tuple[List[Any], List[Any]]:
        """Waits until something has happened: what can be read then, and what can be written.

        While the controller does not take what was said, the child is not heard, and only it waits.
        """
        readers: List[Any] = [wake]
        if self._cut_at == float("inf"):
            readers.append(self._controller.source)
        if self._open and not self._controller.unsent:
            readers.append(self._way)
        writers: List[Any] = [self._way] if self._open and self._unsent else []
        if self._controller.unsent:
            writers.append(self._controller.sink)
        alarm = min(self._cut_at + LINGER_SECONDS, self._exit_by)
        left = None if alarm == float("inf") else max(0.0, alarm - time.monotonic())
        readable, writable, _ = select.select(readers, writers, [], left)
        return readable, writable

    def _turn(self, wake: int) -> None:
        """One look at everything that may have happened."""
        readable, writable = self._ready(wake)
        if self._way in readable:
            self._from_child()
        if self._controller.source in readable:
            self._from_controller()
        if self._way in writable:
            self._to_child()
        if self._controller.sink in writable:
            self._controller.flush()
        if wake in readable:
            os.read(wake, 4096)
            self._reap()
        now = time.monotonic()
        if now >= self._cut_at + LINGER_SECONDS:
            os._exit(3)
        if now >= self._exit_by:
            self._exit_by = float("inf")
            self._kill()

    def _reap(self) -> None:
        """Takes note of children that have ended: the evaluator, and orphans that came to this process."""
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == self._child:
                self._status = _code(status)
                return
            if pid == 0:
                return

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self._child, signal.SIGKILL)

    def _kill_all(self) -> None:
        """Returns when nothing that the evaluator started lives any more.

        One kill reaches all processes of this user at once; what forks in that moment is not let. All that is
        killed becomes a child of this process, which waits until it has no more of them.
        """
        if not self._alone:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._child, signal.SIGKILL)
            return
        while True:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(-1, signal.SIGKILL)
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:
                return

    def _from_child(self) -> bool:
        """Takes what the child has sent; whether there was anything."""
        try:
            data, told, _, _ = self._way.recvmsg(_PIECE, CMSG_SPACE(_CREDENTIALS), MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except ConnectionResetError:
            data, told = b"", []
        if not data:
            self._open = False
        elif _sender(told) == self._child:  # nobody else is heard, who may have the descriptor by a fork
            self._heard += data
            self._relay()
        return self._open

    def _relay(self) -> None:
        while self._heard and not self._broken:
            size = int.from_bytes(self._heard[:4], "big")
            whole = len(self._heard) >= 4 + size
            if self._said or (len(self._heard) >= _LENGTH and not 1 < size <= _MOST):
                self._break_off()
            elif len(self._heard) < _LENGTH or not whole:
                return
            elif self._heard[4:5] not in (REQUEST, LAST):
                self._break_off()
            else:
                self._said = self._heard[4:5] == LAST
                if self._said:
                    self._exit_by = time.monotonic() + EXIT_SECONDS
                self._controller.say(EVALUATOR, bytes(self._heard[5 : 4 + size]))
                del self._heard[: 4 + size]

    def _break_off(self) -> None:
        """The child said what the SDK does not say."""
        self._broken = True
        self._heard.clear()
        self._kill()

    def _from_controller(self) -> None:
        frames = self._controller.hear()
        if frames is None:
            self._cut_at = time.monotonic()
            return
        for label, body in frames:
            if label == TIME and not self._said:
                self._stopped = True
                self._kill()
            elif label == REPLY and self._open:
                self._unsent += len(body).to_bytes(4, "big") + body

    def _to_child(self) -> None:
        try:
            sent = self._way.send(memoryview(self._unsent)[:_PIECE], MSG_DONTWAIT)
        except BlockingIOError:
            return
        except (BrokenPipeError, ConnectionResetError):
            sent = len(self._unsent)  # it reads no more; its end comes, or its time runs out
        del self._unsent[:sent]

    def _vouch(self) -> NoReturn:
        """The last word: nothing of the evaluation lives, and this is how it ended and what lies there."""
        kills = _kills()
        self._say(
            {
                "kind": "ended",
                "status": self._status,
                "stopped": self._stopped,
                "broken": self._broken,
                "oom_kills": 0 if kills is None else max(0, kills - self._kills),
                "trees": {folder: tree.digest() for folder, tree in self._trees.items()},
                "usage": _usage(),
            }
        )
        self._controller.end_log()
        if self._cut_at != float("inf"):
            time.sleep(
                LINGER_SECONDS
            )  # it did not arrive; an exit now would look like one of the evaluator's own
            os._exit(3)
        os._exit(0)


def _sender(told: List[Tuple[int, int, bytes]]) -> int:
    for level, kind, data in told:
        if (level, kind) == (SOL_SOCKET, SCM_CREDENTIALS):
            return int.from_bytes(data[:4], sys.byteorder)
    return 0


def _code(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _number_in(path: str, key: Optional[bytes] = None) -> Optional[int]:
    try:
        with open(path, "rb") as file:  # bytes: a codec would be imported
            for line in file:
                words = line.split()
                if key is None or words[0] == key:
                    return int(words[-1])
    except (OSError, ValueError, IndexError):
        return None
    return None


def _kills() -> Optional[int]:
    """How many processes of this host the kernel has killed for memory; None where it does not say."""
    found = _number_in("/sys/fs/cgroup/memory.events", b"oom_kill")
    return _number_in(_MEMORY + "/memory.oom_control", b"oom_kill") if found is None else found


def _usage() -> Dict[str, Any]:
    base = "/sys/fs/cgroup/"
    peak = _number_in(base + "memory.peak")
    if peak is None:
        peak = _number_in(_MEMORY + "/memory.max_usage_in_bytes")
    micro = _number_in(base + "cpu.stat", b"usage_usec")
    nano = _number_in(_CPU) if micro is None else None
    seconds = micro / 1e6 if micro is not None else None if nano is None else nano / 1e9
    return {"peak_memory_bytes": peak, "cpu_seconds": seconds}

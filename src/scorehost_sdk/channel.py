"""The evaluator's end of the way to its keeper: requests out, replies in. It holds no key."""

from __future__ import annotations

import json
import os
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterable, List, Optional

_READY_SECONDS = 0.1  # for an answer that was made beside another one
REQUEST, LAST = b"q", b"r"  # what the keeper is told of each message: one of several, or the last


class Channel:
    """Frames between the evaluator's process and its keeper; safe to use from several threads."""

    def __init__(self, descriptor: int) -> None:
        self._source = self._sink = descriptor
        self._pid = os.getpid()
        self._last_id = 0
        self._writing = threading.Lock()
        self._waiting: Dict[int, Callable[[Dict[str, Any]], None]] = {}
        self._over = False
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        # A forked child has a copy of everything. The keeper hears nobody but this process; and a child that
        # could read would take away what this one waits for.
        self._over, self._waiting = True, {}
        self._writing = threading.Lock()
        try:
            os.close(self._sink)
        except OSError:  # closed already by whoever made the child
            return

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            piece = os.read(self._source, min(size - len(parts), 1 << 20))
            if not piece:
                os._exit(3)  # the keeper has gone: nobody waits for a result
            parts += piece
        return bytes(parts)

    def _frame(self) -> Dict[str, Any]:
        frame: Dict[str, Any] = json.loads(self._read(int.from_bytes(self._read(4), "big")))
        return frame

    def start(self) -> Dict[str, Any]:
        """The first frame, which says what is to be evaluated."""
        frame = self._frame()
        threading.Thread(target=self._listen, daemon=True, name="scorehost-channel").start()
        return frame

    def _listen(self) -> None:
        while True:
            reply = self._frame()
            deliver = self._waiting.pop(reply["id"], None)
            if deliver is not None:
                deliver(reply)

    def _write(self, letter: bytes, message: Dict[str, Any]) -> None:
        body = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
        data = memoryview((1 + len(body)).to_bytes(4, "big") + letter + body)
        while data:
            try:
                data = data[os.write(self._sink, data) :]
            except BlockingIOError:  # somebody who shares the way made it non-blocking
                os.set_blocking(self._sink, True)
            except (BrokenPipeError, ConnectionResetError):
                os._exit(3)

    def tell(self, message: Dict[str, Any]) -> None:
        """Sends a frame that has no id and no reply."""
        with self._writing:
            self._write(REQUEST, message)

    def finish(self, message: Dict[str, Any]) -> None:
        """Sends the last frame; nothing can be sent after it."""
        with self._writing:
            self._over = True
            self._write(LAST, message)

    def _request(
        self,
        message: Dict[str, Any],
        stdin: Iterable[str],
        deliver: Optional[Callable[[Dict[str, Any]], None]],
    ) -> int:
        refused = self._refused()
        if refused is not None:
            if deliver is not None:
                deliver(refused)
            return 0
        with self._writing:
            self._last_id = number = self._last_id + 1
            if deliver is not None:
                self._waiting[number] = deliver
            for part in stdin:
                self._write(REQUEST, {"kind": "stdin", "id": number, "data": part})
            self._write(REQUEST, dict(message, id=number))
        return number

    def _refused(self) -> Optional[Dict[str, Any]]:
        if not self._over and os.getpid() == self._pid:
            return None
        text = "the evaluation is over, or this is a forked process: scoring works in evaluate() only"
        return {"ok": False, "error": {"type": "ScoringError", "message": text}}

    def post(self, message: Dict[str, Any]) -> None:
        """Sends a request that gets no reply; drops it when the evaluation is over."""
        self._request(message, (), None)

    def call(
        self, message: Dict[str, Any], stdin: Iterable[str] = (), timeout: Optional[float] = None
    ) -> Optional[Dict[str, Any]]:
        """The reply; None when `timeout` seconds passed. `stdin` are base64 parts that go ahead."""
        box: List[Dict[str, Any]] = []
        done = threading.Event()

        def deliver(reply: Dict[str, Any]) -> None:
            box.append(reply)
            done.set()

        number = self._request(message, stdin, deliver)
        if not done.wait(timeout):
            self._hear_from_controller()
            if not done.wait(_READY_SECONDS):
                self._waiting.pop(number, None)
                return None
        return box[0]

    def _hear_from_controller(self) -> None:
        """Waits until the controller, which may have been held up itself, answers something that it answers
        at once: by then it has answered whatever was asked before and could be.
        """
        heard = threading.Event()
        self._request({"kind": "cpu", "name": None}, (), lambda _: heard.set())
        heard.wait()

    async def acall(self, message: Dict[str, Any], stdin: Iterable[str] = ()) -> Dict[str, Any]:
        """The same for an async evaluator."""
        import asyncio  # noqa: PLC0415 - 30 ms that a plain evaluator does not need

        refused = self._refused()
        if refused is not None:  # in a forked process no loop runs either
            return refused
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Dict[str, Any]] = loop.create_future()

        def settle(reply: Dict[str, Any]) -> None:
            if not future.done():
                future.set_result(reply)

        def deliver(reply: Dict[str, Any]) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, reply)

        number = self._request(message, stdin, deliver)
        try:
            return await future
        finally:
            if self._waiting.pop(number, None) is not None:  # cancelled: what it runs must not go on unheard
                self.post({"kind": "cancel", "request": number})

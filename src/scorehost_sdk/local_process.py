"""A program on an author's machine that stands for one in a scoring host; its output is read as it comes."""

from __future__ import annotations

import base64
import contextlib
import os
import subprocess
import threading
import time
from typing import Any, Dict, Iterator, List, Optional, Tuple


def ended(code: Optional[int], stdout: bytes, stderr: bytes, seconds: float) -> Dict[str, Any]:
    return {
        "exit_code": code,
        "stdout": base64.b64encode(stdout).decode(),
        "stderr": base64.b64encode(stderr).decode(),
        "stdout_truncated": False,
        "stderr_truncated": False,
        "timed_out": False,
        "oom_killed": False,
        "host_lost": False,
        "reason": "",
        "duration_seconds": seconds,
    }


class LocalProcess:
    """A local process whose output is read as it comes."""

    def __init__(self, words: List[str], env: Dict[str, str], workdir: str) -> None:
        self._process = subprocess.Popen(
            words,
            env=env,
            cwd=workdir,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._began = time.monotonic()
        self._news = threading.Condition()
        self._output = {"stdout": bytearray(), "stderr": bytearray()}
        self._readers = [
            threading.Thread(target=self._read, args=(name,), daemon=True) for name in self._output
        ]
        self._open = len(self._readers)
        for reader in self._readers:
            reader.start()

    def _read(self, name: str) -> None:
        pipe = getattr(self._process, name)
        with pipe:
            for data in _pieces(pipe.fileno()):
                with self._news:
                    self._output[name] += data
                    self._news.notify_all()
        with self._news:
            self._open -= 1
            self._news.notify_all()

    def send(self, data: bytes) -> None:
        try:
            self._process.stdin.write(data)  # type: ignore[union-attr] # stdin is a pipe
            self._process.stdin.flush()  # type: ignore[union-attr]
        except (
            BrokenPipeError,
            ValueError,
        ):  # it has ended, or its input has: a host says nothing of it either
            return

    def close_stdin(self) -> None:
        try:
            self._process.stdin.close()  # type: ignore[union-attr]
        except BrokenPipeError:
            return

    def _taken(self) -> Tuple[bytes, bytes]:
        stdout, stderr = bytes(self._output["stdout"]), bytes(self._output["stderr"])
        self._output["stdout"].clear()
        self._output["stderr"].clear()
        return stdout, stderr

    def receive(self, timeout: Optional[float]) -> Dict[str, Any]:
        with self._news:
            self._news.wait_for(lambda: any(self._output.values()) or not self._open, timeout)
            stdout, stderr = self._taken()
            ended = not self._open
        return {
            "stdout": base64.b64encode(stdout).decode(),
            "stderr": base64.b64encode(stderr).decode(),
            "ended": ended,
        }

    def wait(self, timeout: Optional[float]) -> Optional[Dict[str, Any]]:
        try:
            code = self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return None
        with self._news:
            self._news.wait_for(lambda: not self._open, 2.0)
            stdout, stderr = self._taken()
        self.close_stdin()
        return ended(code if code >= 0 else 128 - code, stdout, stderr, time.monotonic() - self._began)

    def cpu_seconds(self) -> float:
        """CPU time that it has used, with what its ended children have."""
        try:
            with open(f"/proc/{self._process.pid}/stat", "rb") as file:
                ticks = file.read().rpartition(b")")[2].split()[11:15]
        except OSError:
            return 0.0
        return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, 9)
        self._process.wait()
        self.close_stdin()
        for reader in self._readers:
            reader.join(2.0)


def _pieces(descriptor: int) -> Iterator[bytes]:
    while True:
        data = os.read(descriptor, 65536)
        if not data:
            return
        yield data

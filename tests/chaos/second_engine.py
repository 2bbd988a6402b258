"""A second Docker engine beside the first, on its own socket, to be killed and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path

IMAGE = "scorehost/python:3"
START_SECONDS = 60.0
STOP_SECONDS = 60.0


class SecondEngine:
    """An engine with folders of its own. It is never the first one: it knows its own process only."""

    def __init__(self, *, mapped: bool = False) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="she-"))
        self.root.chmod(0o711)  # for the users that the containers' root is mapped to
        self._mapped = mapped
        self.socket = self.root / "e.sock"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def host(self) -> str:
        """The address, as DOCKER_HOST takes it."""
        return f"unix://{self.socket}"

    def docker(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """A docker command on this engine."""
        command = ["docker", "-H", self.host, *words]
        return subprocess.run(command, capture_output=True, text=True, check=check, timeout=120)

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        words = [
            # In a network of its own: `--bridge=none` removes docker0, and it would be the first engine's.
            "unshare",
            "--net",
            *(self._mapping() if self._mapped else ()),
            "dockerd",
            f"--host={self.host}",
            f"--data-root={self.root / 'data'}",
            f"--exec-root={self.root / 'exec'}",
            f"--pidfile={self.root / 'pid'}",
            "--bridge=none",
            "--iptables=false",
            "--ip-forward=false",
            f"--containerd-namespace={self.root.name}",
            f"--containerd-plugins-namespace={self.root.name}-plugins",
            *(["--userns-remap=nobody:nogroup"] if self._mapped else ()),
        ]
        with (self.root / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while self.docker("version", check=False).returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.root / "log").read_text()[-3_000:])
            time.sleep(0.1)

    def _mapping(self) -> list[str]:
        """Words that start the engine where /etc/subuid and /etc/subgid hold a range, for it alone."""
        ranges = self.root / "ranges"
        ranges.write_text("nobody:500000:65536\nnogroup:500000:65536\n")
        laid = " && ".join(f'mount --bind "$0" /etc/{name}' for name in ("subuid", "subgid"))
        return ["--mount", "sh", "-c", f'mount --make-rprivate / && {laid} && exec "$@"', str(ranges)]

    def end(self, number: signal.Signals) -> None:
        """Ends it by a signal, and waits until it is gone."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(STOP_SECONDS)
            self._process = None
        # One that was killed leaves these behind. Its containerd died with it; where nobody reaps orphans,
        # the next engine would take that one's number for a process that lives.
        for name in ("pid", "exec/containerd/containerd.pid"):
            (self.root / name).unlink(missing_ok=True)

    def tell(self, number: signal.Signals) -> None:
        """Sends it a signal that does not end it: SIGSTOP, SIGCONT."""
        assert self._process is not None
        self._process.send_signal(number)

    def load(self) -> None:
        """Brings the base image from the first engine."""
        with subprocess.Popen(["docker", "save", IMAGE], stdout=subprocess.PIPE) as saved:
            loading = ["docker", "-H", self.host, "load"]
            subprocess.run(loading, stdin=saved.stdout, capture_output=True, check=True, timeout=180)

    def clear(self) -> None:
        """Ends it in an orderly way, with what it runs, and takes its folders away."""
        self.end(signal.SIGTERM)
        for process in self._orphans():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        for line in reversed(Path("/proc/self/mounts").read_text().splitlines()):
            place = line.split()[1]
            if place.startswith(f"{self.root}/"):
                subprocess.run(["umount", "-l", place], check=False, capture_output=True)
        shutil.rmtree(self.root, ignore_errors=True)

    def _orphans(self) -> list[int]:
        """Processes that name this engine's own folder: shims of containers that nobody ended."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    if f"{self.root}/".encode() in (entry / "cmdline").read_bytes():
                        found.append(int(entry.name))
        return found

    def objects(self) -> list[str]:
        """Every container, and every volume with a label.

        An engine that is killed while it makes a volume keeps its folder and forgets its labels: that one
        cannot be told from anybody's.
        """
        containers = self.docker("ps", "-a", "--format", "{{.ID}} {{.Status}} {{.Command}}").stdout
        volumes = self.docker("volume", "ls", "--format", "{{.Name}} {{.Labels}}").stdout
        return [*containers.splitlines(), *(row for row in volumes.splitlines() if "scorehost.job" in row)]


def missing() -> str:
    """Why there can be no second engine here; empty when there can."""
    if os.geteuid():
        return "needs root"
    lacking = [name for name in ("dockerd", "unshare") if shutil.which(name) is None]
    return f"needs {lacking[0]} on this machine" if lacking else ""


def bridges() -> set[str]:
    """The network bridges of this machine."""
    return {path.parent.name for path in Path("/sys/class/net").glob("*/bridge")}

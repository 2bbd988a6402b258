"""What a scoring host is made of: from a task's words to a container's specification."""

from __future__ import annotations

import posixpath
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from scorehost.engine.door import ContainerSpec, Image, Tmpfs
from scorehost.hosts.images import Choice
from scorehost.hosts.labels import NAMES
from scorehost.hosts.surroundings import cleared, host_environment
from scorehost.model.limits import INODES_PER_MIB, MIB, Limits

ROOT = "/attempt"
RUNNER = f"{ROOT}/.scorehost/runner.py"
HARNESS = f"{ROOT}/.scorehost/harness.py"
EVALUATION, TASK, TOOLS = "evaluation", "task", ".scorehost"
ARTIFACTS, WORKSPACE, OUTPUT = "artifacts", "workspace", "output"
OWN = ".own"
STAGED_WORKSPACE = ".scorehost/workspace"
UPLOADED = (EVALUATION, TASK, TOOLS, ARTIFACTS, WORKSPACE)

# Execs have /tmp as their home. The evaluator's is a folder that no exec beside it can write: what programs
# read from a home (usercustomize.py, .gitconfig, .npmrc) would run as the evaluator's user.
EXEC_HOME = "/tmp"  # noqa: S108 - inside the container

FIRST_USER, LAST_USER = 1 << 20, 1 << 30
# Where an engine maps the users of containers to a range of the machine's (userns-remap, rootless), it
# has 65,536 of them.
FIRST_MAPPED, LAST_MAPPED = 10_000, 65_534
WAIT = ("sleep", "604800")  # a named host's main process only waits, a week at most
RUN = ("python3", "-s", RUNNER)
# Takes a program from its standard input, four bytes of length ahead, and becomes it (scorehost_sdk/feed.py).
BOOTSTRAP = """import os
def _read(size):
    data = b""
    while len(data) < size:
        piece = os.read(0, min(size - len(data), 1 << 20))
        if not piece:
            os._exit(3)
        data += piece
    return data
exec(compile(_read(int.from_bytes(_read(4), "big")), "scorehost", "exec", dont_inherit=True))
"""
RUN_FED = ("python3", "-s", "-c", BOOTSTRAP)
SHARED_MODE = 0o1777  # of places in memory that everybody in a host may write
FED_BYTES, FED_INODES = 8 * MIB, 384  # of the memory in which a fed host has its files


@dataclass(frozen=True, slots=True)
class Users:
    """The pair of numeric users of one running host: one for its main process, one for execs."""

    main: int
    execs: int

    @classmethod
    def fresh(cls, execs: int | None = None, *, mapped: bool = False) -> Users:
        """A random pair: kernel limits that count by user (inotify, say) are then nobody else's.

        `mapped`: the engine maps users, and has those of a small range only.
        """
        first, last = (FIRST_MAPPED, LAST_MAPPED) if mapped else (FIRST_USER, LAST_USER)
        main = first + 2 * secrets.randbelow((last - first) // 2)
        return cls(main, main + 1 if execs is None else execs)


@dataclass(frozen=True, slots=True)
class Blueprint:
    """One kind of host of a task. `tmpfs_mb` sizes /tmp, /attempt/output and each scratch path.

    `evaluator`: its main process is the runner, which evaluates, or (`producer`) carries out the run phase.
    """

    name: str
    image: Choice
    limits: Limits
    tmpfs_mb: int
    evaluator: bool = False
    gold: bool = True
    artifacts: bool = True
    fresh: bool = False
    tmpfs_exec: bool = False
    file_locks: bool = False
    shm_mb: int = 16
    copy_workspace: bool = False
    scratch: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str = ROOT
    user: int | None = None
    runtime: str | None = None
    producer: bool = False  # the run phase's: artifacts and workspace are its own to write
    network: str | None = None  # a producer's only
    fed: bool = False  # an evaluator's: its files come over the channel into memory, nothing is uploaded
    reused: bool = False  # a producer's, whose container becomes the evaluator's host afterwards

    @property
    def links(self) -> Mapping[str, str]:
        """Symbolic links below /attempt, from path to target.

        In a container that is used again, what is memory of the run phase's must not lie over the paths at
        which the evaluator finds what was published: links lead to it, until folders replace them.
        """
        return {folder: f"{OWN}/{folder}" for folder in (WORKSPACE, ARTIFACTS)} if self.reused else {}

    def container(
        self, *, image: Image, users: Users, labels: Mapping[str, str], workspace_bytes: int
    ) -> ContainerSpec:
        """The container of one host. `workspace_bytes` is the size of the submission's workspace tree."""
        declared = tuple(dict.fromkeys(_normal(path) for path in image.volumes))
        nested = tuple(path for path in declared if _uploaded_to(path))
        volumes = () if self.fed else (ROOT, *nested)
        tmpfs = [
            self._memory("/tmp", users),  # noqa: S108 - inside the container
            self._memory(f"{ROOT}/{OUTPUT}", users, mode=0o755 if self.evaluator else 0o700),
            *(self._memory(path, users) for path in self.scratch),
        ]
        if self.fed:
            tmpfs.append(Tmpfs(ROOT, FED_BYTES, FED_INODES, mode=0o755, uid=users.main, executable=True))
        own = (WORKSPACE, ARTIFACTS) if self.producer else (WORKSPACE,) if self.copy_workspace else ()
        size = max(2 * workspace_bytes, self.tmpfs_mb * MIB)
        owner = users.main if self.producer else users.execs
        for folder in own:
            place = f"{ROOT}/{self.links.get(folder, folder)}"
            tmpfs.append(Tmpfs(place, size, _inodes(size), mode=0o700, uid=owner, executable=True))
        taken = {place.target for place in tmpfs} | set(nested) | {ROOT, "/dev/shm"}  # noqa: S108 - the same
        # An image's own VOLUME would be a place on disk without a limit: memory covers it.
        tmpfs += [self._memory(path, users) for path in declared if path not in taken]
        return ContainerSpec(
            name=f"scorehost-{secrets.token_hex(8)}",
            image=image.id,
            command=RUN_FED if self.fed else RUN if self.evaluator else WAIT,
            user=users.main,
            labels=labels,
            env=host_environment(
                self.env,
                image.env,
                home=f"{ROOT}/{OUTPUT}" if self.evaluator else EXEC_HOME,
                cpus=self.limits.cpus,
                named_user=self.user is not None,
                gold=self.trusted,
            ),
            cleared_env=cleared(image.env),
            workdir=ROOT,
            memory=self.limits.memory_mb * MIB,
            cpus=self.limits.cpus,
            pids=self.limits.pids,
            open_files=self.limits.open_files,
            shm=self.shm_mb * MIB,
            volumes=volumes,
            tmpfs=tuple(tmpfs),
            runtime=self.runtime,
            stdin=self.evaluator,
            network=self.network if self.producer else None,
            names_itself=image.labels.get(NAMES) == "own" and self.trusted,
            file_locks=self.file_locks,
        )

    @property
    def trusted(self) -> bool:
        """Whether all that runs there is the task's to choose. Where submissions run, every kind of program
        must find localhost, also one that reads /etc/hosts by itself (static ones of Go or musl).
        """
        return self.evaluator or self.gold

    def can_be_fed(self, image: Image) -> bool:
        """Whether a host of this kind could take its files over the channel.

        Its main process must be the evaluator's runner, and no volume of the image may lie where files go.
        """
        plain = self.evaluator and not (self.producer or self.reused or self.copy_workspace)
        return plain and not any(f"{_normal(path)}/".startswith(f"{ROOT}/") for path in image.volumes)

    def _memory(self, target: str, users: Users, *, mode: int = SHARED_MODE) -> Tmpfs:
        """A place of whoever works in the host. The runtime gives it the mode of the image's folder that it
        covers, if there is one: as its owner, the runner then opens it to the execs beside it.
        """
        size = self.tmpfs_mb * MIB
        owner = users.main if self.evaluator else users.execs
        return Tmpfs(target, size, _inodes(size), mode=mode, uid=owner, executable=self.tmpfs_exec)


def _inodes(size: int) -> int:
    return max(INODES_PER_MIB, size // MIB * INODES_PER_MIB)


def _normal(path: str) -> str:
    return posixpath.normpath("/" + path.lstrip("/"))


def _uploaded_to(path: str) -> bool:
    """Whether an image's VOLUME lies where the archive is unpacked: then a volume of ours stands there."""
    return any(path == f"{ROOT}/{name}" or path.startswith(f"{ROOT}/{name}/") for name in UPLOADED)

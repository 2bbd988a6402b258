"""Signals, limits, and the memory of other processes."""

import ctypes
import os
import resource
import signal
import struct

from attack import DENIED, NOT_ONES_OWN, attempt, call, observation, of_each, others

NOBODY = ("ENOENT", "ESRCH", *DENIED)
IO_VECTOR = struct.pack("QQ", 0, 0)


@observation("processes that are not of this host")
def _strangers():
    """The engine's machine has hundreds; a host has its first process, its main one and what we started."""
    names = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                names.append(file.read().strip())
        except OSError:
            continue
    return sorted(
        name for name in names if not name.startswith(("docker-init", "tini", "sleep", "python", "sh"))
    )


@observation("process 1 is not of this user")
def _first():
    return os.stat("/proc/1").st_uid != os.getuid()


def _signal_each(number):
    return lambda: of_each(others(), lambda pid: os.kill(pid, number))


for _number in (0, signal.SIGSTOP, signal.SIGKILL, signal.SIGUSR1):
    _name = f"signal {int(_number)} to the host's main process"
    attempt(_name, "EPERM", places=NOT_ONES_OWN)(_signal_each(_number))
attempt("a queued signal to them", "EPERM", places=NOT_ONES_OWN)(
    lambda: of_each(others(), lambda pid: call(129, pid, 15, struct.pack("iii116x", 15, 0, -1)))
)
attempt("a signal by pidfd", "EPERM", places=NOT_ONES_OWN)(
    lambda: of_each(others(), lambda pid: call(424, os.pidfd_open(pid), 15, None, 0))
)
attempt("their limits", places=NOT_ONES_OWN)(
    lambda: of_each(others(), lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, (4, 4)))
)
attempt("their niceness", places=NOT_ONES_OWN)(
    lambda: of_each(others(), lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19))
)
attempt("their processors", places=NOT_ONES_OWN)(
    lambda: of_each(others(), lambda pid: os.sched_setaffinity(pid, {0}))
)
attempt("their scheduler", places=NOT_ONES_OWN)(
    lambda: of_each(others(), lambda pid: os.sched_setscheduler(pid, os.SCHED_IDLE, os.sched_param(0)))
)
attempt("their group moved", "ESRCH", *DENIED, places=NOT_ONES_OWN)(
    lambda: of_each(others(), lambda pid: os.setpgid(pid, pid))
)
for _file in ("mem", "environ", "maps", "auxv", "stack", "syscall", "io", "pagemap", "smaps"):
    attempt(f"their {_file} read", *DENIED, "ESRCH", places=NOT_ONES_OWN)(
        lambda file=_file: of_each(others(), lambda pid: _read(f"/proc/{pid}/{file}"))
    )
for _link in ("root", "cwd", "exe", "fd/0", "fd/1", "fd/2", "fd/3", "fd/4", "fd/5", "ns/net"):
    attempt(f"their {_link} opened", *NOBODY, places=NOT_ONES_OWN)(
        lambda link=_link: of_each(
            others(), lambda pid: os.open(f"/proc/{pid}/{link}", os.O_RDONLY | os.O_NONBLOCK)
        )
    )
    attempt(f"their {_link} written", *NOBODY, places=NOT_ONES_OWN)(
        lambda link=_link: of_each(
            others(), lambda pid: os.open(f"/proc/{pid}/{link}", os.O_WRONLY | os.O_NONBLOCK)
        )
    )
for _file in ("oom_score_adj", "comm", "coredump_filter", "clear_refs", "timerslack_ns", "uid_map", "mem"):
    attempt(f"their {_file} written", *NOBODY, "EROFS", places=NOT_ONES_OWN)(
        lambda file=_file: of_each(others(), lambda pid: _write(f"/proc/{pid}/{file}", b"1"))
    )


def _read(path):
    with open(path, "rb", buffering=0) as file:
        return file.read(1)


def _write(path, data):
    with open(path, "wb", buffering=0) as file:
        return file.write(data)


attempt("the runner traced")(lambda: of_each(_rest(), lambda pid: call(101, 16, pid, 0, 0)))
attempt("the runner seized")(lambda: of_each(_rest(), lambda pid: call(101, 0x4206, pid, 0, 0)))
attempt("tracing at all")(lambda: call(101, 0, 0, 0, 0))
attempt("the runner's memory read")(
    lambda: of_each(_rest(), lambda pid: call(310, pid, IO_VECTOR, 1, IO_VECTOR, 1, 0))
)
attempt("the runner's memory written")(
    lambda: of_each(_rest(), lambda pid: call(311, pid, IO_VECTOR, 1, IO_VECTOR, 1, 0))
)
attempt("advice on the runner's memory")(
    lambda: of_each(_rest(), lambda pid: call(440, os.pidfd_open(pid), IO_VECTOR, 1, 21, 0))
)
attempt("the runner's memory opened", "EACCES", "EPERM", "ENOENT")(
    lambda: of_each(_runner(), lambda pid: os.open(f"/proc/{pid}/mem", os.O_RDWR))
)
attempt("the runner's descriptors opened", "EACCES", "EPERM", "ENOENT")(
    lambda: of_each(_runner(), lambda pid: os.listdir(f"/proc/{pid}/fd"))
)
attempt("the runner's environment read", "EACCES", "EPERM", "ENOENT")(
    lambda: of_each(_runner(), lambda pid: _read(f"/proc/{pid}/environ"))
)


def _rest():
    return [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]


def _runner():
    """Processes that run the runner; docker-init names it in its own words too, and is another program."""
    found = []
    for pid in _rest():
        try:
            with open(f"/proc/{pid}/comm") as comm, open(f"/proc/{pid}/cmdline", "rb") as words:
                if comm.read().startswith("python") and b"/attempt/.scorehost/runner.py" in words.read():
                    found.append(pid)
        except OSError:
            continue
    return found


LIMITS = {
    "open files": resource.RLIMIT_NOFILE,
    "core files": resource.RLIMIT_CORE,
    "locked memory": resource.RLIMIT_MEMLOCK,
    "message queues": resource.RLIMIT_MSGQUEUE,
    "niceness": resource.RLIMIT_NICE,
    "real-time priority": resource.RLIMIT_RTPRIO,
}


def _raised(limit):
    def act():
        soft, hard = resource.getrlimit(limit)
        if hard == resource.RLIM_INFINITY:
            return "there is no limit"
        resource.setrlimit(limit, (soft, hard + 1))
        return resource.getrlimit(limit)

    return act


for _name, _limit in LIMITS.items():
    attempt(f"the limit on {_name} raised", "ValueError", "EPERM")(_raised(_limit))
attempt("a higher priority")(
    lambda: os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) - 1)
)
attempt("the scheduler FIFO")(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("the scheduler RR")(lambda: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1)))
attempt("the scheduler DEADLINE")(
    lambda: call(314, 0, struct.pack("IIQiIQQQ", 48, 6, 0, 0, 0, 1000000, 2000000, 2000000), 0)
)
attempt("first at the disk")(lambda: call(251, 1, 0, 1 << 13))
attempt("last to be killed for memory")(lambda: _write("/proc/self/oom_score_adj", b"-1000"))
attempt("killed later than the engine")(lambda: _write("/proc/self/oom_score_adj", b"-1"))
attempt("a page locked", "EPERM", "ENOMEM", "EAGAIN")(
    lambda: call(149, ctypes.create_string_buffer(8192), 4096)
)
attempt("all pages locked", "EPERM", "ENOMEM")(lambda: call(151, 1))
attempt("a shared segment locked", "EPERM", "ENOMEM")(lambda: call(31, call(29, 0, 4096, 0o1600), 11, None))
attempt("huge pages", "ENOMEM", "EPERM", "EINVAL")(lambda: call(9, 0, 2 << 20, 3, 0x22 | 0x40000, -1, 0))
attempt("a message queue", "EMFILE", "EPERM", "ENOSYS")(lambda: call(240, b"scorehost", 0o102, 0o600, None))
attempt("a message queue as a file", "EMFILE", "EPERM", "EACCES", "ENOENT")(
    lambda: os.open("/dev/mqueue/x", os.O_CREAT | os.O_WRONLY)
)


@attempt("a core dump", "EPERM")
def _core():
    child = os.fork()
    if child == 0:
        os.abort()
    status = os.waitpid(child, 0)[1]
    if os.WCOREDUMP(status) or any(name.startswith("core") for name in os.listdir("/attempt")):
        return "dumped"
    raise PermissionError(1, "no core")


attempt("a memory segment of another host", "ENOENT")(lambda: call(29, 0x5C0BE, 64, 0))
attempt("a message queue of another host", "ENOENT")(lambda: call(68, 0x5C0BE, 0))
attempt("a semaphore of another host", "ENOENT")(lambda: call(64, 0x5C0BE, 1, 0))
attempt("shared memory of another host", "ENOENT")(lambda: os.open("/dev/shm/scorehost-escape", os.O_RDONLY))
attempt("a file of another host's scratch space", "ENOENT")(
    lambda: os.open("/tmp/scorehost-escape", os.O_RDONLY)
)

"""Mounts, namespaces, privileges, and system calls that a scoring host does without."""

import ctypes
import mmap
import os
import signal
import struct
import subprocess

from attack import DENIED, LIBC, attempt, call, in_child, observation

READ_ONLY = ("EPERM", "EACCES", "ENOSYS", "EROFS")
NEW = {
    "mount": 0x00020000,
    "cgroup": 0x02000000,
    "uts": 0x04000000,
    "ipc": 0x08000000,
    "user": 0x10000000,
    "pid": 0x20000000,
    "net": 0x40000000,
    "time": 0x00000080,
}


def _mount(source, target, kind, flags=0, data=None):
    return lambda: call(165, source, target, kind, flags, data)


attempt("a tmpfs mounted")(_mount(b"none", b"/tmp", b"tmpfs"))
attempt("a proc mounted")(_mount(b"proc", b"/tmp", b"proc"))
attempt("a cgroup mounted")(_mount(b"none", b"/tmp", b"cgroup", 0, b"memory"))
attempt("an overlay mounted")(
    _mount(b"none", b"/tmp", b"overlay", 0, b"lowerdir=/,upperdir=/tmp,workdir=/tmp")
)
attempt("a folder mounted elsewhere")(_mount(b"/", b"/tmp", None, 4096))
attempt("the root mounted writable")(_mount(None, b"/", None, 32 | 4096))
attempt("scratch space mounted executable")(_mount(None, b"/tmp", None, 32))
attempt("a mask taken away")(lambda: call(166, b"/proc/kcore", 2))
attempt("another root by pivot_root")(lambda: call(155, b"/tmp", b"/tmp"))
attempt("another root by chroot")(lambda: os.chroot("/tmp"))
attempt("a tree opened")(lambda: call(428, -100, b"/", 1))
attempt("a mount moved")(lambda: call(429, -1, b"", -1, b"", 0))
attempt("a file system opened")(lambda: call(430, b"tmpfs", 0))
attempt("a mount picked")(lambda: call(433, -100, b"/", 0))
attempt("a mount changed")(lambda: call(442, -100, b"/", 0, b"\0" * 32, 32))
attempt("a handle of a file made")(
    lambda: call(303, -100, b"/", ctypes.create_string_buffer(64), ctypes.byref(ctypes.c_int()), 0)
)
attempt("a file opened by its handle")(lambda: call(304, -100, ctypes.create_string_buffer(64), 0))
for _name, _flag in NEW.items():
    attempt(f"a new {_name} namespace by unshare")(lambda flag=_flag: call(272, flag))


def _cloned(flag):
    def act():
        child = call(56, flag | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os._exit(0)
        os.waitpid(child, 0)

    return act


for _name, _flag in NEW.items():
    if _name != "time":  # in clone that bit is part of the signal
        attempt(f"a new {_name} namespace by clone")(_cloned(_flag))
attempt("clone3, whose flags no filter sees", "ENOSYS")(lambda: call(435, struct.pack("Q10x", 0), 88))


def _joined(path):
    def act():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            call(308, descriptor, 0)
        finally:
            os.close(descriptor)

    return act


for _kind in ("cgroup", "ipc", "mnt", "net", "pid", "user", "uts"):
    attempt(f"the {_kind} namespace of process 1 joined", *DENIED)(_joined(f"/proc/1/ns/{_kind}"))
    attempt(f"the own {_kind} namespace joined again", *DENIED)(_joined(f"/proc/self/ns/{_kind}"))
attempt("a process's namespaces joined by pidfd")(lambda: call(308, os.pidfd_open(os.getpid()), 0x40000000))

attempt("user 0")(lambda: os.setuid(0))
attempt("group 0")(lambda: os.setgid(0))
attempt("saved user 0")(lambda: os.setresuid(0, 0, 0))
attempt("another user")(lambda: os.setuid(os.getuid() ^ 1))
attempt("more groups")(lambda: os.setgroups([0, 6, 999]))
attempt("a bounding set with more")(lambda: _prctl(23, 21) or _no("the bit is not set"))
attempt("an ambient capability")(lambda: _prctl(47, 2, 21))
attempt("secure bits")(lambda: _prctl(28, 1))
attempt("capabilities taken")(
    lambda: call(126, struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[0xFFFFFFFF] * 3, *[0x1FF] * 3))
)
attempt("new privileges allowed again", "EINVAL", "EPERM")(lambda: _prctl(38, 0))
attempt("the filter taken off", "EINVAL", "EPERM")(lambda: _prctl(22, 0))


def _prctl(*words):
    padded = (*words, 0, 0, 0, 0)[:5]
    done = LIBC.prctl(*(ctypes.c_long(word) for word in padded))
    if done < 0:
        raise OSError(ctypes.get_errno(), "prctl")
    return done


def _no(text):
    raise PermissionError(1, text)


@observation("rights")
def _rights():
    wanted = ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")
    with open("/proc/self/status") as status:
        rows = dict(line.split(":", 1) for line in status if ":" in line)
    return {name: int(rows[name], 16) for name in wanted}


@observation("groups")
def _groups():
    return [group for group in os.getgroups() if group != os.getgid()]


for _name, _number, _words in (
    ("io_uring", 425, (8, b"\0" * 120)),
    ("bpf", 321, (0, b"\0" * 72, 72)),
    ("a perf event", 298, (struct.pack("IIQ", 1, 112, 0) + b"\0" * 96, 0, -1, -1, 0)),
    ("userfaultfd", 323, (1,)),
    ("secret memory", 447, (0,)),
    ("a key added", 248, (b"user", b"scorehost", b"x", 1, -3)),
    ("a key asked for", 249, (b"user", b"scorehost", None, -3)),
    ("the session keyring", 250, (0, -3, 1)),
    ("the kernel's log", 103, (3, ctypes.create_string_buffer(64), 64)),
    ("a module loaded", 175, (b"x", 1, b"")),
    ("a module loaded from a file", 313, (0, b"", 0)),
    ("a module taken out", 176, (b"scorehost", 0)),
    ("another kernel", 246, (0, 0, None, 0)),
    ("another kernel from a file", 320, (-1, -1, 0, b"", 0)),
    ("a restart", 169, (1, 2, 3, None)),
    ("swap", 167, (b"/tmp/x", 0)),
    ("swap off", 168, (b"/tmp/x",)),
    ("process accounting", 163, (None,)),
    ("quotas", 179, (0, b"/", 0, None)),
    ("ports by iopl", 172, (3,)),
    ("ports by ioperm", 173, (0x80, 1, 1)),
    ("the host's name", 170, (b"escaped", 7)),
    ("the domain's name", 171, (b"escaped", 7)),
    ("the clock by settimeofday", 164, (struct.pack("qq", 0, 10**9), None)),
    ("the clock by clock_settime", 227, (0, struct.pack("qq", 0, 10**10))),
    ("the clock's pace", 305, (0, struct.pack("I204x", 2))),
    ("fanotify", 300, (0, 0)),
    ("fanotify of own files", 300, (0x200, 0)),
    ("a terminal taken", 153, ()),
    ("segments of code by modify_ldt", 154, (0, ctypes.create_string_buffer(16), 16)),
    ("asynchronous contexts, which the machine counts", 206, (1, ctypes.byref(ctypes.c_ulong(0)))),
    ("asynchronous input", 209, (0, 0, None)),
    ("memory of other nodes", 256, (0, 0, None, None)),
    ("pages moved", 279, (0, 0, None, None, None, 0)),
    ("a memory policy", 238, (0, None, 0)),
    ("pages compared", 312, (os.getpid(), 1, 0, 0, 0)),
    ("page tables watched", 453, (0, 0, 0)),
):
    attempt(_name)(lambda number=_number, words=_words: call(number, *words))
attempt("a descriptor of another process")(lambda: call(438, os.pidfd_open(os.getppid()), 0, 0))
attempt("another personality")(lambda: call(135, 0x0040000))


def _grown(argv):
    """Runs a program of the image that would give rights; raises PermissionError when it gave none."""

    def act():
        done = subprocess.run(argv, capture_output=True, text=True, check=False)  # OSError: not executable
        if done.returncode != 0:
            raise PermissionError(1, done.stderr)
        words = done.stdout.split()
        if words in ([str(os.getuid())], [str(os.getgid())]):
            raise PermissionError(1, "it ran as this user")
        effective = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("CapEff")]
        if effective and int(effective[0], 16) == 0:
            raise PermissionError(1, "it ran without capabilities")
        return done.stdout

    return act


attempt("a program with the setuid bit")(_grown(["/usr/bin/setuid-id", "-u"]))
attempt("a program with the setgid bit")(_grown(["/usr/bin/setgid-id", "-g"]))
attempt("a program with file capabilities")(_grown(["/usr/bin/capable-cat", "/proc/self/status"]))


def _machine_code(code):
    with mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(page))
        return ctypes.CFUNCTYPE(ctypes.c_long)(address)()


@attempt("a 32-bit system call", "EPERM")
def _int80():
    def act():
        got = _machine_code(bytes.fromhex("b814000000 cd80 c3".replace(" ", "")))  # getpid; int 0x80
        if got != os.getpid():
            os.kill(os.getpid(), signal.SIGSYS)  # refused, politely

    return _ended_by_the_kernel(act)


@attempt("a system call of the x32 kind", "EPERM")
def _x32():
    def act():
        if LIBC.syscall(ctypes.c_long(0x40000000 | 39)) != os.getpid():
            os.kill(os.getpid(), signal.SIGSYS)

    return _ended_by_the_kernel(act)


def _ended_by_the_kernel(act):
    status = in_child(act)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGSYS, signal.SIGSEGV):
        raise PermissionError(1, "ended by a signal")
    return status

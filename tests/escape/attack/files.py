"""Writes anywhere but the declared places in memory, and devices."""

import os
import stat
import time

from attack import BESIDE, NOT_ONES_OWN, attempt, observation

MEMORY = {"/tmp", "/dev/shm", "/attempt/output", "/dev/mqueue"}
DEVICES = {"full", "null", "random", "tty", "urandom", "zero"}
KERNEL = ("/proc", "/sys")
WALK_SECONDS = 20.0
ABSENT = ("ENOENT", "EACCES", "EPERM", "EROFS", "ENXIO")
READ_ONLY = ("EROFS", "EACCES", "EPERM")


def _mounts():
    """(target, type) of every mount, and whether the root is the last of a walk into it."""
    with open("/proc/self/mountinfo") as table:
        for line in table:
            left, _, right = line.partition(" - ")
            yield left.split()[4], right.split()[0]


def _walk(top):
    """Folders and files of one mount, without those of other mounts and of /proc and /sys."""
    device = os.lstat(top).st_dev
    for folder, folders, files in os.walk(top):
        folders[:] = [
            name
            for name in folders
            if not os.path.islink(os.path.join(folder, name))
            and os.lstat(os.path.join(folder, name)).st_dev == device
        ]
        yield folder, files


def _targets():
    return [
        (target, kind)
        for target, kind in _mounts()
        if not target.startswith(KERNEL) and os.path.isdir(target) and os.access(target, os.R_OK)
    ]


@observation("folders that take a new file")
def _open_folders():
    taken = set()
    for target, _ in _targets():
        if target in MEMORY:
            continue
        for folder, _ in _walk(target):
            name = os.path.join(folder, ".scorehost-probe")
            try:
                os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except OSError:
                continue
            os.unlink(name)
            taken.add(folder)
    return sorted(taken)


@observation("files that can be written")
def _open_files():
    taken = []
    for target, _ in _targets():
        if target in MEMORY or target.startswith("/dev"):
            continue
        for folder, files in _walk(target):
            for name in files:
                path = os.path.join(folder, name)
                try:
                    if not stat.S_ISREG(os.lstat(path).st_mode):
                        continue
                    os.close(os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK))
                except OSError:
                    continue
                taken.append(path)
    return taken


@observation("kernel files that can be written")
def _kernel_files():
    taken, until = [], time.monotonic() + WALK_SECONDS
    for top in KERNEL:
        for folder, folders, files in os.walk(top):
            if folder == "/proc":
                folders[:] = [name for name in folders if not name.isdigit() and "self" not in name]
            for name in files:
                path = os.path.join(folder, name)
                try:
                    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                except OSError:
                    continue
                taken.append(path)
            if time.monotonic() > until:
                return [*taken, "the walk took too long"]
    return [path for path in taken if os.stat(path).st_rdev != os.stat("/dev/null").st_rdev]


@observation("memory places and their limits")
def _places():
    found = {}
    with open("/proc/self/mounts") as table:
        for line in table:
            _, target, kind, options = line.split()[:4]
            if kind == "tmpfs" and target in MEMORY:
                words = options.split(",")
                found[target] = [word.partition("=")[0] for word in words]
    return found


@observation("devices")
def _devices():
    found = set()
    for folder, _, names in os.walk("/dev"):
        for name in names:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                found.add(os.path.relpath(os.path.join(folder, name), "/dev"))
    return sorted(name for name in found if not name.startswith("pts/"))


def _opened(path, flags=os.O_RDONLY):
    return lambda: os.close(os.open(path, flags | os.O_NONBLOCK))


for _name in [
    "mem",
    "kmem",
    "port",
    "kmsg",
    "sda",
    "sda1",
    "vda",
    "vdb",
    "nvme0n1",
    "xvda",
    "loop-control",
    "loop0",
    "fuse",
    "kvm",
    "net/tun",
    "vsock",
    "vhost-vsock",
    "vhost-net",
    "mapper/control",
    "cpu/0/msr",
    "userfaultfd",
    "snapshot",
    "hpet",
    "rtc0",
    "uinput",
    "dri/card0",
    "console",
    "mcelog",
    "btrfs-control",
]:
    attempt(f"/dev/{_name}", *ABSENT)(_opened(f"/dev/{_name}"))
for _path in (
    "/proc/sysrq-trigger",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/net/ipv4/ip_forward",
    "/sys/kernel/uevent_helper",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    "/sys/fs/cgroup/memory/release_agent",
    "/sys/fs/cgroup/memory/cgroup.procs",
    "/sys/fs/cgroup/pids/pids.max",
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/pids.max",
):
    attempt(f"{_path} written", *ABSENT)(_opened(_path, os.O_WRONLY))


def _content(path):
    def act():
        with open(path, "rb") as file:
            data = file.read(64)
        if not data:  # masked: /dev/null lies over it
            raise FileNotFoundError(2, path)
        return data

    return act


for _path in ("/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/timer_list", "/proc/kpagecount"):
    attempt(f"{_path} read", *ABSENT)(_content(_path))


attempt("the first process's memory read", *ABSENT, places=NOT_ONES_OWN)(_content("/proc/1/mem"))


@attempt("a device of the first disk made")
def _disk():
    with open("/proc/partitions") as table:
        rows = [line.split() for line in table.read().splitlines()[2:]]
    major, minor = map(int, rows[0][:2]) if rows else (8, 0)
    os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, os.makedev(major, minor))


@attempt("a device of the machine's memory made")
def _memory():
    os.mknod("/tmp/mem", 0o600 | stat.S_IFCHR, os.makedev(1, 1))


UPLOADED = (
    "/attempt/evaluation/gold.txt",
    "/attempt/task/evaluator.py",
    "/attempt/.scorehost/runner.py",
    "/attempt/.scorehost/harness.py",
    "/attempt/artifacts/answer.txt",
)


def _each(act):
    def tried():
        last = FileNotFoundError(2, "nothing was uploaded")
        for path in filter(os.path.exists, UPLOADED):
            try:
                act(path)
            except OSError as error:
                last = error
            else:
                return path
        raise last

    return tried


attempt("what was uploaded appended to", *READ_ONLY)(_each(lambda path: open(path, "a")))
attempt("what was uploaded made writable", *READ_ONLY)(_each(lambda path: os.chmod(path, 0o777)))
attempt("what was uploaded taken over", *READ_ONLY)(_each(lambda path: os.chown(path, os.getuid(), -1)))
attempt("what was uploaded removed", *READ_ONLY)(_each(os.unlink))
attempt("what was uploaded renamed", *READ_ONLY)(_each(lambda path: os.rename(path, path + "x")))
attempt("what was uploaded linked to", *READ_ONLY)(_each(lambda path: os.link(path, path + "x")))
attempt("what was uploaded marked", *READ_ONLY)(_each(lambda path: os.setxattr(path, "user.x", b"x")))
attempt("what was uploaded aged", *READ_ONLY)(_each(lambda path: os.utime(path, (0, 0))))
attempt("the uploaded folder renamed", "EBUSY", "EXDEV", *READ_ONLY)(
    lambda: os.rename("/attempt/artifacts", "/tmp/artifacts")
)
attempt("a program of the image replaced", *READ_ONLY)(lambda: open("/usr/bin/python3", "ab"))
attempt("the users of the image changed", *READ_ONLY)(lambda: open("/etc/passwd", "a"))
attempt("the hosts file changed", *READ_ONLY)(lambda: open("/etc/hosts", "a"))
attempt("the resolver changed", *READ_ONLY)(lambda: open("/etc/resolv.conf", "a"))


@attempt("a program run from scratch space")
def _program():
    path = "/tmp/program"
    with open(path, "wb") as file, open("/bin/true", "rb") as source:
        file.write(source.read())
    os.chmod(path, 0o755)
    try:
        os.execv(path, [path])
    finally:
        os.unlink(path)


@attempt("the output of the evaluator written", "EACCES", "EPERM", places=(BESIDE,))
def _output():
    os.close(os.open("/attempt/output/planted", os.O_CREAT | os.O_WRONLY))

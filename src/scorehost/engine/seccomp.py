"""The system calls that a scoring host may make; every other one fails with EPERM.

The starting point is what Docker allows by default without any capability. Left out of it are io_uring,
ptrace and the process_vm calls, the keyrings, userfaultfd, bpf, perf events, fanotify, memfd_secret, and
32-bit calls (only the machine's own architecture is named): attack surface of a shared kernel that
scoring does not need. So are the asynchronous I/O calls (io_setup and its like), whose contexts the machine
counts for all its hosts together. `socket` opens local sockets, TCP and UDP over IPv4 and IPv6 only: AF_VSOCK
would be a way out of "no network", and what ping and netlink sockets hold counts into no host's memory
(unread replies of route netlink held 5.6 GiB for a host of 64 MiB). `fcntl` takes a list of commands.
Locks of byte ranges are not on it unless the task asks for them: no control group counts them, and no limit
bounds them. Sending with MSG_OOB on local sockets has a record of escapes.
"""

from __future__ import annotations

import functools
import json
from typing import Any

_FILES = """
access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2
fadvise64 fallocate fchdir fchmod fchmodat fchmodat2 fchown fchownat fdatasync fgetxattr
flistxattr flock fremovexattr fsetxattr fstat fstatfs fsync ftruncate futimesat getcwd getdents
getdents64 getxattr ioctl lchown lgetxattr link linkat listxattr llistxattr lremovexattr lseek
lsetxattr lstat mkdir mkdirat mknod mknodat newfstatat open openat openat2 pipe pipe2 pread64 preadv
preadv2 pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv removexattr rename
renameat renameat2 rmdir sendfile setxattr splice stat statfs statx symlink symlinkat sync
sync_file_range syncfs tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write
writev inotify_add_watch inotify_init inotify_init1 inotify_rm_watch landlock_add_rule
landlock_create_ruleset landlock_restrict_self
"""
_MEMORY = """
brk madvise membarrier memfd_create mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock
munlockall munmap pkey_alloc pkey_free pkey_mprotect process_mrelease remap_file_pages
"""
_PROCESSES = """
capget capset execve execveat exit exit_group fork getcpu getegid geteuid getgid getgroups getpgid
getpgrp getpid getppid getpriority getresgid getresuid getrlimit get_robust_list getrusage getsid
gettid getuid ioprio_get ioprio_set pidfd_open prctl prlimit64
restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigreturn
rt_sigsuspend rt_sigtimedwait sched_getaffinity sched_getattr sched_getparam
sched_get_priority_max sched_get_priority_min sched_getscheduler sched_rr_get_interval
sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp setfsgid
setfsuid setgid setgroups setpgid setpriority setregid setresgid setresuid setreuid setrlimit
set_robust_list setsid set_tid_address setuid sigaltstack signalfd signalfd4 sysinfo times
uname vfork wait4 waitid getrandom
"""
_WAITING = """
adjtimex alarm clock_adjtime clock_getres clock_gettime clock_nanosleep epoll_create epoll_create1
epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 futex futex_waitv getitimer
gettimeofday nanosleep pause poll ppoll pselect6 select setitimer time timer_create timer_delete
timer_getoverrun timer_gettime timer_settime timerfd_create timerfd_gettime timerfd_settime
"""
_MESSAGES = """
accept accept4 bind connect getpeername getsockname getsockopt listen recvfrom recvmmsg recvmsg
setsockopt shutdown mq_getsetattr mq_notify mq_open
mq_timedreceive mq_timedsend mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop
shmat shmctl shmdt shmget
"""
# Programs fall back from "no such call".
_ASYNCHRONOUS = ["io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit"]
_UNIX, _INET, _INET6 = 1, 2, 10
_PROTOCOLS = (0, 6, 17)  # what the type says, TCP, UDP
_SENDING = {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}  # which argument holds the flags
_MSG_OOB = 1
# CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET: no new namespaces.
_NAMESPACE_FLAGS = 0x7E020000
_PERSONALITIES = (0, 8, 0x20000, 0x20008, 0xFFFFFFFF)  # Linux, with or without UNAME26; a question
_SIGSTOP, _SIGNAL_BITS = 19, 7  # its number on all architectures below; signals go up to 64
_SIGNALS = {  # which argument is the signal
    "kill": 1,
    "tkill": 1,
    "tgkill": 2,
    "rt_sigqueueinfo": 1,
    "rt_tgsigqueueinfo": 2,
    "pidfd_send_signal": 1,
}
_F_SETSIG = 10
# DUPFD, GETFD, SETFD, GETFL, SETFL, GETLK, SETOWN, GETOWN, GETSIG, SETOWN_EX, GETOWN_EX,
# GETOWNER_UIDS, OFD_GETLK.
_FCNTL = (0, 1, 2, 3, 4, 5, 8, 9, 11, 15, 16, 17, 36)
# GETLEASE, DUPFD_QUERY, CREATED_QUERY, DUPFD_CLOEXEC, SETPIPE_SZ, GETPIPE_SZ, ADD_SEALS, GET_SEALS and the
# four of RW_HINT. Not SETLEASE, NOTIFY: each lease and watch is kernel memory that nothing counts.
_FCNTL_LINUX = (1025, 1027, 1028, 1030, 1031, 1032, 1033, 1034, 1035, 1036, 1037, 1038)
_FCNTL_LOCKS = (6, 7, 37, 38)  # SETLK, SETLKW, OFD_SETLK, OFD_SETLKW; flock is a call of its own
_ENOSYS = 38  # lets the C library fall back from clone3, whose flags no filter can see, to clone
_ARCHITECTURES = ("X86_64", "AARCH64", "RISCV64", "S390X", "PPC64LE")


@functools.cache
def profile(*, file_locks: bool = False) -> str:
    """The profile as the JSON text that the engine takes. `file_locks`: fcntl may lock parts of files."""
    names = [name for group in (_FILES, _MEMORY, _PROCESSES, _WAITING, _MESSAGES) for name in group.split()]
    rules: list[dict[str, Any]] = [
        _allow(names),
        _allow(["socket", "socketpair"], _argument(0, _UNIX)),
        *(
            _allow(["socket"], _argument(0, family), _argument(2, protocol))
            for family in (_INET, _INET6)
            for protocol in _PROTOCOLS
        ),
        *(rule for call, index in _SIGNALS.items() for rule in _all_but(call, index, _SIGSTOP, _SIGNAL_BITS)),
        *(
            _allow(["fcntl"], _argument(1, command))
            for command in (*_FCNTL, *_FCNTL_LINUX, *(_FCNTL_LOCKS if file_locks else ()))
        ),
        *_all_but("fcntl", 2, _SIGSTOP, _SIGNAL_BITS, _argument(1, _F_SETSIG)),
        *(_allow([call], _without(index, _MSG_OOB)) for call, index in _SENDING.items()),
        *(_allow(["personality"], _argument(0, persona)) for persona in _PERSONALITIES),
        {**_allow(["arch_prctl"]), "includes": {"arches": ["amd64"]}},
        {**_allow(["riscv_flush_icache"]), "includes": {"arches": ["riscv64"]}},
        _clone(0, {"excludes": {"arches": ["s390", "s390x"]}}),
        _clone(1, {"includes": {"arches": ["s390", "s390x"]}}),
        {"names": ["clone3", *_ASYNCHRONOUS], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS},
    ]
    return json.dumps(
        {
            "defaultAction": "SCMP_ACT_ERRNO",
            "archMap": [
                {"architecture": f"SCMP_ARCH_{name}", "subArchitectures": []} for name in _ARCHITECTURES
            ],
            "syscalls": rules,
        },
        separators=(",", ":"),
    )


def _allow(names: list[str], *arguments: dict[str, Any]) -> dict[str, Any]:
    return {"names": names, "action": "SCMP_ACT_ALLOW", "args": list(arguments)}


def _argument(index: int, value: int) -> dict[str, Any]:
    return {"index": index, "value": value, "op": "SCMP_CMP_EQ"}


def _without(index: int, flags: int) -> dict[str, Any]:
    """None of these flags is set in the argument."""
    return {"index": index, "value": flags, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}


def _all_but(name: str, index: int, value: int, bits: int, *also: dict[str, Any]) -> list[dict[str, Any]]:
    """A call with any other value than this one: one that differs in some bit, whatever lies above `bits`.

    The kernel does not look at the upper half of such an argument, so "is not equal" would let it through.
    """
    return [
        _allow(
            [name],
            {"index": index, "value": 1 << bit, "valueTwo": ~value & 1 << bit, "op": "SCMP_CMP_MASKED_EQ"},
            *also,
        )
        for bit in range(bits)
    ]


def _clone(index: int, where: dict[str, Any]) -> dict[str, Any]:
    return {**_allow(["clone"], _without(index, _NAMESPACE_FLAGS)), **where}

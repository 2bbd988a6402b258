"""Ways to reach anything outside of the host: only documentation addresses are named."""

import ctypes
import os
import socket
import struct

from attack import LIBC, attempt, observation

NOWHERE = ("ENETUNREACH", "EADDRNOTAVAIL", "EPERM", "EACCES")
V4, V4_TOO, V6 = "192.0.2.1", "198.51.100.7", "2001:db8::1"
AF_VSOCK, AF_PACKET, AF_NETLINK = 40, 17, 16


@observation("interfaces")
def _interfaces():
    return sorted(os.listdir("/sys/class/net"))


@observation("routes")
def _routes():
    with open("/proc/net/route") as table:
        found = table.read().splitlines()[1:]
    if os.path.exists("/proc/net/ipv6_route"):
        with open("/proc/net/ipv6_route") as table:
            found += [line for line in table.read().splitlines() if line.split()[-1] != "lo"]
    return found


@observation("foreign unix sockets")
def _unix_sockets():
    with open("/proc/net/unix") as table:
        names = [line.split()[7] for line in table.read().splitlines()[1:] if len(line.split()) > 7]
    return [name for name in names if "containerd" in name or "docker" in name]


def _connect(family, kind, address):
    def act():
        with socket.socket(family, kind) as one:
            one.settimeout(2)
            one.connect(address)

    return act


def _send(family, address):
    def act():
        with socket.socket(family, socket.SOCK_DGRAM) as one:
            one.settimeout(2)
            one.sendto(b"x", address)

    return act


for _name, _family, _address in (
    ("192.0.2.1", socket.AF_INET, (V4, 80)),
    ("198.51.100.7", socket.AF_INET, (V4_TOO, 443)),
    ("2001:db8::1", socket.AF_INET6, (V6, 80)),
):
    attempt(f"tcp to {_name}", *NOWHERE)(_connect(_family, socket.SOCK_STREAM, _address))
    attempt(f"udp to {_name}", *NOWHERE)(_send(_family, _address))
    attempt(f"dns to {_name}", *NOWHERE)(_send(_family, (_address[0], 53)))


@attempt("tcp fast open", *NOWHERE)
def _fast_open():
    with socket.socket() as one:
        one.settimeout(2)
        one.sendto(b"x", socket.MSG_FASTOPEN, (V4, 80))


@attempt("a name looked up", "gaierror")
def _lookup():
    return socket.getaddrinfo("host.example", 80)


@attempt("packets by hand")
def _packets():
    return socket.socket(AF_PACKET, socket.SOCK_RAW, 0x0300)


@attempt("raw ip")
def _raw():
    return socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)


@attempt("raw ip 6")
def _raw6():
    return socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)


@attempt("ping sockets, which count into no memory limit")
def _ping():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP)


@attempt("vsock to the hypervisor")
def _vsock():
    return socket.socket(AF_VSOCK, socket.SOCK_STREAM)


@attempt("vsock by a pair")
def _vsock_pair():
    pair = (ctypes.c_int * 2)()
    if LIBC.socketpair(AF_VSOCK, socket.SOCK_STREAM, 0, pair):
        raise OSError(ctypes.get_errno(), "socketpair")


@attempt("any other family of sockets")
def _families():
    for family in range(1, 64):
        if family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6):
            continue
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
            try:
                socket.socket(family, kind).close()
            except PermissionError as error:
                last = error
                continue
            return family, kind
    raise last


@attempt("pairs of any other family")
def _pairs():
    for family in range(2, 64):
        pair = (ctypes.c_int * 2)()
        LIBC.socketpair(family, socket.SOCK_DGRAM, 0, pair)
        if ctypes.get_errno() != 1:
            return family
    raise PermissionError(1, "socketpair")


@attempt("other protocols than tcp and udp")
def _protocols():
    last = PermissionError(1, "")
    for protocol in (33, 132, 136, 262):  # dccp, sctp, udplite, mptcp: modules that a request would load
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
            try:
                socket.socket(socket.AF_INET, kind, protocol).close()
            except PermissionError as error:
                last = error
                continue
            return protocol
    raise last


@attempt("netlink")
def _netlinks():
    last = PermissionError(1, "")
    for protocol in range(24):
        try:
            socket.socket(AF_NETLINK, socket.SOCK_RAW, protocol).close()
        except PermissionError as error:
            last = error
            continue
        return protocol
    raise last


def _route_request(kind, payload, flags=0x605):
    """Sends one request of the route family, to be acknowledged; raises what the kernel answers."""

    def act():
        with socket.socket(AF_NETLINK, socket.SOCK_RAW, 0) as one:
            one.settimeout(2)
            one.send(struct.pack("IHHII", 16 + len(payload), kind, flags, 1, 0) + payload)
            answer = one.recv(4096)
        code = -struct.unpack_from("i", answer, 16)[0]
        if code:
            raise OSError(code, os.strerror(code))
        return "acknowledged"

    return act


_DUMMY = b"\x0a\x00\x12\x00\x09\x00\x01\x00dummy\x00\x00\x00"
_LOCAL = struct.pack("HH4s", 8, 2, socket.inet_aton(V4_TOO)) + struct.pack(
    "HH4s", 8, 1, socket.inet_aton(V4_TOO)
)
_GATE = struct.pack("HH4s", 8, 5, socket.inet_aton(V4)) + struct.pack("HHI", 8, 4, 1)
attempt("a new interface")(_route_request(16, struct.pack("BBHiII", 0, 0, 0, 0, 0, 0) + _DUMMY))
attempt("another address on lo")(_route_request(20, struct.pack("BBBBI", 2, 32, 0, 0, 1) + _LOCAL))
attempt("a default route")(_route_request(24, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0) + _GATE))
attempt("lo moved to another network")(
    _route_request(16, struct.pack("BBHiII", 0, 0, 0, 1, 0, 0) + struct.pack("HHI", 8, 19, 1), 0x5)
)


def _unix(path):
    def act():
        with socket.socket(socket.AF_UNIX) as one:
            one.settimeout(2)
            one.connect(path)

    return act


GONE = ("ENOENT", "EACCES", "ECONNREFUSED", "EPERM")
for _path in (
    "/var/run/docker.sock",
    "/run/docker.sock",
    "/run/containerd/containerd.sock",
    "/run/docker/containerd/containerd.sock",
    "/run/systemd/private",
    "/run/dbus/system_bus_socket",
    "\0/containerd-shim/moby.sock",
):
    attempt(f"the socket {_path.replace(chr(0), '@')}", *GONE)(_unix(_path))
attempt("a local name of another host", "ECONNREFUSED")(_unix("\0scorehost-escape"))

"""The platform of an image against that of the engine's machine, in the words of images."""

from __future__ import annotations

from scorehost.engine.door import EngineInfo, Image

# What the kernel calls a machine, and what images call it. 32-bit programs of a 64-bit machine are foreign
# too: no scoring host allows their system calls.
_MACHINES = {
    "x86_64": "amd64",
    "aarch64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
    "i386": "386",
    "i686": "386",
}
HINT = (
    "Take an image for the engine's platform; an emulator (binfmt, qemu) on its machine runs others, slowly."
)


def foreign(image: Image, info: EngineInfo) -> str:
    """`linux/arm64, and the engine's machine is linux/amd64`; "" when they agree or say nothing."""
    machine = _MACHINES.get(info.architecture, info.architecture)
    same = (image.architecture, image.operating_system) == (machine, "linux")
    if same or not image.architecture or not machine:
        return ""
    return f"{image.operating_system}/{image.architecture}, and the engine's machine is linux/{machine}"

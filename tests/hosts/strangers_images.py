"""Images as others make them, from Debian's packages and small archives: no registry is asked."""

from __future__ import annotations

import struct

from trial import IMAGE

# Prints the addresses of each name, and how many whole seconds the look-up took.
LOOKS_UP = """
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
int main(int count, char **names) {
  for (int i = 1; i < count; i++) {
    struct addrinfo hints, *found = 0;
    memset(&hints, 0, sizeof hints);
    hints.ai_socktype = SOCK_STREAM;
    time_t begun = time(0);
    int error = getaddrinfo(names[i], "80", &hints, &found);
    printf("%s %d", names[i], time(0) - begun > 2);
    for (; !error && found; found = found->ai_next) {
      char text[64];
      int four = found->ai_family == AF_INET;
      void *at = four ? (void *)&((struct sockaddr_in *)found->ai_addr)->sin_addr
                      : (void *)&((struct sockaddr_in6 *)found->ai_addr)->sin6_addr;
      printf(" %s", inet_ntop(found->ai_family, at, text, sizeof text));
    }
    puts("");
  }
  return 0;
}
"""
# tcc and musl's own headers make a static program in a second, where gcc would have to be installed.
PACKAGES = f"""FROM {IMAGE} AS packages
COPY names.c /
RUN apt-get update -qq && mkdir /d && cd /d && apt-get download -qq busybox-static musl musl-dev tcc \\
 && for each in *.deb; do dpkg -x $each /d; done && rm *.deb && L=/d/usr/lib/x86_64-linux-musl \\
 && /d/usr/bin/tcc -B/d/usr/lib/x86_64-linux-gnu/tcc -nostdinc -nostdlib -I/d/usr/include/x86_64-linux-musl \\
    -static -o /d/names $L/crt1.o $L/crti.o /names.c $L/libc.a $L/crtn.o
"""
BUSYBOX = f"""{PACKAGES}
FROM scratch
COPY --from=packages /d/bin/busybox /bin/busybox
COPY --from=packages /d/bin/busybox /bin/sh
COPY --from=packages /d/bin/busybox /bin/sleep
"""
MUSL = f"""{BUSYBOX}
COPY --from=packages /d/lib /lib
COPY --from=packages /d/names /bin/names
"""


def old_program() -> bytes:
    """A 32-bit ELF file for Intel machines that ends with status 0: exit(0) by int 0x80."""
    code = b"\xb8\x01\0\0\0\x31\xdb\xcd\x80"
    size = 52 + 32 + len(code)
    head = struct.pack(
        "<4s5B7x2H5I6H", b"\x7fELF", 1, 1, 1, 0, 0, 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0
    )
    return head + struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, size, size, 5, 4096) + code


# All that an image may say of itself and that no host takes over, and folders that only root may write.
SETTINGS = f"""FROM {IMAGE}
RUN mkdir -p /data /srv/work && chmod 755 /tmp /data /srv/work \\
 && echo 'me:x:1234:1234::/tmp:/bin/sh' >>/etc/passwd \\
 && printf '{"".join(f"{chr(92)}{byte:03o}" for byte in old_program())}' >/bin/old && chmod 755 /bin/old
VOLUME /data
WORKDIR /srv/work
USER 1234:1234
ENTRYPOINT ["/bin/false"]
CMD ["nothing"]
ENV LD_LIBRARY_PATH=/data PYTHONPATH=/data PYTHONUNBUFFERED=1 PYTHON_VERSION=3
"""
NO_PYTHON = f"FROM {IMAGE}\nRUN rm -f /usr/bin/python3* /usr/local/bin/python* /usr/bin/python\n"
# python3 is on the PATH, and below a folder that root alone may enter.
ROOTS_PYTHON = f"""FROM {IMAGE}
RUN mkdir -m 700 /root/own && P=$(readlink -f $(command -v python3)) && mv $P /root/own/python3 \\
 && ln -sf /root/own/python3 $P
"""
LINKED = f"FROM {IMAGE}\nRUN mkdir /elsewhere && ln -s /elsewhere /attempt\n"
CLOSED = f"FROM {IMAGE}\nRUN mkdir -m 555 /closed\nVOLUME /closed\n"


def arm_program() -> bytes:
    """A 64-bit ELF file for ARM that no other machine starts."""
    size = 64 + 56
    head = struct.pack(
        "<4s5B7x2H I 3Q I 6H", b"\x7fELF", 2, 1, 1, 0, 0, 2, 183, 1, 0x400078, 64, 0, 0, 64, 56, 1, 0, 0, 0
    )
    segment = struct.pack("<2I6Q", 1, 5, 0, 0x400000, 0x400000, size, size, 4096)
    return head + segment

"""Every foreign exception of a request to an endpoint becomes a fault of the call here, nowhere else."""

from __future__ import annotations

import errno
import socket
import ssl
import zlib

import anyio
import httpx

from scorehost.adapters.faults import failed
from scorehost.errors import CallFailed
from scorehost.foreign import causes, error_numbers

FOREIGN = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.StreamError,
    zlib.error,
    OSError,  # with TimeoutError, ConnectionError, ssl.SSLError, socket.gaierror
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
)
_TIMEOUTS = (httpx.TimeoutException, TimeoutError)


def translated(error: BaseException, *, at: str) -> CallFailed:
    """Our exception for a foreign one of a request to `at` (host and port). Its own words are not told: they
    may hold the request or the key.
    """
    found = causes(error)
    if any(isinstance(each, _TIMEOUTS) for each in found):
        return failed("adapter_timeout", f"the endpoint {at} did not answer in time")
    if isinstance(error, (httpx.DecodingError, zlib.error)):
        return failed("adapter_malformed", f"the answer of {at} is not in the encoding that it names")
    numbers = error_numbers(found)
    reasons = (
        (any(isinstance(each, socket.gaierror) for each in found), f"the host name of {at} is unknown"),
        (
            any(isinstance(each, ssl.SSLCertVerificationError) for each in found),
            f"the certificate of {at} is not one that this machine trusts",
        ),
        (any(isinstance(each, ssl.SSLError) for each in found), f"TLS with {at} failed"),
        (errno.ECONNREFUSED in numbers, f"nothing listens at {at}"),
        (numbers & {errno.EHOSTUNREACH, errno.ENETUNREACH}, f"there is no way to {at}"),
        (
            isinstance(error, httpx.ProxyError),
            f"the proxy on the way to {at} refused (HTTPS_PROXY, HTTP_PROXY, ALL_PROXY)",
        ),
        (
            isinstance(error, httpx.RemoteProtocolError),
            f"{at} cut its answer off, or does not speak HTTP",
        ),
        (True, f"the connection to {at} was cut ({type(error).__name__})"),
    )
    return failed("adapter_exit", next(text for applies, text in reasons if applies))

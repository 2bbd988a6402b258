"""The one HTTP client: requests to an endpoint, every limit set, and answers that are read under a cap."""

from __future__ import annotations

import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import httpx

from scorehost import __version__
from scorehost.adapters.faults import failed
from scorehost.adapters.http_errors import FOREIGN, translated
from scorehost.aio.threads import in_thread
from scorehost.errors import UsageError
from scorehost.foreign import translating

CLOSE_SECONDS = 1.0
_ANY_CODING = 32 + zlib.MAX_WBITS  # of zlib: gzip or zlib, told by the first bytes
# What is capped is what comes; a redirect could carry the key to another host, so none is followed.
_HEADERS = {
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Content-Type": "application/json",
    "User-Agent": f"scorehost/{__version__}",
}


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What one exchange may take. How long all of it may take is the caller's, with a cancel scope.

    `body_bytes`: of an answer, once decoded. `connect`: seconds until a connection stands, TLS included.
    `silence`: seconds without a byte, before the head or after it. None: no limit of its own.
    """

    body_bytes: int
    connect: float | None = None
    silence: float | None = None


class Answer:
    """The head of an answer; its body comes as it is asked for, and `body` is what came so far."""

    def __init__(self, response: httpx.Response, at: str, limits: HttpLimits) -> None:
        self._response, self._at, self._limits = response, at, limits
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
        """Names are found in any case."""
        self.body = bytearray()

    async def read(self) -> bytes:
        """The whole body. CallFailed as of `pieces`; then `body` has what came before."""
        async with aclosing(self.pieces()) as pieces:
            async for piece in pieces:
                self.body += piece
        return bytes(self.body)

    async def pieces(self) -> AsyncGenerator[bytes]:
        """The body as it comes, decoded; at most `body_bytes` of it are ever held or given.

        CallFailed: adapter_overflow past that, adapter_malformed for an encoding that was not asked for and
        is not known, adapter_timeout, adapter_exit when the connection breaks.
        """
        cap, size, decoded = self._limits.body_bytes, 0, self._decoder()
        raw = self._response.aiter_raw()
        async with aclosing(cast("AsyncGenerator[bytes]", raw)):
            while True:
                with translating(FOREIGN, partial(translated, at=self._at)):
                    piece = await anext(raw, None)
                    if piece is None:
                        return
                    piece = decoded(piece, cap + 1 - size)
                size += len(piece)
                if size > cap:
                    raise failed("adapter_overflow", f"{self._at} sent more than {cap} bytes")
                yield piece

    def _decoder(self) -> Any:
        coding = self.headers.get("content-encoding", "identity").strip().lower()
        if coding in ("", "identity"):
            return lambda piece, most: piece[:most]
        if coding not in ("gzip", "x-gzip", "deflate"):
            text = f"{self._at} answers in an encoding that was not asked for and cannot be read"
            raise failed("adapter_malformed", text)
        return zlib.decompressobj(_ANY_CODING).decompress


class HttpClient:
    """Connections to one endpoint; safe to use from many tasks at once. Made by `open_http`."""

    def __init__(self, client: httpx.AsyncClient, at: str, limits: HttpLimits) -> None:
        self._client, self._limits = client, limits
        self.at = at
        """Host and port, as messages name them."""

    @asynccontextmanager
    async def post(self, path: str, body: bytes) -> AsyncIterator[Answer]:
        """Sends `body` to `path` below the base address, and gives the answer's head, whatever its status.

        Raises CallFailed: adapter_timeout, or adapter_exit and why there is no answer. The connection is used
        again when the answer was read to its end, and closed when it was not.
        """
        with translating(FOREIGN, partial(translated, at=self.at)):
            request = self._client.build_request("POST", path, content=body)
            response = await self._client.send(request, stream=True)
        try:
            yield Answer(response, self.at, self._limits)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_SECONDS), suppress(*FOREIGN):
                await response.aclose()


@asynccontextmanager
async def open_http(
    base_url: str, *, key: str | None, limits: HttpLimits, environment_proxies: bool
) -> AsyncIterator[HttpClient]:
    """A client for the endpoint at `base_url`; `key` goes along as a bearer token, and to no other address.

    `environment_proxies`: HTTPS_PROXY and its kin count, and SSL_CERT_FILE. Certificates are always verified.
    Raises UsageError: a key that no header can carry, a proxy or
    certificate file of the environment that cannot be used.
    """
    headers = dict(_HEADERS)
    if key is not None:
        if not key.isascii() or not key.isprintable() or key != key.strip():
            hint = "Keys are printable ASCII; a line end often comes along from a file"
            raise UsageError(
                "the key of an endpoint has a space at an end, or a character that no header can carry",
                hint=hint,
            )
        headers["Authorization"] = f"Bearer {key}"
    try:
        client = await in_thread(
            lambda: httpx.AsyncClient(
                base_url=base_url,
                headers=headers,
                timeout=httpx.Timeout(limits.silence, connect=limits.connect, pool=None),
                # How many run at a time is the caller's to say: nothing waits for a connection here.
                limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
                follow_redirects=False,
                trust_env=environment_proxies,
            ),
            anyio.CapacityLimiter(1),
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        hint = "See HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and SSL_CERT_FILE"
        text = f"the proxy or certificates that the environment names cannot be used ({type(error).__name__})"
        raise UsageError(text, hint=hint) from error
    try:
        yield HttpClient(client, urlsplit(base_url).netloc.rpartition("@")[2], limits)
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(CLOSE_SECONDS):
            await client.aclose()

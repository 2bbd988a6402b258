"""A real HTTP server on 127.0.0.1 that plays an endpoint by a script of answers."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def completion(content="fine", *, number=1, **changes):
    """The body of a sound answer."""
    answer = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "model": "served-1",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 4}},
    }
    return {**answer, **changes}


class Answers:
    """What comes next, the last one for ever. `seen`: (time, path, headers, body) of each request; `raw`: the
    bytes of its body.
    """

    def __init__(self, *answers):
        self.left = list(answers)
        self.seen = []
        self.raw = []
        self.lock = threading.Lock()

    def next(self):
        with self.lock:
            return self.left.pop(0) if len(self.left) > 1 else self.left[0]


def sends(body, status=200, **headers):
    """An answer with this body (JSON unless it is bytes)."""
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def send(handler):
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(data)

    return send


def cuts(after=b""):
    """Promises a long body, sends `after`, and cuts the connection."""

    def cut(handler):
        if after:
            handler.send_response(200)
            handler.send_header("Content-Length", "100000")
            handler.end_headers()
            handler.wfile.write(after)
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)

    return cut


def waits(seconds):
    """Says nothing for so long."""

    def wait(handler):
        time.sleep(seconds)
        handler.close_connection = True

    return wait


def drips(handler):
    """Sends a byte now and then, for ever."""
    handler.send_response(200)
    handler.end_headers()
    for _ in range(100):
        handler.wfile.write(b" ")
        time.sleep(0.1)


def floods(handler):
    """Sends without end, and without saying how much."""
    handler.send_response(handler.server.flood_status)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" " * 1_000_000)


@contextmanager
def endpoint(*answers, flood_status=200):
    """Gives (base_url, Answers)."""
    script = Answers(*answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            script.raw.append(body)
            script.seen.append(
                (
                    time.monotonic(),
                    self.path,
                    {name.lower(): value for name, value in self.headers.items()},
                    json.loads(body),
                )
            )
            try:
                script.next()(self)
            except OSError:
                self.close_connection = True  # the other side has gone, as it may

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.block_on_close = False
    server.flood_status = flood_status
    server.script = script
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", script
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

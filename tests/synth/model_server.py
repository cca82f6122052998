"""A server on loopback that speaks the wire format of a model's API and answers from a script."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

USAGE = {"input_tokens": 100, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 1}


@dataclass(frozen=True)
class Reply:
    """The reply to one request."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "text/event-stream"})
    chunked: bool = True
    """Whether the body is sent in chunks, which mark its end; otherwise closing the connection ends it."""
    cut_at: int | None = None
    """Number of bytes of the body after which the connection is closed."""
    late_s: float = 0.0
    """Pause before the reply."""
    pause_s: float = 0.0
    """Pause in the middle of the body."""

    def cut(self, at: int, *, chunked: bool) -> Self:
        return replace(self, cut_at=at, chunked=chunked)


def answer(
    text: str, *, stop_reason: str = "end_turn", output_tokens: int = 20, thinking: str = "", **delta: Any
) -> Reply:
    """The stream of a complete message, with its text in small pieces, after a block of reasoning if there is some."""
    thought = (
        _event("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""})
        + _event("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": thinking})
        + _event("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "abc"})
        + _event("content_block_stop", index=0)
    )
    index = int(bool(thinking))
    pieces = [text[i : i + 7] for i in range(0, len(text), 7)]
    return Reply(
        _start()
        + thought * index
        + _event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        + b"".join(
            _event("content_block_delta", index=index, delta={"type": "text_delta", "text": piece}) for piece in pieces
        )
        + _event("content_block_stop", index=index)
        + _event(
            "message_delta",
            delta={"stop_reason": stop_reason, "stop_sequence": None, **delta},
            usage={"output_tokens": output_tokens},
        )
        + _event("message_stop")
    )


def failure(status: int, kind: str, **headers: str) -> Reply:
    """A reply that refuses the request before any stream. The client retries at once unless `headers` say otherwise."""
    return Reply(
        json.dumps({"type": "error", "error": {"type": kind, "message": f"{kind} on purpose"}}).encode(),
        status=status,
        headers={"Content-Type": "application/json", "retry-after-ms": "1"} | headers,
    )


def failure_midway(kind: str) -> Reply:
    """A stream that begins with status 200 and ends in an error event."""
    return Reply(_start() + _event("error", error={"type": kind, "message": f"{kind} on purpose"}))


class ModelServer(ThreadingHTTPServer):
    """Answers each request with the next reply of the script; the last one is repeated."""

    daemon_threads = True

    def __init__(self, *script: Reply) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving(*script: Reply) -> Iterator[ModelServer]:
    with ModelServer(*script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ModelServer

    def do_POST(self) -> None:
        server = self.server
        server.headers.append({name.lower(): value for name, value in self.headers.items()})
        server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        reply = server.script.pop(0) if len(server.script) > 1 else server.script[0]
        self.close_connection = True
        time.sleep(reply.late_s)
        self.send_response(reply.status)
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        if reply.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        body = reply.body[: reply.cut_at]
        with suppress(ConnectionError):  # a client need not wait for the end
            self._write(body[: len(body) // 2], reply)
            time.sleep(reply.pause_s)
            self._write(body[len(body) // 2 :], reply)
            if reply.chunked and reply.cut_at is None:
                self.wfile.write(b"0\r\n\r\n")

    def _write(self, data: bytes, reply: Reply) -> None:
        if data:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if reply.chunked else data)
            self.wfile.flush()

    def log_message(self, *args: object) -> None: ...


def _start() -> bytes:
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE | {"output_tokens": 1},
    }
    return _event("message_start", message=message)


def _event(kind: str, **data: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | data, ensure_ascii=False)}\n\n".encode()

"""Listens, and serves a home until the process ends."""

import asyncio
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kb.errors import SettingsError
from kb.serve.application import application
from kb.serve.guard import Guard
from kb.serve.lanes import lanes_of
from kb.serve.people import People
from kb.serve.reading import confine_readers
from kb.serve.uploads import FOLDER
from kb.settings import Settings
from kb.web.server import listening_on

HEAD_BYTES = 16 << 10
"""Largest head of a request."""
HEAD_S = 10
"""Within so many seconds the head of a request must be whole."""
CONNECTIONS = 256
"""Most connections at once."""


class Protocol(H11Protocol):
    """Ends a connection on which no whole head of a request comes within `HEAD_S`: uvicorn would wait for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_request()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect_request()

    def _expect_request(self) -> None:
        answered = self.cycle

        def end() -> None:
            if self.cycle is answered:
                self.transport.abort()

        self.loop.call_later(HEAD_S, end)


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    url: str,
    upload_bytes: int,
    ready: Callable[[str], None],
    notify: Callable[[str], None],
) -> None:
    """Serve until the process is interrupted.

    Args:
        host: The address to listen on.
        port: 0 takes any that is free.
        url: The address under which browsers reach the server through a proxy; empty if there is none.
        upload_bytes: Size of the largest document that can be sent.
        ready: Called with the address once the server listens.
        notify: Called with each message for the user.

    Raises:
        SettingsError: the port is taken; or others could reach the server, and nobody has a token or it has no name.
        StoreError: the home cannot be opened.
    """
    people, public = People(settings.home), _origin(url) if url else ""
    is_near = _is_loopback(host)
    has_people = bool(people.known())
    if not (has_people or (is_near and not public)):
        hint = "add yourself first: `kb people add NAME --role curator`"
        raise SettingsError("others can reach this server, and nobody has a token", hint=hint)
    if not (is_near or public):
        hint = "name the address that people open: --url https://kb.example.org"
        raise SettingsError(f"by which address do people reach {host}?", hint=hint)
    with listening_on(host, port) as listening:
        port = listening.getsockname()[1]
        origins = {public or f"http://{host}:{port}", *(f"http://{name}:{port}" for name in ("127.0.0.1", "localhost"))}
        if not confine_readers(settings.home, settings.home / FOLDER):
            notify("this machine has no Landlock: what people send is read within limits of time and memory alone")
        lanes = lanes_of(settings, notify)
        inside = application(settings, lanes, upload_bytes=upload_bytes)
        config = config_of(Guard(inside, people, frozenset(origins), is_open=not has_people))
        ready(f"{public or f'http://{host}:{port}'}/")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            for lane in lanes.values():
                lane.close()


def config_of(guard: Guard) -> uvicorn.Config:
    return uvicorn.Config(
        guard, http=Protocol, h11_max_incomplete_event_size=HEAD_BYTES, limit_concurrency=CONNECTIONS, ws="none",
        log_level="warning", access_log=False, server_header=False, proxy_headers=False, lifespan="on",
        timeout_graceful_shutdown=1, timeout_keep_alive=HEAD_S,
    )  # fmt: skip


def _origin(url: str) -> str:
    """The scheme, host and port of a URL. Raises SettingsError if it has more, or less."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/") or "@" in parts.netloc:
        raise SettingsError(f"{url!r} is no address of a server", hint="write it as https://kb.example.org")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False

"""Keeps other sites away from the page, and keeps what documents say from running in it.

A browser sends requests of any site to loopback. So a request must name this machine as its host, against names of
other sites that resolve to it; must not come from another site, unless somebody follows a link; and to change
something, must come from this page. Where the system tells whose a connection is, it must be the account's own: other
people may work on this machine.
"""

import os
import socket
import sys
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
READING = ("GET", "HEAD")
MOST_BYTES = 64 * 1024
"""Largest body of a request."""

CONNECTIONS = {Path("/proc/net/tcp"): "", Path("/proc/net/tcp6"): "0" * 16 + f"{socket.htonl(0xFFFF):08X}"}
"""Linux's lists of connections with their accounts, and how an address of IPv4 begins there."""
_LOCAL, _REMOTE, _ACCOUNT = 1, 2, 7
"""Its columns."""

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with `no-referrer`, a browser names no origin when a form is sent
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Answers what is refused with status 403, and adds `HEADERS` to all answers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = refusal(scope["method"], Headers(scope=scope)) or refusal_of_stranger(scope)
        app = PlainTextResponse(refused, status_code=403) if refused else self._app
        await app(scope, receive, guarded)


def refusal(method: str, headers: Headers) -> str:
    """Why a request is refused; empty if it is not."""
    hosts = headers.getlist("host")
    host = hosts[0] if len(hosts) == 1 else ""
    name, _, port = host.partition(":")
    if name not in HOSTS or not (port or "0").isdecimal():
        return f"This page is for {' and '.join(HOSTS)} alone.\n"
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none") and (
        method not in READING or headers.get("sec-fetch-mode") != "navigate"
    ):
        return "This page answers no other site.\n"
    if method in READING:
        return ""
    if headers.getlist("origin") != [f"http://{host}"]:
        return "Only this page may change something.\n"
    length = headers.get("content-length", "")
    return "" if length.isdecimal() and int(length) <= MOST_BYTES else f"A request has at most {MOST_BYTES} bytes.\n"


def refusal_of_stranger(scope: Scope) -> str:
    """Why a connection of another account of this machine is refused; root may look at everything anyway."""
    if not any(map(Path.exists, CONNECTIONS)) or not (scope.get("client") and scope.get("server")):
        return ""
    allowed = account_of(scope["client"], scope["server"]) in (0, os.getuid())
    return "" if allowed else "This page is for the account that serves it.\n"


def account_of(client: tuple[str, int], server: tuple[str, int]) -> int | None:
    """The number of the account that connected `client` to `server`; None if the connection is not listed."""
    for connections, begins in CONNECTIONS.items():
        ends = [begins + _listed(*end) for end in (client, server)]
        for row in connections.read_text().splitlines()[1:] if connections.exists() else ():
            columns = row.split()
            if [columns[_LOCAL], columns[_REMOTE]] == ends:
                return int(columns[_ACCOUNT])
    return None


def _listed(host: str, port: int) -> str:
    """An end of a connection as Linux lists it: the address is a number in the machine's order of bytes."""
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"

"""Lets a request in: from where it comes, who sends it, what he may do, and how much he sends.

A browser sends requests of any site, with the password that it keeps. So a request must name this server as its host,
against names of other sites that resolve to it, and must not come from another site unless somebody follows a link.
"""

import asyncio
import binascii
import getpass
from base64 import b64decode
from dataclasses import dataclass, field
from math import ceil
from urllib.parse import unquote, urlsplit

from starlette.authentication import SimpleUser
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb.errors import DiskFullError, KbError, LockedError, StoreError
from kb.serve.people import TOKEN, People, Role
from kb.serve.rate import Rate
from kb.web.guard import HEADERS, READING, refusal_of_stranger

METHODS = (*READING, "POST", "PUT")
BY_PROXY = {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip", "via"}
BODY_S = 60
"""Within so many seconds a request must be whole, and a part of an answer be taken."""
PERSON_PER_S, PERSON_BURST = 10, 200
"""Most requests of one person."""
WRONG_PER_S, WRONG_BURST = 1, 20
"""Most wrong tokens from one address. A right token is always let in, so that nobody can keep others out."""
STATUS = {LockedError: 503, DiskFullError: 507, StoreError: 500}
"""Of the answer to an error; 422 to another."""
CHALLENGES = ("Bearer", 'Basic realm="kb: any name, and your token as password", charset="UTF-8"')
SLOWER = "wait as many seconds as the header Retry-After says"
IN_A_HEADER = "send your token as `Authorization: Bearer TOKEN`, or in a browser as the password"


class User(SimpleUser):
    """Who sends a request."""

    def __init__(self, name: str, role: Role) -> None:
        super().__init__(name)
        self.role = role


class Refused(HTTPException):
    """Answered with this status, a message and a hint."""

    def __init__(self, status: int, message: str, hint: str, *, wait_s: float = 0) -> None:
        super().__init__(status, message, {"Retry-After": str(ceil(wait_s))} if wait_s else None)
        self.hint = hint


def refused(_: object, error: Exception) -> Response:
    """The answer to a request that is refused, or at which the server fails, as JSON."""
    status, headers = 500, dict[str, str]()
    message, hint = "the server failed", "whoever runs it finds the reason in its output"
    if isinstance(error, KbError):
        status = next((code for kind, code in STATUS.items() if isinstance(error, kind)), 422)
        message, hint = error.message, error.hint
    elif isinstance(error, HTTPException):
        status, message, headers = error.status_code, error.detail, dict(error.headers or {})
        hint = getattr(error, "hint", "docs/serve.md lists the addresses with their methods")
    answer = JSONResponse({"message": message, "hint": hint}, status, headers)
    for challenge in CHALLENGES if status == 401 else ():
        answer.headers.append("WWW-Authenticate", challenge)
    return answer


@dataclass(frozen=True)
class Guard:
    """Lets in who has a token, and adds `HEADERS` to all answers. A request that is let in has its `user`."""

    app: ASGIApp
    people: People
    origins: frozenset[str]
    """The addresses of this server: scheme, host and port."""
    is_open: bool
    """Whether the account that serves needs no token, as long as there are no people."""
    requests: Rate = field(default_factory=lambda: Rate(PERSON_PER_S, PERSON_BURST))
    wrong_tokens: Rate = field(default_factory=lambda: Rate(WRONG_PER_S, WRONG_BURST))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            async with asyncio.timeout(BODY_S):
                await send(message)

        app = self.app
        try:
            if scope["type"] == "http":
                self._check_source(scope)
                scope["user"] = user = self._user(scope)
                if wait_s := self.requests.wait_s(user.display_name):
                    raise Refused(429, f"{user.display_name} sends too many requests", SLOWER, wait_s=wait_s)
        except (KbError, Refused) as error:
            app = refused(scope, error)
        await app(scope, receive, guarded)

    def _check_source(self, scope: Scope) -> None:
        """Raises Refused for a request that is not for this server, or that another site makes."""
        method, headers = scope["method"], Headers(scope=scope)
        if method not in METHODS:
            raise Refused(405, f"this server knows no {method}", f"known: {', '.join(METHODS)}")
        if headers.getlist("host") not in [[urlsplit(origin).netloc] for origin in self.origins]:
            raise Refused(421, "this server has another name", "use the address that `kb serve` prints")
        follows_link = method in READING and headers.get("sec-fetch-mode") == "navigate"
        is_own = follows_link or headers.get("sec-fetch-site", "none") in ("same-origin", "none")
        if not (is_own and self.origins.issuperset(headers.getlist("origin"))):
            raise Refused(403, "this server answers no other site", "open its own page")
        if TOKEN.search(unquote(f"{scope['path']}?{scope['query_string'].decode('latin-1')}")):
            hint = f"others can read addresses: get another token with `kb people add`, and {IN_A_HEADER}"
            raise Refused(400, "a token stands in the address", hint)

    def _user(self, scope: Scope) -> User:
        """Who sends the request. Raises Refused if nobody known does."""
        headers = Headers(scope=scope)
        if self.is_open and not self.people.known():
            why = "through a proxy, only people come in" if BY_PROXY & {*headers} else refusal_of_stranger(scope)
            if why:
                raise Refused(401, why.strip(), "give people tokens: `kb people add NAME`")
            return User(getpass.getuser(), Role.CURATOR)
        scheme, _, value = headers.get("authorization", "").partition(" ")
        is_browser = scheme.lower() == "basic"
        person = self.people.of(_password(value) if is_browser else value.strip())
        if person is None or scheme.lower() not in ("basic", "bearer"):
            if value and (wait_s := self.wrong_tokens.wait_s((scope["client"] or ("",))[0])):
                raise Refused(429, "too many wrong tokens came from this address", SLOWER, wait_s=wait_s)
            raise Refused(401, "there is no token that this server knows", IN_A_HEADER)
        if is_browser and scope["method"] not in READING and "origin" not in headers:
            raise Refused(403, "a browser would name the page that sends this", IN_A_HEADER)
        return User(*person)


def _password(value: str) -> str:
    try:
        return b64decode(value, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


@dataclass(frozen=True)
class Door:
    """Lets those in who may what is behind it, with bodies of at most `most_bytes`, which must come in time."""

    app: ASGIApp
    least: Role
    most_bytes: int

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        user, length = scope["user"], Headers(scope=scope).get("content-length", "0")
        if not user.role.may(self.least):
            message = f"{user.display_name} is {user.role}, and this takes the role {self.least}"
            raise Refused(403, message, "ask who has that role, or whoever gave you the token for another")
        too_much = Refused(413, f"a request has at most {self.most_bytes:,} bytes here", "send less")
        if not length.isdecimal() or int(length) > self.most_bytes:
            raise too_much
        got = 0
        until: float | None = asyncio.get_running_loop().time() + BODY_S

        async def limited() -> Message:
            nonlocal got, until
            try:
                async with asyncio.timeout_at(until):
                    message = await receive()
            except TimeoutError:
                raise Refused(408, f"the request was not whole within {BODY_S} s", "send it faster") from None
            got += len(message.get("body", b""))
            if got > self.most_bytes:
                raise too_much
            if not message.get("more_body"):
                until = None  # what follows is that the sender goes away
            return message

        await self.app(scope, limited, send)

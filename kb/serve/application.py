"""The addresses of a served home, and the least role that each of them takes."""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from inspect import cleandoc, signature
from pathlib import Path
from secrets import token_hex, token_urlsafe
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.catalog import storage_errors
from kb.errors import KbError
from kb.mcp.advice import warnings
from kb.mcp.server import all_tools
from kb.mcp.server import server as mcp_server
from kb.mcp.tool import Tool
from kb.serve import uploads
from kb.serve.calls import BY, CALLS, arguments_of, name_of
from kb.serve.guard import Door, Refused, refused
from kb.serve.lanes import Answering, Lane
from kb.serve.people import Role
from kb.settings import Settings
from kb.types.records import Trust
from kb.views.response import Response as View
from kb.web.guard import MOST_BYTES as FORM_BYTES
from kb.web.guard import READING
from kb.web.server import routes as page

CALL_BYTES = 1 << 20
"""Largest body of a call; the largest argument of one has 400,000 characters."""

Endpoint = Callable[[Request], Awaitable[Response]]
Lanes = Mapping[Lane, Answering]


@dataclass(frozen=True)
class Agents:
    """MCP: who may only read gets only the tools that read."""

    reading: ASGIApp
    writing: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.writing if scope["user"].role.may(Role.AUTHOR) else self.reading)(scope, receive, send)


def application(settings: Settings, lanes: Lanes, *, upload_bytes: int) -> Starlette:
    """The page, MCP and the JSON API over the lanes of a home, for requests that have a `user`.

    Args:
        upload_bytes: Size of the largest document that can be sent.
    """
    reading, writing = (mcp_server(_tools(settings, lanes, role)) for role in (Role.READER, Role.AUTHOR))
    for served in (reading, writing):  # the guard checks host and origin; these know of no proxy
        served.streamable_http_app(stateless_http=True, json_response=True, host="")
    agents = Agents(reading.session_manager.asgi_app, writing.session_manager.asgi_app)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with reading.session_manager.run(), writing.session_manager.run():
            yield

    def route(method: str, path: str, least: Role, endpoint: Any, most_bytes: int = CALL_BYTES) -> Route:  # noqa: ANN401
        return Route(path, endpoint, methods=[method], middleware=[Middleware(Door, least, most_bytes)])

    routes = [
        *map(_of_page, page(lanes[Lane.READ], lanes[Lane.CURATE], token=token_urlsafe())),
        route("POST", "/mcp", Role.READER, agents),
        route("GET", "/api", Role.READER, _calls),
        *(route("POST", f"/api/{name_of(call)}", CALLS[call].least, _answer(call, lanes)) for call in CALLS),
        route("PUT", "/api/documents/{target}/{name}", Role.AUTHOR, _upload(settings.home, lanes), upload_bytes),
    ]
    answers: Any = dict.fromkeys((HTTPException, KbError, Exception), refused)
    inside = Starlette(routes=routes, lifespan=lifespan, exception_handlers=answers)
    inside.router.redirect_slashes = False
    return inside


def _tools(settings: Settings, lanes: Lanes, role: Role) -> dict[Tool, Answering]:
    """The tools of MCP that a role may use, with the lanes that answer."""
    offered = all_tools(runs_tasks=bool(settings.task_folders))
    return {tool: lanes[CALLS[tool].lane] for tool in offered if role.may(CALLS[tool].least)}


def _of_page(one: Route | Mount) -> Route | Mount:
    """An address of the page: readers see it, curators decide."""
    if isinstance(one, Mount):
        return Mount(one.path, Door(one.app, Role.READER, 0))
    least = Role.READER if set(READING).issuperset(one.methods or ()) else Role.CURATOR
    return Route(one.path, Door(one.app, least, FORM_BYTES), methods=one.methods)


def _calls(_: Request) -> Response:
    listed = [
        {
            "call": name_of(call),
            "least_role": access.least,
            "description": cleandoc(call.__doc__ or ""),
            "arguments": arguments_of(call).model_json_schema(),
        }
        for call, access in CALLS.items()
    ]
    return _json({"calls": listed})


def _answer(call: Callable[..., Any], lanes: Lanes) -> Endpoint:
    taken, lane = arguments_of(call), lanes[CALLS[call].lane]
    names_caller = BY in signature(call).parameters

    async def endpoint(request: Request) -> Response:
        try:
            given = taken.model_validate_json(await request.body() or b"{}")
        except ValidationError as error:
            problems = error.errors(include_url=False, include_context=False, include_input=False)[:3]
            said = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problems)
            raise Refused(422, said, "GET /api lists the calls with their arguments") from error
        values = {name: getattr(given, name) for name in taken.model_fields}
        values |= {BY: request.user.display_name} if names_caller else {}
        answer = await lane.ask(lambda kb: call(kb, **values))
        return _json(answer.noted(*warnings(answer)) if isinstance(answer, View) else answer)

    return endpoint


def _upload(home: Path, lanes: Lanes) -> Endpoint:
    folder = home / uploads.FOLDER
    with storage_errors(home):
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.glob(".sent-*"):  # by a process that was killed
            left.unlink()

    async def endpoint(request: Request) -> Response:
        target, name = request.path_params["target"], request.path_params["name"]
        uploads.check_name(target, name)
        trust = _trust(request)
        sent = folder / f".sent-{token_hex(8)}"
        try:
            with storage_errors(home), sent.open("xb") as file:
                async for part in request.stream():
                    file.write(part)
                file.flush()
                os.fsync(file.fileno())
            return _json(await lanes[Lane.CURATE].ask(lambda kb: uploads.add(kb, sent, target, name, trust)))
        finally:
            sent.unlink(missing_ok=True)

    return endpoint


def _trust(request: Request) -> Trust:
    """How far an upload is trusted. Raises Refused if its sender may not say so."""
    asked = request.query_params.get("trust", Trust.COMMUNITY)
    known = [Trust.COMMUNITY, Trust.UNTRUSTED, *[Trust.VENDOR] * request.user.role.may(Role.CURATOR)]
    if asked not in known:
        raise Refused(403, f"you cannot send a document with the trust {asked!r}", f"you may say {', '.join(known)}")
    return Trust(asked)


def _json(answer: object) -> Response:
    return Response(to_json(answer), media_type="application/json")

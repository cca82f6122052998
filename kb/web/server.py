"""Serves the page to the browsers of this machine."""

import socket
from collections.abc import Awaitable, Callable, Mapping
from secrets import compare_digest, token_urlsafe
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from kb.errors import DiskFullError, KbError, SettingsError
from kb.usecases.opened import Opened
from kb.web.deciding import DECISIONS
from kb.web.guard import Guard
from kb.web.pages import HERE, environment
from kb.web.reading import PAGES, Page

if TYPE_CHECKING:  # the first question opens it; loading it here would delay the start
    from kb.usecases.knowledge_base import KnowledgeBase

Endpoint = Callable[[Request], Awaitable[Response]]
LOOPBACK = "127.0.0.1"


def application(home: Opened, *, token: str) -> Guard:
    """The page over `home`. A form must bring the `token`, which only this page has."""
    return Guard(Starlette(routes=routes(home, home, token=token)))


def routes(home: Opened, deciding: Opened, *, token: str) -> list[Route | Mount]:
    """The page, which asks `deciding` for what changes something."""

    def rendered(template: str, values: Mapping[str, object], status: int = 200) -> Response:
        text = environment().get_template(template).render(values, token=token)
        return HTMLResponse(text, status_code=status)

    def refused(error: KbError, status: int) -> Response:
        return rendered("error.html", {"error": error}, status)

    def shown(page: "Callable[[KnowledgeBase, QueryParams], Page | Response]") -> Endpoint:
        async def endpoint(request: Request) -> Response:
            try:
                answer = await home.ask(lambda kb: page(kb, request.query_params))
            except KbError as error:
                return refused(error, 404)
            return rendered(*answer) if isinstance(answer, Page) else answer

        return endpoint

    def decided(decision: "Callable[[KnowledgeBase, Mapping[str, str]], str]") -> Endpoint:
        async def endpoint(request: Request) -> Response:
            async with request.form(max_files=0) as sent:
                form = {name: value for name, value in sent.items() if isinstance(value, str)}
            if not compare_digest(form.get("token", "").encode(), token.encode()):
                error = KbError("this form is of an earlier `kb web`", hint="go back, and load the page again")
                return refused(error, 403)
            form["by"] = request.user.display_name if "user" in request.scope else ""
            try:
                return RedirectResponse(await deciding.ask(lambda kb: decision(kb, form)), status_code=303)
            except KbError as error:
                return refused(error, 507 if isinstance(error, DiskFullError) else 409)

        return endpoint

    return [
        *(Route(path, shown(page), methods=["GET"]) for path, page in PAGES.items()),
        *(Route(path, decided(decision), methods=["POST"]) for path, decision in DECISIONS.items()),
        Mount("/static", StaticFiles(directory=HERE / "static")),
    ]


def serve(open_kb: "Callable[[], KnowledgeBase]", *, port: int, ready: Callable[[str], None]) -> None:
    """Serve on loopback until the process is interrupted.

    Args:
        port: 0 takes any that is free.
        ready: Called with the address once the server listens.

    Raises:
        SettingsError: the port is taken or not allowed.
    """
    home = Opened(open_kb)
    config = uvicorn.Config(
        application(home, token=token_urlsafe()),
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="off",
        ws="none",
        timeout_graceful_shutdown=1,
    )
    with listening_on(LOOPBACK, port) as listening:
        ready(f"http://{LOOPBACK}:{listening.getsockname()[1]}/")
        try:
            uvicorn.Server(config).run(sockets=[listening])
        finally:
            home.close()


def listening_on(host: str, port: int) -> socket.socket:
    """Raises SettingsError if the port is taken or not allowed."""
    try:
        return socket.create_server((host, port))
    except OSError as error:
        message = f"cannot listen on {host}:{port}: {error.strerror}"
        raise SettingsError(message, hint="choose another with --port; 0 takes any free one") from error

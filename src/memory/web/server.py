"""
The server of the page, on this machine until Ctrl-C; which address leads to which function, and who gets an answer.

A page on another site can send requests to 127.0.0.1 (CSRF), or let its own name lead here (DNS rebinding). So a request
needs a Host of this machine and this port, an Origin that is the same wherever something is changed, and the cookie that
the address with the token is exchanged for.
"""

from __future__ import annotations

import gc
import secrets
from functools import partial
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memory.engine.keeper import HOST, listening, loopback
from memory.schema.errors import ConfigError, Error, Invalid, NotFound, StoreBusy
from memory.web.site import Site, Visit
from memory.web.work import NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from memory.config import Flags
    from memory.engine.keeper import Keeper

    Page: TypeAlias = Callable[[Visit], Response]


def serve(keeper: Keeper, flags: Flags, *, port: int, ready: Callable[[str], None]) -> None:
    """
    Answer on the loopback address until Ctrl-C or a signal.

    Args:
        port: 0 takes a free one.
        ready: Called with the address, token and all, as soon as connections are accepted.

    Raises:
        Error: The port is taken.
    """
    sock = listening(port)
    port = sock.getsockname()[1]
    token = secrets.token_urlsafe(32)
    app = Guard(application(Site(keeper, flags)), port, token)
    gc.freeze()  # what was imported stays; the command had turned the collector off for its start
    gc.enable()
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2
    )
    try:
        ready(f"http://{HOST}:{port}/?token={token}")
        keeper.warm_up()
        uvicorn.Server(settings).run(sockets=[sock])
    except KeyboardInterrupt:  # how it is meant to end
        return
    finally:
        keeper.close()
        sock.close()


# The pages ----------------------------------------------------------------------

PLACES = ("care", "see", "entities", "timeline", "find", "read", "mend", "work")
"""The modules of the pages. Each has `PAGES`: functions by "GET /address" or "POST /address"."""

LARGEST = 20_000_000  # bytes of a form: a body has a million characters, and one takes up to twelve

STATUS = {NotFound: 404, Invalid: 400, StoreBusy: 503, ConfigError: 500}


def application(site: Site) -> Starlette:
    """All pages; who may see them is for `Guard`."""
    routes: list[Route | Mount] = [Mount("/static", StaticFiles(packages=[("memory.web", "static")]), name="static")]
    for place in PLACES:
        for named, page in import_module(f"memory.web.{place}").PAGES.items():
            method, _, path = named.partition(" ")
            routes.append(Route(path, partial(_answered, site, page), methods=[method]))
    return Starlette(routes=routes, max_body_size=LARGEST, exception_handlers={404: partial(_nowhere, site)})


async def _answered(site: Site, page: Page, request: Request) -> Response:
    """A page is made in a thread, so that a slow one holds up no other."""
    body = await request.body()
    form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    query = parse_qs(request.url.query, keep_blank_values=True)
    part = request.headers.get("hx-request") == "true"
    visit = Visit(site, request.url.path, request.path_params, query, form, part=part)
    if NUMBER in form:
        response = await run_in_threadpool(_once, page, visit, sha256(request.url.path.encode() + b"?" + body).digest())
    else:
        response = await run_in_threadpool(_made, page, visit)
    response.headers["Vary"] = "HX-Request"
    return response


def _once(page: Page, visit: Visit, form: bytes) -> Response:
    response, first = visit.site.once.answered(form, lambda: _made(page, visit))
    if not first and not visit.site.told:
        visit.say("This form was already sent; it was done once.")
    return response


def _made(page: Page, visit: Visit) -> Response:
    try:
        return page(visit)
    except Error as error:
        status = next((code for sort, code in STATUS.items() if isinstance(error, sort)), 500)
        return visit.page("error.html", status, error=error)


async def _nowhere(site: Site, request: Request, _: Exception) -> Response:
    if request.method == "GET" and not request.url.path.startswith("/static"):
        visit = Visit(site, request.url.path, {}, {}, {})
        return await run_in_threadpool(visit.page, "error.html", 404, error=NotFound("there is no such page"))
    return PlainTextResponse("Not found", 404)


# Who gets an answer --------------------------------------------------------------

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: a browser would then send "Origin: null" with our own forms.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
"""Of every answer, refusals included."""

ADDRESS = "Open the address that `memory ui` printed."
LOST = f"This page is not known here. {ADDRESS}"

# A redirect would carry on a navigation that began elsewhere, in a mail or another program, and a strict cookie is not
# sent with that. The second request of this page begins here.
_ENTERED = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/"><title>memory</title>
<link rel="icon" href="/static/icon.svg"><p><a href="/">Memory</a></p></html>
"""


class Guard:
    """
    The application behind a door.

    Attributes:
        token: What the printed address has, for as long as the process lives.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app, self._port, self.token = app, port, token
        self._cookie = f"memory-ui-{port}"  # cookies know no ports, and two of us may be open
        self._session = secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def answered(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(HEADERS)
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = self._answer(scope)
        await (refused or self._app)(scope, receive, answered)

    def _answer(self, scope: Scope) -> Response | None:  # noqa: PLR0911  # a refusal each
        """What is answered in place of the page; None for a request that may pass."""
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or loopback(hosts[0].encode()) != self._port:
            return PlainTextResponse("Invalid Host header", 421)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Method not allowed", 405, {"Allow": "GET, HEAD, POST"})
        own = [f"http://{hosts[0]}"]
        if origins != own and (origins or scope["method"] == "POST"):
            return PlainTextResponse("Invalid Origin header", 403)
        if scope["method"] == "GET" and (given := parse_qs(scope["query_string"].decode("latin-1")).get("token")):
            return self._entered(given) if scope["path"] == "/" else PlainTextResponse(LOST, 403)
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            return PlainTextResponse("Not from another site", 403)
        if not self._known(headers.get("cookie", "")):
            return PlainTextResponse(LOST, 403)
        return None

    def _entered(self, given: list[str]) -> Response:
        if not secrets.compare_digest(given[0].encode(), self.token.encode()):
            return PlainTextResponse(f"This address has the token of an earlier start. {ADDRESS}", 403)
        response = HTMLResponse(_ENTERED)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return response

    def _known(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(self._cookie)
        except CookieError:  # of somebody else on this machine
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self._session.encode())

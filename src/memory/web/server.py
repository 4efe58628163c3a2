"""The server of the page, on this machine until Ctrl-C, and which address leads to which function."""

from __future__ import annotations

import gc
import secrets
from functools import partial
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from memory.engine.keeper import HOST, listening
from memory.schema.errors import ConfigError, Error, Invalid, NotFound, StoreBusy
from memory.web.guard import Guard
from memory.web.site import Site, Visit
from memory.web.tasks import NUMBER

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from memory.cli.flags import Flags
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
    gc.freeze()
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

PLACES = ("care", "see", "entities", "timeline", "use", "find", "facets", "read", "mend", "review", "work")
"""The modules of the pages. Each has `PAGES`: functions by "GET /address" or "POST /address"."""

LARGEST = 20_000_000  # bytes of a form: a body has a million characters, and one takes up to twelve

STATUS = {NotFound: 404, Invalid: 400, StoreBusy: 503, ConfigError: 500}


def application(site: Site) -> Starlette:
    """All pages; who may see them is for `memory.web.guard`."""
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
        visit.say("That was sent already, and done once.")
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

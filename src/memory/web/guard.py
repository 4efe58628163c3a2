"""
Who gets an answer: the page of this process, in the browser of the person who has its address.

A page on another site can send requests to 127.0.0.1 (CSRF), or let its own name lead here (DNS rebinding). So a request
needs a Host of this machine and this port, an Origin that is the same wherever something is changed, and the cookie that
the address with the token is exchanged for.
"""

from __future__ import annotations

import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from memory.engine.keeper import loopback

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
            return PlainTextResponse(f"The address has the token of another time. {ADDRESS}", 403)
        response = HTMLResponse(_ENTERED)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path="/")
        return response

    def _known(self, cookies: str) -> bool:
        try:
            found = SimpleCookie(cookies).get(self._cookie)
        except CookieError:  # of somebody else on this machine
            return False
        return found is not None and secrets.compare_digest(found.value.encode(), self._session.encode())

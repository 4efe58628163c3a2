"""The server over HTTP on this machine only, for clients that cannot start a process."""

from __future__ import annotations

import gc
import os
import re
import secrets
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from mcp.server.auth.middleware.bearer_auth import BearerAuthBackend
from mcp.server.auth.provider import AccessToken
from starlette.middleware.authentication import AuthenticationMiddleware
from starlette.responses import PlainTextResponse

from memory.config.files import SETTINGS_BYTES, contents, write_file
from memory.engine.keeper import HOST, listening, loopback
from memory.mcp.server import Serving
from memory.schema.errors import Error, Invalid, explained

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

    from memory.engine.keeper import Keeper
    from memory.tools.operation import Operation

PATH = "/mcp"
TOKEN_FILE = "mcp-token"  # noqa: S105  # its name
TOKEN_VARIABLE = "MEMORY_MCP_TOKEN"  # noqa: S105
SHORTEST = 16  # characters of a token

_SCHEME = b"http://"


def _loopback_only(app: ASGIApp) -> ASGIApp:
    """
    Accept only requests with one Host header, which names this machine, and with no Origin or one of this machine.

    The library checks too, but it takes everything that begins with `http://127.0.0.1:` for an origin of this machine,
    and looks only at the first of several headers.
    """

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            hosts, origins = (
                [value for key, value in scope["headers"] if key == name] for name in (b"host", b"origin")
            )
            if len(hosts) != 1 or not loopback(hosts[0]):
                await PlainTextResponse("Invalid Host header", 421)(scope, receive, send)
                return
            if not all(origin.startswith(_SCHEME) and loopback(origin.removeprefix(_SCHEME)) for origin in origins):
                await PlainTextResponse("Invalid Origin header", 403)(scope, receive, send)
                return
        await app(scope, receive, send)

    return checked


class _Verifier:
    """Accepts requests that have the token."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    async def verify_token(self, token: str) -> AccessToken | None:
        if not secrets.compare_digest(token.encode(), self._token):
            return None
        return AccessToken(token=token, client_id="local", scopes=[])


def serve(
    keeper: Keeper, tools: Sequence[Operation], *, structured: bool, port: int, token: str, ready: Callable[[str], None]
) -> None:
    """
    Answer on the loopback address until the process ends.

    A request needs the token and a Host of this machine; an Origin, if there is one, has to be of this machine too, so that
    no other web page gets in.

    Args:
        port: 0 takes a free one.
        ready: Called with the address as soon as connections are accepted.

    Raises:
        Error: The port is taken.
    """
    sock = listening(port)
    url = f"http://{HOST}:{sock.getsockname()[1]}{PATH}"
    serving = Serving(keeper, tools, structured=structured, working=None)
    verifier = _Verifier(token)
    app = serving.server().streamable_http_app(streamable_http_path=PATH, host=HOST, token_verifier=verifier)
    app.add_middleware(AuthenticationMiddleware, backend=BearerAuthBackend(verifier))
    app.add_middleware(_loopback_only)  # what is added last is asked first
    gc.freeze()  # what was imported stays; the command had turned the collector off for its start
    gc.enable()
    ready(url)
    keeper.warm_up()
    try:
        settings = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=2)
        uvicorn.Server(settings).run(sockets=[sock])
    finally:
        serving.close()
        sock.close()


def token(folder: str) -> tuple[str, str]:
    """
    The token that requests need, and where it is from: `$MEMORY_MCP_TOKEN`, else a file, created if it is missing.

    Raises:
        Invalid: It is too short, or has characters that a header cannot have.
        Error: The file cannot be read or created.
    """
    if given := os.environ.get(TOKEN_VARIABLE):
        return _good(given, f"${TOKEN_VARIABLE}"), f"${TOKEN_VARIABLE}"
    file = Path(folder) / TOKEN_FILE
    with explained(Error, f"cannot use {file}"):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # it existed, or another process has just created it
            write_file(file, secrets.token_urlsafe(32).encode(), overwrite=False, private=True)
        file.chmod(0o600)
    with explained(Error, f"cannot read {file}"):
        text = contents(file, SETTINGS_BYTES).decode("ascii", "replace").strip()
    return _good(text, str(file)), str(file)


def _good(text: str, place: str) -> str:
    if len(text) < SHORTEST or not re.fullmatch(r"[\x21-\x7e]+", text):
        raise Invalid(
            f"the token in {place} cannot be used",
            hint=f"Use at least {SHORTEST} printable ASCII characters without spaces.",
        )
    return text

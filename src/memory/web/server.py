"""The server of the page: on this machine, until Ctrl-C."""

from __future__ import annotations

import gc
import secrets
from typing import TYPE_CHECKING

import uvicorn

from memory.mcp.listening import HOST, listening
from memory.web.app import application
from memory.web.guard import Guard
from memory.web.site import Site

if TYPE_CHECKING:
    from collections.abc import Callable

    from memory.cli.flags import Flags
    from memory.mcp.keeper import Keeper


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

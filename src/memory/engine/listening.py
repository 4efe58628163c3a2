"""A socket on this machine only, and which addresses name this machine; for every server of ours."""

from __future__ import annotations

import os
import re
import socket

from memory.schema.errors import Error

HOST = "127.0.0.1"

_LOOPBACK = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\]):([0-9]{1,5})")


def loopback(authority: bytes) -> int | None:
    """The port, if `host:port` is a name of this machine and a port, as a browser writes them; else None."""
    found = _LOOPBACK.fullmatch(authority)
    return int(found[1]) if found is not None and 0 < int(found[1]) <= 65_535 else None


def listening(port: int) -> socket.socket:
    """
    A socket that accepts connections from this machine.

    Args:
        port: 0 takes a free one.

    Raises:
        Error: The port is taken.
    """
    try:
        found = socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        why = os.strerror(error.errno or 0)  # its own text names the address again
        raise Error(f"cannot listen on {HOST}:{port}: {why}", hint="Choose another port: --port N.") from error
    # asyncio does so only where a socket names its protocol, which this one does not: an answer would wait 40 ms for the
    # other side to acknowledge its headers. Connections inherit it.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found

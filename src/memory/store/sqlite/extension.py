"""sqlite-vec's functions for a connection."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from memory.schema.errors import StoreError

if TYPE_CHECKING:
    import apsw


def load(connection: apsw.Connection) -> None:
    # Found, not imported: `import sqlite_vec` imports numpy.
    package = find_spec("sqlite_vec")
    if package is None or package.origin is None:
        raise StoreError("sqlite-vec is not installed", hint="pip install sqlite-vec")
    connection.enable_load_extension(True)
    try:
        connection.load_extension(str(Path(package.origin).with_name("vec0")))
    finally:
        connection.enable_load_extension(False)

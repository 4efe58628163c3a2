"""Which store keeps the memories: a file, or a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.schema.errors import StoreError

if TYPE_CHECKING:
    from memory.config.config import Config
    from memory.store.tables import Movable


def stored(config: Config, *, damaged: bool = False, older: bool = False) -> Movable:
    """
    The store that the settings name, open. Nothing of the other is imported.

    Args:
        damaged: Open even a file that SQLite refuses.
        older: Open even a file of an older format, of which only the rows are read, to move them.

    Raises:
        StoreError: It cannot be used, or needs a package that is not installed.
    """
    how: dict[str, Any] = {"busy_seconds": config.store.busy_seconds, "exact": config.search.exact}
    if not config.store.url:
        from memory.store.sqlite.store import SqliteStore

        return SqliteStore(config.database, damaged=damaged, older=older, **how)
    try:
        from memory.store.postgres.store import PostgresStore
    except ImportError as error:
        hint = "Install the extra: pip install 'tiermem[postgres]'."
        raise StoreError(f"store.url needs a package that is not installed: {error.name}", hint=hint) from error
    return PostgresStore(config.store.url, folder=config.folder, **how)

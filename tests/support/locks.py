"""A database that another program is writing to."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

# What waits to be learned from is written soon after a save, so the lock may have to be waited for.
WAIT = 30_000


@contextmanager
def locked(path: str | Path) -> Generator[apsw.Connection]:
    """The write lock of the database at ``path``, until the block ends or commits."""
    with closing(apsw.Connection(str(path))) as other:
        other.set_busy_timeout(WAIT)
        other.execute("begin immediate")
        try:
            yield other
        finally:
            if other.in_transaction:
                other.execute("rollback")

"""What must hold of a database file at any moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


def sound(path: Path) -> None:
    """Look at a database with nothing but SQLite, and fail if it is not as the store promises."""
    db = apsw.Connection(str(path))
    try:
        db.execute("pragma foreign_keys = on")
        assert db.execute("pragma integrity_check").get == "ok"
        assert db.execute("pragma foreign_key_check").fetchall() == []
        db.execute(
            "insert into passages_fts(passages_fts, rank) values('integrity-check', 1)"
        )  # compares with the view
        _counted(db)
        for id, dimension, count, total in db.execute(
            "select id, dimension, vectors, total from generations"
        ).fetchall():
            _summed(db, id, dimension, count, total)
        _queued(db)
        stray = "select name from sqlite_schema where type = 'table' and name glob 'vectors_[0-9]*'"
        tables = {name for (name,) in db.execute(stray)}
        assert tables == {f"vectors_{id}" for (id,) in db.execute("select id from generations")}
    finally:
        db.close()


def _counted(db: apsw.Connection) -> None:
    for name, value in db.execute("select name, value from counters").fetchall():
        assert db.execute(f"select count(*) from {name}").get == value
    assert db.execute("select count(*) from memories where id not in (select memory_id from chunks)").get == 0
    assert db.execute("select count(*) from memories where id not in (select memory_id from bodies)").get == 0


def _summed(db: apsw.Connection, id: int, dimension: int, count: int, total: bytes) -> None:
    assert db.execute(f"select count(*) from vectors_{id} where chunk_id not in (select id from chunks)").get == 0
    blobs = [blob for (blob,) in db.execute(f"select embedding from vectors_{id}")]
    assert len(blobs) == count
    vectors = np.frombuffer(b"".join(blobs), np.float32).reshape(len(blobs), dimension)
    np.testing.assert_allclose(np.frombuffer(total, "<f8"), vectors.sum(axis=0, dtype=np.float64), atol=1e-9)


def _queued(db: apsw.Connection) -> None:
    """Every chunk either has a vector in the active generation or is queued."""
    active = db.execute("select id from generations where state = 'active'").get
    embedded = set()
    if active is not None:
        embedded = {id for (id,) in db.execute(f"select chunk_id from vectors_{active}")}
    queued = {id for (id,) in db.execute("select chunk_id from embed_queue")}
    chunks = {id for (id,) in db.execute("select id from chunks")}
    assert not embedded & queued
    assert embedded | queued == chunks

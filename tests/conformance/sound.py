"""What must hold of a database file at any moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import apsw
import numpy as np

from memory.store.narrow import widened

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
        _generations(db)
        _queued(db)
        _booked(db)
        _learned(db)
        stray = "select name from sqlite_schema where name glob 'vector*_[0-9]*' and type in ('table', 'view')"
        tables = {name for (name,) in db.execute(stray)}
        parts = ("vectors", "vector_rows", "vector_blocks")
        assert tables == {f"{part}_{id}" for (id,) in db.execute("select id from generations") for part in parts}
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
    blocks = {row // 6 for (row,) in db.execute(f"select row from vector_rows_{id}")}
    assert {block for (block,) in db.execute(f"select block from vector_blocks_{id}")} == blocks
    for block, kept in db.execute(f"select block, embeddings from vector_blocks_{id}"):
        for place in range(6):
            if not db.execute(f"select 1 from vector_rows_{id} where row = ?", (6 * block + place,)).get:
                assert not any(kept[place * len(kept) // 6 : (place + 1) * len(kept) // 6])
    assert len(blobs) == count
    vectors = widened(b"".join(blobs), dimension)
    np.testing.assert_allclose(np.frombuffer(total, "<f8"), vectors.sum(axis=0, dtype=np.float64), atol=1e-9)


def _generations(db: apsw.Connection) -> None:
    """At most one answers, at most one is built, one answers if there is any; fingerprints are as wide as vectors."""
    states = [state for (state,) in db.execute("select state from generations")]
    assert states.count("active") == bool(states)
    assert states.count("building") <= 1
    for fingerprint, dimension in db.execute(
        "select fingerprint, dimension from generations where fingerprint is not null"
    ):
        assert len(fingerprint) == 4 * dimension


def _queued(db: apsw.Connection) -> None:
    """Every chunk either has a vector in the active index version or is queued; of what is found by keyword only, none is."""
    active = db.execute("select id from generations where state = 'active'").get
    embedded = set()
    if active is not None:
        embedded = {id for (id,) in db.execute(f"select chunk_id from vectors_{active}")}
    queued = {id for (id,) in db.execute("select chunk_id from embed_queue")}
    wanted = "select c.id from chunks c join memories m on m.id = c.memory_id where not m.keyword_only"
    chunks = {id for (id,) in db.execute(wanted)}
    for (id,) in db.execute("select id from generations").fetchall():
        assert db.execute(f"select count(*) from vectors_{id} where chunk_id not in ({wanted})").get == 0
    assert not embedded & queued
    assert embedded | queued == chunks
    assert db.execute("select count(*) from embed_queue where (attempts > 0) <> (tried_at is not null)").get == 0


def _booked(db: apsw.Connection) -> None:
    """A line a day for what stays in the process; every moment is one of UTC in the same number of letters."""
    lines = "select count(*) as n from ledger where host = '' group by day, provider, model, purpose"
    assert db.execute(f"select count(*) from ({lines}) where n > 1").get == 0
    moment = "glob '[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9].[0-9]*Z'"
    assert db.execute(f"select count(*) from ledger where not moment {moment} or length(moment) <> 27").get == 0
    assert db.execute(f"select count(*) from outages where not until {moment}").get == 0


def _learned(db: apsw.Connection) -> None:
    """Terms that have vectors hold only words that some chunk holds; codes have a number for each axis."""
    held = {word for (word,) in db.execute("select term from vocabulary")}
    rows = "select t.term, length(t.code), l.axes from lexicon_terms t join lexicons l using (generation)"
    for term, length, axes in db.execute(rows):
        assert held.issuperset(term.split(" ")), term
        assert length == axes
    for generation, terms in db.execute("select generation, terms from lexicons").fetchall():
        assert db.execute("select count(*) from lexicon_terms where generation = ?", (generation,)).get == terms
        for table in ("lexicon_lessons", "lexicon_pairs"):  # both are of chunks with a vector
            chunks = f"select chunk_id from {table} where generation = ?"
            lost = f"select count(*) from ({chunks}) where chunk_id not in (select chunk_id from vectors_{abs(generation)})"
            assert db.execute(lost, (generation,)).get == 0

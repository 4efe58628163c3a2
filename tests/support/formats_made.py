"""
Files of older formats with something in every table, for the tests that carry them over; and how one is made.

Before a change of `schema.sql` that needs a new format, run this once, keep the file it makes, and count `LATEST` on:

    .venv/bin/python tests/support/formats_made.py
"""

from __future__ import annotations

import gzip
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import apsw

from memory import Config, Draft, Engine
from memory.config import FLAG, with_setting
from memory.schema.kinds import Kind
from memory.schema.query import Mode, Query
from memory.schema.step import step
from memory.store.sqlite.opening import LATEST

FOLDER = Path(__file__).with_name("formats")
FORMATS = sorted(int(file.name.partition(".")[0]) for file in FOLDER.iterdir())

TOPICS = ("database", "queue", "cache", "index", "server", "backup", "login", "report")


def unpacked(format: int, home: Path) -> Path:
    """The file of a format in a folder, made if it is missing, as its version left it there; one that is there goes."""
    home.mkdir(exist_ok=True)
    path = home / "memory.db"
    path.unlink(missing_ok=True)
    if (packed := FOLDER / f"{format}.db.gz").exists():
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    with closing(apsw.Connection(str(path))) as db:
        if not packed.exists():
            db.pragma("page_size", 8192)
            db.execute((FOLDER / f"{format}.sql").read_text("utf-8"))
        db.pragma("journal_mode", "wal")
    path.chmod(0o600)
    return path


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        fill(home)
        with closing(apsw.Connection(f"{home}/memory.db")) as db:
            db.execute("vacuum into ?", (f"{home}/whole.db",))
        whole = Path(home, "whole.db").read_bytes()
        (FOLDER / f"{LATEST}.db.gz").write_bytes(gzip.compress(whole, mtime=0))


def config(home: str, model: str) -> Config:
    base = replace(Config(), embedding=replace(Config().embedding, provider="hashed", model=model), user="ann")
    return with_setting(base, "home", home, FLAG)


def topic(number: int) -> Draft:
    name, other = TOPICS[number % len(TOPICS)], TOPICS[number * 3 % len(TOPICS)]
    return Draft(
        title=f"{name} {number}",
        what=f"the {name} of service {number} needs a {other}",
        why=f"without it service {number} waits",
        body=f"# {name}\n\nThe {other} was slow.\n\n# Since\n\nSince release {number}.",
        tags=(name, "service"),
        project="shop" if number % 2 else None,
        author="ann" if number % 3 else "bob",
    )


def fill(home: str) -> None:
    with Engine.open(config(home, "hashed-16")) as engine:
        ids = [one.memory.id for one in engine.save_all([topic(number) for number in range(24)])]
        engine.embed()
        with step("update"):
            engine.update(ids[0], what="the database has one writer", tags=["db", "sqlite"])
            engine.update(ids[0], body="# Why\n\nReaders never wait.\n\n# Since when\n\nSince spring.")
        with step("delete"):
            engine.delete(ids[1])
            engine.delete(ids[5])
        with step("save"):
            engine.save(Draft(title="cache, newer", what="the cache expires after an hour"), supersedes=ids[2])
        with step("pin"):
            engine.documents.pin([ids[3], ids[4]])
        with step("update"):
            engine.update(ids[7], what="to be taken back")
        with step("undo"):
            engine.trash.undo(engine.trash.last(), lambda _done, _total: None)
        engine.trash.delete(ids[6], purge=True)
        graph(engine)
        engine.save(
            Draft(
                title="Ещё раз", what="Straße ✅ C++ ﾃﾞｰﾀ", tags=("größe",), related_files=("größe.md",), project="größe"
            )
        )
        engine.save(Draft(title="quiet", what="goes to no model", keyword_only=True, owner="ann", metadata={"a": [1]}))
        engine.save(
            Draft(kind=Kind.SESSION_CONTEXT, body="tried the queue", session_id="s1", session_iter=2, agent_id="a")
        )
        run = engine.runs.new()
        engine.save(Draft(kind=Kind.DISCOVERY, body="the queue is slow", query_id=run, agent_id="a"))
        call = {"tool": "grep", "type": "builtin", "agent": "a", "parameters": '{"q": "queue"}', "result": "3"}
        engine.runs.log(**call, run=run, success=True)
        engine.embed()
    with Engine.open(config(home, "hashed-32")) as engine:  # the former generation stays beside the new one
        engine.reindex(keep=True)
        engine.embed()
        engine.learn()
        engine.search(Query("slow queue", mode=Mode.HYBRID))
    with Engine.open(config(home, "hashed-64")) as engine:  # of another width, so that these wait
        engine.save_all([topic(number) for number in range(100, 104)])
    with closing(apsw.Connection(f"{home}/memory.db")) as db:
        db.execute(LEFT)


def graph(engine: Engine) -> None:
    ann, shop = (
        engine.save(Draft(kind=Kind.ENTITY, title=name, category=type, body="- known")).memory.id
        for name, type in (("Ann", "person"), ("Shop", "service"))
    )
    engine.graph.relate([(ann, shop, "keeps"), (shop, ann, "kept by")])
    engine.graph.attach(shop, [3])


LEFT = """
insert into outages values ('models.example', '2030-01-01T00:00:00.000000Z', 'connection refused');
update embed_queue set attempts = 2, last_error = 'timed out', tried_at = '2026-01-01T00:00:00.000000Z'
where chunk_id = (select max(chunk_id) from embed_queue);
insert into begun select max(chunk_id), 1, 0, 7, 3, zeroblob(192) from embed_queue;
"""
"""What a network that failed leaves behind."""


if __name__ == "__main__":
    main()

"""
What `scale.py` compares, each in a process of its own, so that memory and caches are its own too.

A line of JSON on standard input asks for something, a line on standard output answers.
"""

from __future__ import annotations

import json
import re
import struct
import sys
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any

from scale_texts import Mixed, drafts, embedder
from texts import documents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memory import Draft, Engine

PAGE = 2000  # memories a transaction, while building
LIMIT = 10
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("vector", {"exact": True}),
    "distilled": ("tiered", {"gate": "never"}),
    "sections": ("hybrid", {}),
}
"""Mode and settings of what is not the name of a mode."""


class Side:
    """
    Something that keeps notes and finds them: `ways` are the functions from a text to the numbers of notes.

    Attributes:
        compared: How many answers compared the model's vector of the question.
    """

    compared = 0

    def __init__(self, texts: Path, folder: Path) -> None:
        self.texts, self.folder = texts, folder
        self.embedder: Any = embedder(texts)

    def pages(self, count: int) -> Iterator[tuple[int, list[Draft], Any]]:
        """So many notes with their vectors, and the number of the first of each page."""
        source = drafts(self.texts)
        for first in range(0, count, PAGE):
            page = list(islice(source, min(PAGE, count - first)))
            yield first, page, self.embedder.embed([f"{draft.title} {draft.what}" for draft in page], "passage")

    def vector(self, text: str) -> Any:
        return self.embedder.embed([text], "query")[0]


class Memory(Side):
    """This project, filled through its store, which is three times as fast as to save; an embedder that takes no time."""

    def __init__(self, texts: Path, folder: Path) -> None:
        super().__init__(texts, folder)
        self._engines: dict[str, Engine] = {}

    def build(self, count: int) -> dict[str, Any]:
        from memory.keep.entry import entry
        from memory.schema.space import Embedded, Space, Window, recipe
        from memory.store import State
        from memory.vectors.models import profile
        from memory.vectors.term_vectors.learn import learn

        store = self.engine().store
        space = Space("local", Mixed.model, recipe(profile(Mixed.model).passage_prefix), Mixed.dimension)
        for _, page, vectors in self.pages(count):
            now = datetime.now(UTC)
            with store.transaction():
                for draft, vector in zip(page, vectors, strict=True):
                    embedded = Embedded(space, vector[None], (Window(0, 0, 0),))
                    store.memories.insert(entry(draft, now)._replace(unless_known=False, embedded=embedded))
        [active] = [found for found in store.generations.every() if found.state is State.ACTIVE]
        begun = perf_counter()
        learned = learn(store, active.id)
        rate = learned / (perf_counter() - begun)
        store.derive()
        store.vectors.sign()
        return {"learned a second": rate}

    def engine(self, **search: Any) -> Engine:
        """With other settings of searches if any are named."""
        from memory import Config, Engine
        from memory.store.sqlite import SqliteStore

        if (name := str(search)) not in self._engines:
            config = Config()
            config = replace(config, home=str(self.folder), search=replace(config.search, **search))
            store = SqliteStore(config.database, exact=config.search.exact)
            self._engines[name] = Engine(store, config, embedder=self.embedder, lasting=False)
        return self._engines[name]

    def ask(self, way: str, text: str, **filters: Sequence[str]) -> list[int]:
        from memory import Granularity, Mode, Query, Scope

        mode, settings = WAYS.get(way, (way, {}))
        scope = Scope(**{name: frozenset(values) for name, values in filters.items()})
        depth = Granularity.MEDIUM if way == "sections" else Granularity.COARSE
        query = Query(text, limit=LIMIT, mode=Mode(mode), scope=scope, granularity=depth)
        answer = self.engine(**settings).search(query)
        self.compared += answer.tier in {"hybrid", "vector"}
        return [hit.memory.id for hit in answer.hits]

    def save(self, seconds: float, rate: float, first: int) -> dict[str, Any]:
        """Save so many a second, as another process would; how long each took."""
        engine, taken = self.engine(), []
        begun = perf_counter()
        for number, draft in enumerate(islice(drafts(self.texts, first=first), int(seconds * rate))):
            sleep(max(0.0, begun + number / rate - perf_counter()))
            started = perf_counter()
            engine.save(draft)
            taken.append((perf_counter() - started) * 1000)
        return {"saved": taken}


class Sections(Memory):
    """Documents of several sections, each a chunk; `build` counts documents."""

    def build(self, count: int) -> dict[str, Any]:
        engine = self.engine()
        kept = documents(count)
        while page := list(islice(kept, 200)):
            engine.save_all(page)
        engine.store.vectors.sign()
        engine.store.derive()
        return {"chunks": engine.store.counts().chunks}


class EchoVault(Side):
    """
    What EchoVault does, in statements of our own: an FTS5 table over eight columns with prefixes, vec0 beside it, the
    model only if fewer than three keyword hits have 15 % of the best one's score.
    """

    STOP = frozenset("a an and are as at be by for from in is it of on or that the this to with".split())

    def __init__(self, texts: Path, folder: Path) -> None:
        import sqlite_vec
        from apsw import Connection

        super().__init__(texts, folder)
        folder.mkdir(parents=True, exist_ok=True)
        self._db = Connection(str(folder / "echo.db"))
        self._db.pragma("journal_mode", "wal")
        self._db.enable_load_extension(True)
        self._db.load_extension(sqlite_vec.loadable_path())

    def build(self, count: int) -> dict[str, Any]:
        self._db.execute(
            f"""create table memories (rowid integer primary key autoincrement, id text unique not null,
                  title text not null, what text not null, why text, impact text, tags text, category text,
                  project text not null, source text, created_at text not null, status text default 'active');
                create virtual table memories_fts using fts5(title, what, why, impact, tags, category, project, source,
                  content='memories', content_rowid='rowid', tokenize='porter unicode61');
                create trigger added after insert on memories begin
                  insert into memories_fts (rowid, title, what, why, impact, tags, category, project, source)
                  values (new.rowid, new.title, new.what, new.why, new.impact, new.tags, new.category, new.project,
                          new.source); end;
                create virtual table memories_vec using vec0(rowid integer primary key,
                  embedding float[{Mixed.dimension}])"""
        )
        for first, page, vectors in self.pages(count):
            now = datetime.now(UTC).isoformat()
            rows = [
                (place, f"{place:032x}", one.title, one.what, f'["{one.tags[0]}"]', one.project, one.source, now)
                for place, one in enumerate(page, first + 1)
            ]
            with self._db:
                self._db.executemany(
                    """insert into memories (rowid, id, title, what, tags, project, source, created_at)
                       values (?, ?, ?, ?, ?, ?, ?, ?)""",
                    rows,
                )
                self._db.executemany(
                    "insert into memories_vec (rowid, embedding) values (?, ?)",
                    [(place, vector.tobytes()) for place, vector in enumerate(vectors, first + 1)],
                )
        return {}

    def ask(self, way: str, text: str) -> list[int]:
        words = dict.fromkeys(word for word in re.findall(r"\w+", text.lower()) if len(word) > 1)
        expression = " OR ".join(f'"{word}"*' for word in words if word not in self.STOP)
        found = self._db.execute(
            """select m.*, -fts.rank as score from memories_fts fts join memories m on m.rowid = fts.rowid
               where fts.memories_fts match ? and (m.status is null or m.status = 'active') order by fts.rank limit ?""",
            (expression, LIMIT * 2),
        ).fetchall()
        best = max((row[-1] for row in found), default=1.0)
        scores = {row[0]: row[-1] / best for row in found}
        if way == "keyword" or (way == "tiered" and sum(score >= 0.15 for score in scores.values()) >= 3):
            return list(scores)[:LIMIT]
        vector = self.vector(text)
        self.compared += 1
        near = self._db.execute(
            """select m.*, v.distance from memories_vec v join memories m on m.rowid = v.rowid
               where v.embedding match ? and k = ? and (m.status is null or m.status = 'active') order by v.distance""",
            (struct.pack(f"{len(vector)}f", *vector), LIMIT * 2),
        ).fetchall()
        merged = {number: 0.3 * score for number, score in scores.items()}
        top = max((1 / (1 + row[-1]) for row in near), default=1.0)
        for row in near:
            merged[row[0]] = merged.get(row[0], 0.0) + 0.7 / (1 + row[-1]) / top
        return sorted(merged, key=lambda number: -merged[number])[:LIMIT]


class Tantivy(Side):
    """The best ten by any word of the question, from an index of title and text."""

    def build(self, count: int) -> dict[str, Any]:
        import tantivy

        schema = tantivy.SchemaBuilder()
        for name in ("title", "what"):
            schema.add_text_field(name, tokenizer_name="en_stem")
        schema.add_integer_field("number", stored=True, fast=True)
        self.folder.mkdir(parents=True)
        index = tantivy.Index(schema.build(), path=str(self.folder))
        writer = index.writer(heap_size=256_000_000, num_threads=1)
        for first, page, _ in self.pages(count):
            for place, one in enumerate(page):
                writer.add_document(tantivy.Document(title=one.title, what=one.what, number=first + place + 1))
        writer.commit()
        writer.wait_merging_threads()
        return {}

    def ask(self, way: str, text: str) -> list[int]:
        import tantivy

        del way
        if not hasattr(self, "_index"):
            self._index = tantivy.Index.open(str(self.folder))
            self._searcher = self._index.searcher()
        query = self._index.parse_query(" ".join(re.findall(r"\w+", text)), ["title", "what"])
        found = self._searcher.search(query, LIMIT)
        return [self._searcher.doc(place)["number"][0] for _, place in found.hits]


class Usearch(Side):
    """The nearest ten by a graph (HNSW) over float32."""

    def build(self, count: int) -> dict[str, Any]:
        import numpy as np
        from usearch.index import Index

        self.folder.mkdir(parents=True)
        index = Index(ndim=Mixed.dimension, metric="cos", dtype="f32")
        for first, page, vectors in self.pages(count):
            index.add(np.arange(first + 1, first + 1 + len(page)), vectors)
        index.save(str(self.folder / "near.usearch"))
        return {}

    def ask(self, way: str, text: str) -> list[int]:
        from usearch.index import Index

        del way
        if not hasattr(self, "_index"):
            self._index = Index.restore(str(self.folder / "near.usearch"), view=True)
        return [int(key) for key in self._index.search(self.vector(text), LIMIT).keys]


SIDES = {"memory": Memory, "sections": Sections, "EchoVault's way": EchoVault, "tantivy": Tantivy, "usearch": Usearch}


def memory() -> dict[str, float]:
    """Megabytes: the most that was in RAM, mapped files among it, and what is not of a file now. Linux alone tells."""
    said = Path("/proc/self/status")
    lines = dict(line.split(":", 1) for line in said.read_text().splitlines()) if said.exists() else {}
    return {name: int(lines[name].split()[0]) / 1024 for name in ("VmHWM", "RssAnon") if name in lines}


def timed(work: Callable[..., Any], **given: Any) -> dict[str, Any]:
    begun, used = perf_counter(), process_time()
    found = work(**given)
    cpu, wall = process_time() - used, perf_counter() - begun
    return {"found": found, "wall": wall * 1000, "cpu": cpu * 1000}


def main(name: str, texts: str, folder: str) -> None:
    begun = perf_counter()
    side = SIDES[name](Path(texts), Path(folder))
    for line in sys.stdin:
        given = json.loads(line)
        match given.pop("do"):
            case "ask":
                before = side.compared
                answer = timed(side.ask, **given)
                answer["compared"] = side.compared - before
            case "build":
                answer = side.build(**given) | {"seconds": perf_counter() - begun}
            case "save":
                answer = side.save(**given)
            case "memory":
                answer = memory()
        print(json.dumps(answer), flush=True)

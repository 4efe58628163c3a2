"""Generations of vectors: which one answers, their tables, and the queue of what has no vector in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.schema.errors import iso
from memory.store import Generation, Size, State
from memory.store.nearness import known as known_strangers
from memory.store.postgres import lexicons, strangers
from memory.store.postgres.database import Part, asking, many, one, reading, writing
from memory.store.postgres.opening import SCHEMA
from memory.store.postgres.translate import gone
from memory.store.records import key

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memory.schema.space import Space
    from memory.store.postgres.opening import Db

_TABLE = """
drop table if exists vectors_{id};
create table vectors_{id} (
    id        bigint generated always as identity primary key,
    chunk_id  bigint not null references chunks on delete cascade,
    memory_id bigint not null,
    place     bigint not null,
    embedding vector({dimension}) not null,
    unique (chunk_id, place)
);
create index vectors_{id}_by_memory on vectors_{id} (memory_id)
"""

BESIDE = 1900
"""Vectors of more numbers do not fit into their rows, and are kept beside them."""


class PostgresGenerations(Part):
    """See `memory.store.vectors.Generations`."""

    @asking
    def every(self, db: Db) -> Sequence[Generation]:
        return every(db)

    @writing()
    def begin(self, db: Db, space: Space, moment: datetime, *, alone: bool = False) -> Generation:
        if alone:
            for old in every(db):
                if old.state is State.RETIRED and old.space != space:
                    drop(db, old.id)
        id = begin(db, space, iso(moment))
        return next(found for found in every(db) if found.id == id)

    @writing()
    def activate(self, db: Db, generation: int, *, instead_of: int | None, former: State = State.RETIRED) -> bool:
        need(db, generation)
        if (before := active(db)) != instead_of:
            return False
        if before == generation:
            return True
        unfinished = active(db, State.BUILDING)
        if former is State.BUILDING and unfinished is not None and unfinished != generation:
            drop(db, unfinished)
        # One after the other: at no moment may two be active, or two being built.
        for id, state in ((before, State.RETIRED), (generation, State.ACTIVE), (before, former)):
            db.execute("update generations set state = %s where id = %s", (str(state), id))
        db.execute("delete from embed_queue")  # the failures were those of the former model
        renew(db, generation)
        return True

    @reading
    def size(self, db: Db, generation: int) -> Size:
        if not there(db, generation):
            return Size(0, 0)
        chunks = one(db, f"select count(distinct chunk_id) from vectors_{generation}")
        return Size(chunks, one(db, "select terms from lexicons where generation = %s", (generation,)) or 0)

    @writing(durable=False)
    def mark(self, db: Db, generation: int, fingerprint: bytes, *, instead_of: bytes = b"") -> None:
        marked = db.execute(
            "update generations set fingerprint = %s where id = %s and coalesce(fingerprint, '') = %s",
            (fingerprint, key(generation), instead_of),
        ).rowcount
        if marked and instead_of:
            _empty(db, generation)


def every(db: Db) -> list[Generation]:
    from memory.schema.space import Space

    rows = many(
        db,
        """select g.id, g.provider, g.model, g.recipe, g.dimension, g.state, g.fingerprint,
               s.stamp, s.fit, n.nearest, n.products, n.loose, g.vectors
           from generations g left join strangers s on s.generation = g.id
           left join nearness n on n.generation = g.id and length(n.nearest) > 0 order by g.id""",
    )
    known = known_strangers([(row[0], *row[7:]) for row in rows if row[9] is not None])
    return [
        Generation(id, Space(*space), State(state), sign or b"", known.get(id))
        for id, *space, state, sign in (row[:7] for row in rows)
    ]


def there(db: Db, generation: int) -> bool:
    return one(db, "select 1 from generations where id = %s", (key(generation),)) is not None


def need(db: Db, generation: int) -> None:
    """
    Raises:
        NotFound: The generation is gone, perhaps since the caller was told of it.
    """
    if not there(db, generation):
        raise gone(generation)


def active(db: Db, state: State = State.ACTIVE) -> int | None:
    """The id of the generation that answers, or of the one that is in another state of which there is one."""
    found: int | None = one(db, "select id from generations where state = %s", (str(state),))
    return found


def _by_state(db: Db, space: Space) -> dict[State, int]:
    """The id of the latest generation of a space in each state."""
    return {one.state: one.id for one in every(db) if one.space == space}


def living(db: Db, space: Space) -> int | None:
    """The id of the active, else of the building generation of a space."""
    own = _by_state(db, space)
    return own.get(State.ACTIVE, own.get(State.BUILDING))


def begin(db: Db, space: Space, now: str) -> int:
    """See `Generations.begin`."""
    if (found := living(db, space)) is not None:
        return found
    state = State.BUILDING if active(db) else State.ACTIVE
    if (unfinished := active(db, State.BUILDING)) is not None:
        drop(db, unfinished)
    if (retired := _revived(db, space, state)) is not None:
        return retired
    id = int(
        one(
            db,
            """insert into generations (provider, model, recipe, dimension, state, total, created_at)
               values (%s, %s, %s, %s, %s, %s, %s) returning id""",
            (*space, str(state), bytes(8 * space.dimension), now),
        )
    )
    table(db, id, space.dimension)
    return id


def table(db: Db, id: int, dimension: int) -> None:
    """Make the table of a generation's vectors."""
    for statement in _TABLE.format(id=id, dimension=dimension).split(";"):  # a pipeline takes one at a time
        db.execute(statement)
    if dimension <= BESIDE:
        db.execute(f"alter table vectors_{id} alter column embedding set storage plain")


def _revived(db: Db, space: Space, state: State) -> int | None:
    """The latest of the retired generations of a space, put into a state; None if there is none."""
    if (id := _by_state(db, space).get(State.RETIRED)) is None:
        return None
    db.execute("update generations set state = %s where id = %s", (str(state), id))
    if state is State.ACTIVE:
        renew(db, id)
    return id


def drop(db: Db, id: int) -> None:
    if many(db, "delete from generations where id = %s and state <> 'active' returning id", (key(id),)):
        sweep(db)


_LEFT = """
select substring(c.relname from 9) from pg_class c
where c.relkind = 'r' and c.relnamespace = to_regnamespace(%s) and c.relname ~ '^vectors_[0-9]+$'
and not exists (select from generations g where 'vectors_' || g.id = c.relname)
"""

_DROP = """
do $$ begin
    lock table chunks, vectors_{id} in access exclusive mode {waiting};
    drop table vectors_{id};
exception when lock_not_available or undefined_table then null;
end $$
"""


def sweep(db: Db, *, patient: bool = False) -> None:
    """
    Drop the tables of generations that are gone, if nobody reads them or the chunks, to which they refer: whoever waits for
    a reader to end makes all others wait. What is left is taken when another generation goes, by `memory doctor --fix` and
    by `wipe`.

    Args:
        patient: Wait for readers, as long as for any lock.
    """
    for (id,) in many(db, _LEFT, (SCHEMA,)):
        db.execute(_DROP.format(id=id, waiting="" if patient else "nowait"))


def missing(db: Db) -> list[int]:
    """Generations that have no table of vectors."""
    return [
        id for (id,) in many(db, "select id from generations where to_regclass('vectors_' || id) is null order by id")
    ]


def _empty(db: Db, generation: int) -> None:
    """Take away all that the model of a generation made."""
    db.execute(f"delete from vectors_{generation}")
    strangers.forget(db, generation)
    db.execute("delete from begun where generation = %s", (generation,))
    lexicons.forget_terms(db, generation)
    lexicons.forget_terms(db, -generation)
    db.execute(
        "update generations set total = decode(repeat('00', 8 * dimension), 'hex'), vectors = 0 where id = %s",
        (generation,),
    )
    if generation == active(db):
        renew(db, generation)


KEYWORD_ONLY = "select c.id from chunks c join memories m on m.id = c.memory_id where m.keyword_only"
"""Chunks that are never to be embedded."""


def renew(db: Db, active: int | None) -> None:
    """
    Queue the chunks that have no vector in the active generation, and no others; failures that hold stay noted. Chunks
    that are never embedded are not queued.
    """
    db.execute(f"delete from embed_queue where chunk_id in ({KEYWORD_ONLY})")
    missing = """
        insert into embed_queue (chunk_id)
        select c.id from chunks c join memories m on m.id = c.memory_id where not m.keyword_only {0} on conflict do nothing
    """
    if active is None:
        db.execute(missing.format(""))
        return
    db.execute(f"delete from embed_queue q using vectors_{active} v where v.chunk_id = q.chunk_id")
    db.execute(missing.format(f"and not exists (select 1 from vectors_{active} v where v.chunk_id = c.id)"))

"""What every store promises of scopes: every way to look stays inside and misses nothing."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from entries import BEYOND, at, directions, embedded, everything, found, kept, note, prompt, unit, words, write

from memory.schema.answer import Ranking
from memory.schema.kinds import Kind
from memory.schema.memory import MemoryId, Standing
from memory.schema.query import ACTIVE, EVERYTHING, FILTERS, Scope

if TYPE_CHECKING:
    from memory.store import Store

SCOPES = (
    Scope(kinds=frozenset({Kind.NOTE})),
    Scope(kinds=frozenset({Kind.INPUT_PROMPT, Kind.NOTE})),
    Scope(projects=frozenset({"p0"})),
    Scope(projects=frozenset({"p0", "p2", "nowhere", "\ud800"})),
    Scope(sources=frozenset({"s1"})),
    Scope(categories=frozenset({"bug"})),
    Scope(agents=frozenset({"a1"})),
    Scope(sessions=frozenset({"s"})),
    Scope(iterations=frozenset({1, 3, BEYOND})),
    Scope(tasks=frozenset({"t0"})),
    Scope(runs=frozenset({"r1", "r2"})),
    Scope(tags=frozenset({"x"})),
    Scope(tags=frozenset({"x", "y"})),
    Scope(tags=frozenset({'q"uo,te'})),
    Scope(tags=frozenset({"quo", "\ud800"})),
    Scope(since=at(7)),
    Scope(until=at(7)),
    Scope(since=at(3), until=at(9.5)),
    Scope(happened_since=at(7)),
    Scope(happened_until=at(-7)),
    Scope(happened_since=at(-100), happened_until=at(12)),
    Scope(happened_since=at(-9), happened_until=at(9.5), since=at(4), projects=frozenset({"p0", "p1"})),
    Scope(statuses=frozenset({Standing.SUPERSEDED})),
    Scope(statuses=frozenset({Standing.SUPERSEDED, Standing.ACTIVE})),
    Scope(projects=frozenset({"p1"}), tags=frozenset({"y"}), statuses=frozenset()),
    Scope(without=frozenset({"7", "nowhere", "!?", "\ud800"})),
    Scope(without=frozenset({"WORD word", "words 12"}), statuses=frozenset()),
    ACTIVE,
    EVERYTHING,
)


def narrowed(scope: Scope) -> str:
    """What a scope narrows to, in the same words in every process: sets have no order of their own."""
    given = zip(scope._fields, scope, strict=True)
    told = {name: sorted(map(str, value)) if isinstance(value, frozenset) else value for name, value in given if value}
    return " ".join(f"{name}={value}" for name, value in told.items()) or "everything"


def admitted(memory, scope: Scope) -> bool:
    """The meaning of a scope, field by field."""
    fields = {
        "kinds": "kind",
        "projects": "project",
        "sources": "source",
        "categories": "category",
        "agents": "agent_id",
    }
    fields |= {"sessions": "session_id", "iterations": "session_iter", "tasks": "task_code", "runs": "query_id"}
    fields |= {"statuses": "status"}
    for plural, name in fields.items():
        if getattr(scope, plural) and getattr(memory, name) not in getattr(scope, plural):
            return False
    if scope.since and memory.updated_at < scope.since:
        return False
    if scope.until and memory.updated_at >= scope.until:
        return False
    if scope.happened_since and memory.happened < scope.happened_since:
        return False
    if scope.happened_until and memory.happened >= scope.happened_until:
        return False
    said = f" {memory.what.replace('word', 'words')} "
    without = [text.lower().replace("words", "word").replace("word", "words") for text in scope.without]
    return all(tag in memory.tags for tag in scope.tags) and not any(f" {text} " in said for text in without)


def varied(store: Store) -> None:
    """Memories of all sorts, some superseded, all saying "word", each with a vector."""
    vectors = directions(24)
    with store.transaction():
        for n in range(24):
            tags = [("x",), ("y", "x"), ("y",), ('q"uo,te',), ()][n % 5]
            fields = {"project": f"p{n % 4}", "source": f"s{n % 3}", "category": ["bug", "decision", None][n % 3]}
            fields |= {"agent_id": f"a{n % 2}", "session_id": "s" if n % 2 else None, "session_iter": n % 5 or None}
            fields |= {"task_code": f"t{n % 3}", "query_id": f"r{n % 4}"}
            fields |= {"happened_at": [None, at(-n), at(100 - n)][n % 3], "valid_until": at(200) if n % 2 else None}
            entry = note(
                f"word {'word ' * (n % 4)}{n}", moment=at(n), tags=tags, **fields, embedded=embedded([vectors[n]])
            )
            if n % 6 == 5:
                entry = entry._replace(supersedes=everything(store)[-1].id)
            write(store, entry)
        write(store, prompt("word of a prompt", project="p0"))


class ScopesSuite:
    def test_every_way_to_look_stays_in_scope_and_misses_nothing(self, store: Store) -> None:
        varied(store)
        memories = everything(store)
        embedded = {memory.id for memory in memories if memory.kind is Kind.NOTE}

        for scope in SCOPES:
            wanted = {memory.id for memory in memories if admitted(memory, scope)}
            assert {memory.id for memory in store.memories.page(scope, 100)} == wanted, scope
            assert store.memories.count(scope) == len(wanted), scope
            assert store.memories.count(scope, most=3) == min(3, len(wanted)), scope
            tags = Counter(tag for memory in memories if memory.id in wanted for tag in memory.tags)
            assert list(store.memories.tags(scope)) == sorted(tags.items(), key=lambda one: (-one[1], one[0])), scope
            for field in FILTERS.keys() - {"session_iter"}:
                values = Counter(getattr(memory, field) for memory in memories if memory.id in wanted)
                del values[None]
                expected = sorted(values.items(), key=lambda one: (-one[1], one[0]))
                assert list(store.memories.values(field, scope)) == expected, (field, scope)
            assert set(found(store.keywords.by_keyword(words("word"), scope, 100))) == wanted, scope
            assert set(found(store.vectors.by_vector(1, unit(1), scope, 100))) == wanted & embedded, scope

    def test_a_tag_is_found_however_it_is_spelled(self, store: Store) -> None:
        spelled = (("Auth", "db"), ("auth",), ("AUTH", "Größe"), ("größe",), ("Ёлка",), ("other",), ("дЕПлоЙ",))
        ids = kept(store, *(note(f"word {n}", tags=tags) for n, tags in enumerate(spelled)))
        asked = {
            "auth": {0, 1, 2},
            "AUTH": {0, 1, 2},
            "größe": {2, 3},
            "GRÖßE": {2, 3},
            "ёлка": {4},
            "ЁЛКА": {4},
            "елка": set(),
            "Деплой": {6},
            "ДЕПЛОЙ": {6},
        }

        for tag, places in asked.items():
            scope = Scope(tags=frozenset({tag}))
            wanted = {ids[place] for place in places}
            assert {memory.id for memory in store.memories.page(scope, 9)} == wanted, tag
            assert store.memories.count(scope) == len(wanted), tag
            assert set(found(store.keywords.by_keyword(words("word"), scope, 9))) == wanted, tag
        assert store.memories.count(Scope(tags=frozenset({"AUTH", "DB"}))) == 1
        assert dict(store.memories.tags(ACTIVE)) == {"AUTH": 3, "db": 1, "Größe": 2, "Ёлка": 1, "other": 1, "дЕПлоЙ": 1}

    def test_superseded_memories_are_hidden_by_default(self, store: Store) -> None:
        old = kept(store, note("word one", embedded=embedded([unit(1)])))[0]
        new = kept(store, note("word two", supersedes=old, embedded=embedded([unit(0, 1)])))[0]

        assert found(store.keywords.by_keyword(words("word"), Scope(), 10)) == [new]
        assert found(store.vectors.by_vector(1, unit(1), Scope(), 10)) == [new]
        assert found(store.vectors.by_vector(1, unit(1), EVERYTHING, 10)) == [old, new]
        assert [memory.id for memory in store.memories.page(Scope(), 10)] == [new]

    def test_many_superseded_ones_do_not_push_out_an_active_one(self, store: Store) -> None:
        entries = [note("word", title="word word", embedded=embedded([unit(1, n / 1000)])) for n in range(150)]
        ids = kept(store, *entries)
        kept(store, *(note(f"other {id}", title="none", supersedes=id) for id in ids[:-1]))
        last = write(store, note("some word at the very end of a long text", embedded=embedded([unit(0, 1)]))).memory.id

        assert found(store.keywords.by_keyword(words("word"), ACTIVE, 5)) == [ids[-1], last]
        assert found(store.vectors.by_vector(1, unit(1), ACTIVE, 5)) == [ids[-1], last]

    def test_of_no_memories_there_are_none(self, store: Store) -> None:
        (a,) = kept(store, note("zebra", embedded=embedded([unit(1)])))
        none = Scope(among=frozenset())

        assert store.memories.page(none, 10) == []
        assert store.keywords.by_keyword(store.keywords.weigh(words("zebra")), none, 10) == Ranking()
        for _ in range(3):
            assert store.vectors.by_vector(store.generations.every()[0].id, unit(1), none, 10) == Ranking()
            assert store.vectors.memory_similarities(store.generations.every()[0].id, unit(1), none) == {}
        assert store.memories.count(ACTIVE) == len([a])

    def test_only_of_some_memories(self, store: Store) -> None:
        a, b, c = kept(store, note("zebra one"), note("zebra two"), note("zebra three"))
        some = Scope(among=frozenset({a, c, MemoryId(77)}))

        assert {memory.id for memory in store.memories.page(some, 10)} == {a, c}
        assert {one.memory for one in store.keywords.by_keyword(store.keywords.weigh(words("zebra")), some, 10)} == {
            a,
            c,
        }
        assert store.memories.count(Scope(among=frozenset({MemoryId(77)}))) == 0
        assert store.memories.count(ACTIVE) == len({a, b, c})

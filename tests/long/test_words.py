"""Word vectors are made once a model, by whoever has the time, and never twice."""

from __future__ import annotations

import logging
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from asking import embedders
from notes_made import drafts
from provider import Provider
from quick import Quick

from memory import Config, Engine
from memory.schema.errors import OverBudget, SpaceMismatch
from memory.schema.space import Space
from memory.store import UNAIDED, Generation, State
from memory.store.sqlite import SqliteStore
from memory.vectors import words as making
from memory.vectors.backfill import Backfill
from memory.vectors.local.embedder import LocalEmbedder
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.reindex import reindex
from memory.vectors.words import BATCH, NEXT, PAGE, WordVectors, listed, make, make_words, opened, place
from oracle.ram import RamStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memory.vectors.registry import Embedders


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "words"


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A file with all words of `Quick`."""
    path = tmp_path_factory.mktemp("whole") / "words"
    make(Quick(), path)
    return path.read_bytes()


def test_the_file_of_a_model_keeps_its_name_however_a_space_is_shown_to_people(tmp_path: Path) -> None:
    generation = Generation(1, Space("local", "small", 2 + (7 << 8), 384), State.ACTIVE, b"\0\1")

    assert place(str(tmp_path / "memory.db"), generation) == tmp_path / "words-360c57a30c864cba"
    other = generation._replace(space=generation.space._replace(recipe=2))
    assert place(str(tmp_path / "memory.db"), other) != tmp_path / "words-360c57a30c864cba"


def test_a_file_that_somebody_holds_is_not_opened_again_until_another_takes_its_place(path: Path, whole: bytes) -> None:
    path.write_bytes(whole)
    held = opened(path)
    assert opened(path) is held

    path.with_name("next").write_bytes(whole)
    path.with_name("next").replace(path)

    assert opened(path) is not held


def stopped(after: int) -> Callable[[], bool]:
    """Says for so long that work should go on."""
    asked = count()
    return lambda: next(asked) < after


def test_the_list_holds_the_common_words_by_their_stems_and_nothing_else() -> None:
    words = listed()

    assert 10_000 < len(words) < 20_000
    assert words["databas"] == "database"
    assert {"comput", "river"} <= words.keys()
    assert not {"the", "of", "[CLS]", "##ing", "a"} & {*words.keys(), *words.values()}


def test_all_words_of_the_list_are_made_and_none_twice(path: Path) -> None:
    model, done = Quick(), []

    make(model, path, progress=lambda *report: done.append(report))
    first = path.read_bytes()
    make(model, path)

    found = WordVectors(path)
    assert found.whole
    assert model.texts == found.count == len(listed())
    assert done[0] == (PAGE, found.count)
    assert done[-1] == (found.count, found.count)
    assert path.read_bytes() == first


@pytest.mark.parametrize("after", [1, PAGE // BATCH, 3 * PAGE // BATCH + 2])
def test_who_is_stopped_leaves_whole_pages_and_the_next_goes_on_to_the_same_file(
    path: Path, whole: bytes, after: int
) -> None:
    model, next_one = Quick(), Quick()

    make(model, path, going=stopped(after))
    pages = after * BATCH // PAGE
    found = opened(path)
    assert (found.count if found else 0) == pages * PAGE
    assert not (found and found.whole)
    make(next_one, path)

    assert path.read_bytes() == whole
    assert next_one.texts == len(listed()) - pages * PAGE


@pytest.mark.parametrize("damage", [b"", b"x", b"x" * 5_000_000])
def test_a_damaged_file_is_made_again_with_a_line_in_the_log(
    path: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_bytes(damage)

    with caplog.at_level(logging.WARNING):
        make(Quick(), path, going=stopped(PAGE // BATCH))

    assert opened(path).count == PAGE
    assert [f"the word vectors in {path} are made again" in line for line in caplog.messages] == [True]


def test_a_damaged_row_is_found_by_who_makes_them(path: Path, whole: bytes) -> None:
    damaged = whole[:-1] + bytes([whole[-1] ^ 1])
    path.write_bytes(damaged)
    assert not opened(path).sound

    make(Quick(), path, going=stopped(PAGE // BATCH))
    assert path.read_bytes() == damaged  # all other rows serve
    make(Quick(), path)

    assert path.read_bytes() == whole


@pytest.fixture
def changed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The list of another version: it lacks words of ours, and has three pages of its own."""
    words = dict([*listed().items()][: 2 * PAGE]) | {f"new{number}": f"new{number}" for number in range(3 * PAGE)}
    monkeypatch.setattr(making, "listed", lambda: words)
    return words


def test_a_changed_list_costs_its_new_words_and_the_former_file_serves_until_all_are_there(
    path: Path, whole: bytes, changed: dict[str, str]
) -> None:
    path.write_bytes(whole)
    model, seen = Quick(), []

    make(model, path, progress=lambda *_: seen.append(path.read_bytes() == whole), going=stopped(PAGE // BATCH))
    make(model, path, progress=lambda *_: seen.append(path.read_bytes() == whole))

    assert seen == [True] * 3
    assert model.texts == 3 * PAGE
    found = opened(path)
    assert (found.whole, found.sound) == (True, True)
    assert found.rows().keys() == {stem.encode() for stem in {*listed(), *changed}}
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_two_versions_in_one_home_do_not_take_each_others_words_away(
    path: Path, whole: bytes, changed: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_bytes(whole)
    make(Quick(), path)
    both = path.read_bytes()
    monkeypatch.setattr(making, "listed", listed)
    model = Quick()

    make(model, path)

    assert (model.texts, path.read_bytes()) == (0, both)


@pytest.mark.parametrize("header", [False, True])
def test_a_successor_that_was_not_put_in_its_place_is(path: Path, whole: bytes, *, header: bool) -> None:
    path.write_bytes(b"x" if header else whole[:-1] + bytes([whole[-1] ^ 1]))
    path.with_name(path.name + NEXT).write_bytes(whole)
    model = Quick()

    make(model, path)

    assert (model.texts, path.read_bytes()) == (0, whole)
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_two_at_once_lose_nothing_and_go_on_with_each_others_pages(path: Path) -> None:
    slow, quick = Quick(), Quick()
    begun = count()

    def meanwhile() -> bool:
        """In the middle of the first page of one, the other makes three."""
        if next(begun) == 1:
            make(quick, path, going=stopped(3 * PAGE // BATCH))
        return True

    make(slow, path, going=meanwhile)

    assert opened(path).whole
    assert slow.texts + quick.texts == len(listed()) + PAGE


def test_the_local_models_words_lie_as_it_says(path: Path) -> None:
    model = LocalEmbedder()

    make(model, path, going=stopped(PAGE // BATCH))

    rows = opened(path).rows()
    stems = [stem for stem, word in listed().items() if stem.encode() in rows][:20]
    wanted = model.embed([listed()[stem] for stem in stems], "passage")
    found = np.stack([rows[stem.encode()].scale * rows[stem.encode()].code for stem in stems])
    assert (np.vecdot(wanted, found) > 0.999).all()


# Whose words are made ----------------------------------------------------------------


@pytest.fixture(params=["ollama", "openai"])
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def page() -> Callable[[], bool]:
    return stopped(PAGE // BATCH)


def filled(store: SqliteStore, embedders: Embedders, count: int) -> SqliteStore:
    Engine(store, Config(), embedder=Quick(), lasting=False).save_all(drafts(count))
    with closing(embedders):
        reindex(store, embedders, Backfill())
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        yield store


def file(store: SqliteStore) -> WordVectors | None:
    return opened(place(store.path, store.generations.active()))


@pytest.mark.parametrize("words", ["auto", "never", "always"])
def test_a_server_is_asked_for_words_only_if_the_settings_say_so(kind: str, store: SqliteStore, words: str) -> None:
    with Provider() as provider:
        filled(store, embedders(kind, provider, store), UNAIDED)
        provider.seen.clear()
        with closing(embedders(kind, provider, store, words=words)) as asked:
            make_words(store, asked, going=page())

    lines = [line for line in store.usage.lines(datetime(2000, 1, 1, tzinfo=UTC)) if line.purpose == "words"]
    if words != "always":
        assert not provider.seen
        assert file(store) is None
        assert not lines
    else:
        assert file(store).count == PAGE
        assert sum(line.texts for line in lines) >= PAGE  # and the fixed sentence that tells its models apart
        assert all(line.bytes_out and line.host.startswith(provider.url) for line in lines)


def test_they_are_written_into_a_home_that_is_not_there_yet(tmp_path: Path) -> None:
    path = tmp_path / "fresh" / "home" / "words"  # the settings and memories may be on a server, and nothing here

    make(Quick(), path, going=page())

    assert opened(path).count == PAGE
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_budget_that_is_spent_ends_it_and_leaves_whole_pages(store: SqliteStore) -> None:
    with Provider() as provider:
        filled(store, embedders("ollama", provider, store), UNAIDED)
        spent = len(store.usage.lines(datetime(2000, 1, 1, tzinfo=UTC), daily=False))
        few = f"{spent + 20} calls"  # of 64 words each
        with (
            closing(embedders("ollama", provider, store, daily_budget=few, words="always")) as asked,
            pytest.raises(OverBudget),
        ):
            make_words(store, asked)

    assert file(store).count == PAGE


@pytest.mark.parametrize("count", [UNAIDED - 1, UNAIDED])
def test_they_are_made_for_stores_that_have_term_vectors(store: SqliteStore, count: int) -> None:
    engine = Engine(store, Config(), embedder=Quick(), lasting=False)
    engine.save_all(drafts(count))
    engine.embed()

    make_words(store, engine.vectors.embedders, going=page())

    assert (file(store) is not None) == (count == UNAIDED)


def test_nothing_is_made_of_another_model_than_the_one_that_answers(store: SqliteStore) -> None:
    Engine(store, Config(), embedder=Quick(), lasting=False).save_all(drafts(UNAIDED))
    other = Engine(store, Config(), embedder=HashedEmbedder(16), lasting=False)

    with pytest.raises(SpaceMismatch):
        make_words(store, other.vectors.embedders, going=page())

    assert not list(Path(store.path).parent.glob("words-*"))


def test_files_of_models_that_have_no_vectors_here_go_unless_another_database_may_use_them(store: SqliteStore) -> None:
    with Provider() as provider:
        filled(store, embedders("ollama", provider, store), UNAIDED)
    kept = [place(store.path, generation) for generation in store.generations.every()]
    assert len(kept) == 2  # one of them retired, to which a rollback may return
    former = kept[0].with_name("words-0123456789abcdef")
    gone = [former, former.with_name(former.name + NEXT)]
    others = [kept[0].with_name("words-of-mine"), kept[0].with_name("words-0123456789abcdef.bak")]
    others += [one.with_name(one.name + NEXT) for one in kept]  # another process may be making them
    for path in (*kept, *gone, *others):
        path.write_bytes(b"x")
    team = kept[0].with_name("team.db")
    with closing(SqliteStore(team)):
        making.tidy(store)
    assert former.exists()

    team.unlink()
    making.tidy(store)

    assert not any(path.exists() for path in gone)
    assert all(path.exists() for path in (*kept, *others))


def test_without_a_file_there_are_none() -> None:
    engine = Engine(RamStore(), Config(), embedder=Quick(), lasting=False)
    engine.save_all(drafts(UNAIDED))

    make_words(engine.store, engine.vectors.embedders)

    assert {line.purpose for line in engine.ledger()} <= {"save", "fill"}

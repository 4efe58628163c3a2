"""What a library engine learns while it stores, and whether a forecast tells all that will be sent and how long it takes."""

from __future__ import annotations

import threading
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

import pytest
from asking import config
from notes_made import drafts
from provider import Provider

from memory import Config, Engine
from memory.store.sqlite import SqliteStore
from memory.vectors import words as making
from memory.vectors.baseline import ANSWERS, STRANGERS
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.term_vectors.learn import enough
from memory.vectors.words import listed

if TYPE_CHECKING:
    from pathlib import Path

DOCUMENTS, BATCH, FEW, WORDS = 500, 50, 150, 1_500


def test_a_library_engine_that_stores_documents_learns_them_in_its_own_time(tmp_path: Path) -> None:
    wordless = replace(Config(), home=str(tmp_path), embedding=replace(Config().embedding, words="never"))
    with Engine(SqliteStore(tmp_path / "memory.db"), wordless, embedder=HashedEmbedder(64)) as engine:
        for first in range(0, DOCUMENTS, BATCH):
            engine.save_all(drafts(BATCH, first=first))
            for thread in threading.enumerate():
                if thread.name == "memory-fill":
                    thread.join(60)

    with closing(SqliteStore(tmp_path / "memory.db")) as store:
        known, queued = store.term_vectors.progress(1), store.queue.queued()
    assert (known.passages + known.waiting, queued) == (DOCUMENTS, 0)
    assert known.waiting <= enough(known.passages)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of another model, and a short list of words."""
    few = dict(islice(listed().items(), WORDS))
    monkeypatch.setattr(making, "listed", lambda: few)
    with Engine(SqliteStore(tmp_path / "memory.db"), Config(), embedder=HashedEmbedder(32), lasting=False) as engine:
        engine.save_all(drafts(FEW))
        engine.embed()
    return tmp_path


@pytest.mark.parametrize("words", ["auto", "always"])
def test_as_many_texts_are_sent_to_a_server_as_were_forecast(home: Path, words: str) -> None:
    with Provider() as provider:
        settings = replace(config("ollama", provider, words=words), home=str(home))
        with Engine(SqliteStore(home / "memory.db"), settings, lasting=False) as engine:
            forecast = engine.vectors.estimate()
            assert not provider.seen
            engine.reindex()
            engine.vectors.make_words()
            again = engine.vectors.estimate()
        sent = [text for request in provider.seen if request.path == "/api/embed" for text in request.texts]

    assert (forecast.chunks, forecast.words) == (FEW, WORDS if words == "always" else 0)
    assert len(sent) == forecast.texts
    assert forecast.texts > forecast.chunks + forecast.words + len(STRANGERS) + len(
        ANSWERS
    )  # each request tells a model
    assert (again.chunks, again.words) == (0, 0)


def test_the_list_of_words_alone_takes_a_model_in_this_process_its_time(home: Path) -> None:
    settings = replace(Config(), home=str(home), embedding=replace(Config().embedding, provider="local"))
    with Engine(SqliteStore(home / "memory.db"), settings, lasting=False) as engine:
        before = engine.vectors.estimate()
        engine.reindex()
        left = engine.vectors.estimate()
        engine.vectors.make_words()
        done = engine.vectors.estimate()

    assert (left.chunks, left.words, left.texts) == (0, WORDS, WORDS)
    assert before.seconds > left.seconds > 0
    assert (done.texts, done.seconds) == (0, 0)

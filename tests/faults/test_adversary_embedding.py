"""What an adversary of the embedding found once, so that it is not found twice."""

from __future__ import annotations

import os
import threading
from contextlib import closing, suppress

import asking
import numpy as np
import pytest
from locks import locked
from provider import Provider
from work import guarded

from faults import Hang, Held, Refuses, Status
from memory import Draft, Engine, Mode, Query
from memory.config import Config
from memory.schema.errors import DimensionMismatch, EmbedError, Error, Garbled, Refused, SpaceMismatch, StoreBusy
from memory.schema.step import EMBED, purpose
from memory.store.sqlite import SqliteStore
from memory.vectors import Names
from memory.vectors.adapter import set_embedding_provider
from memory.vectors.client import Client
from memory.vectors.meter import Meter
from memory.vectors.models import ModelProfile
from memory.vectors.providers.inside import HashedEmbedder
from oracle.ram import RamStore
from oracle.ram_usage import RamUsage

QUESTION = "zebra crossings anywhere"


def opened(folder, provider, name="ollama", key="sk-test", **more):
    folder.mkdir(exist_ok=True)
    return Engine(SqliteStore(folder / "memory.db"), asking.config(name, provider, **more), lasting=False, key=key)


def notes(*titles):
    return [Draft(title=title) for title in titles]


# Texts that a model refuses -----------------------------------------------------------


def test_refused_texts_at_the_head_of_the_queue_do_not_block_it(tmp_path, provider):
    with opened(tmp_path, provider) as engine:
        engine.save_all(notes(*(f"POISON {n}" for n in range(5)), *(f"good {n}" for n in range(20))))
        provider.always(Refuses("POISON"))

        filled = engine.embed()

        assert (filled.embedded, filled.failed) == (20, 5)
        assert len(engine.status().failures) == 5
        assert engine.search(QUESTION).tier == "hybrid"


# Embedders of others ----------------------------------------------------------------------


class Broken(HashedEmbedder):
    def __init__(self, gives):
        super().__init__(8)
        self._gives = gives

    def embed(self, texts, role):
        rows = super().embed(texts, role)
        return self._gives(rows)


def raises(error):
    def give(_rows):
        raise error

    return give


WRONG = {
    "raises RuntimeError": raises(RuntimeError("CUDA out of memory")),
    "raises KeyError": raises(KeyError("x")),
    "too few": lambda rows: rows[:0],
    "too wide": lambda rows: np.concatenate([rows, rows], axis=1),
    "not numbers": lambda rows: [["a"] * 8] * len(rows),
    "NaN": lambda rows: rows * np.nan,
    "None": lambda rows: None,
}


@pytest.mark.parametrize("gives", WRONG.values(), ids=WRONG)
def test_a_given_embedder_that_is_broken_costs_its_vectors_and_no_memory(tmp_path, gives):
    with Engine(SqliteStore(tmp_path / "memory.db"), Config(), embedder=Broken(gives)) as engine:
        saved = engine.save(Draft(title="kept"))

        assert "only by keyword" in saved.notices[0].text
        assert engine.search("kept").hits
        assert engine.search(QUESTION).tier == "keyword"
        with pytest.raises(EmbedError):
            engine.search(Query("kept", mode=Mode.HYBRID))


@pytest.mark.parametrize(
    "gives", [lambda rows: rows.astype(np.float64), lambda rows: (7 * rows).tolist()], ids=["type", "length"]
)
def test_vectors_of_another_type_or_length_are_put_right(tmp_path, gives):
    with Engine(SqliteStore(tmp_path / "memory.db"), Config(), embedder=Broken(gives)) as engine:
        assert not engine.save(Draft(title="kept")).notices
        assert engine.search(Query("kept", mode=Mode.VECTOR)).hits[0].cosine > 0


def test_a_generating_object_that_raises_costs_its_vectors_and_no_memory(tmp_path):
    class Generating:
        dimensions, model_name = 4, "mine"

        def batch_generate(self, texts):
            raise ConnectionError("no route")

    set_embedding_provider(Generating())
    try:
        with Engine.open(Config(home=str(tmp_path))) as engine:
            assert "no route" in engine.save(Draft(title="kept")).notices[0].text
    finally:
        set_embedding_provider(None)


# Models that are exchanged -----------------------------------------------------------------


def test_a_long_lived_engine_notices_that_its_model_was_exchanged(tmp_path, provider):
    with opened(tmp_path, provider) as engine:
        engine.save_all(notes("a", "b"))
        engine.embed()
        provider.weights["nomic-embed-text"] = "other"
        engine.save_all(notes("c"))

        with pytest.raises(SpaceMismatch, match="same name"):
            engine.embed()


def test_a_query_that_was_asked_of_the_former_model_is_asked_again(tmp_path, provider):
    with opened(tmp_path, provider) as first, opened(tmp_path, provider) as second:
        first.save_all(notes("zebra", "penguin"))
        first.embed()
        first.search(QUESTION)
        provider.weights["nomic-embed-text"] = "other"
        second.reindex()

        with pytest.raises(SpaceMismatch):  # this engine's belief is of the former model
            first.search(Query(QUESTION, mode=Mode.VECTOR))
        assert first.search(QUESTION).tier == "keyword"


def test_a_process_with_the_former_model_does_not_write_into_its_successors_vectors(tmp_path):
    class Swapped(HashedEmbedder):
        provider = "plug"
        model = "m"

        def __init__(self, sign):
            super().__init__(16)
            self._sign = np.array([1] * 8 + [sign] * 8, dtype=np.float32)

        def embed(self, texts, role):
            return super().embed(texts, role)[:, ::1] * self._sign

    store = SqliteStore(tmp_path / "memory.db")
    from memory.vectors.registry import Embedders

    def engine(sign):
        made = Engine(store, Config())
        pool = Embedders(Config().embedding, store)
        pool._given = pool._lasting = pool._maker.metered(Swapped(sign), check=pool._check)  # as those of plug-ins are
        pool.fresh = lambda: pool._maker.metered(Swapped(sign))
        made.vectors.embedders = pool
        return made

    old, new = engine(1), engine(-1)
    old.save(Draft(title="first words of it"))
    assert new.reindex().exchanged
    saved = old.save(Draft(title="second"))

    assert saved.notices
    assert old.embedding(saved.memory.id).state == "pending"
    old.close()


# Keys -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ollama", "openai"])
def test_a_key_with_a_line_end_or_an_echo_is_nowhere(tmp_path, provider, monkeypatch, name):
    monkeypatch.setenv("OLLAMA_API_KEY", "va-Secret")
    monkeypatch.setenv("OPENAI_API_KEY", "va-Secret\n")
    provider.always(Status(500, {"error": "bad Bearer va-Secret of 'va-Secret\\n'"}))
    with opened(tmp_path, provider, name, key=None) as engine:
        engine.save(Draft(title="a"))
        answer = engine.search(QUESTION)
        said = str(answer.notices) + str(engine.status()) + str(engine.ledger(each=True))

    assert "Secret" not in said
    assert not any(b"Secret" in path.read_bytes() for path in tmp_path.iterdir())


@pytest.mark.parametrize("variable", ["OLLAMA_API_KEY", "OPENAI_API_KEY"])
def test_a_key_that_cannot_be_sent_is_refused_without_repeating_it(tmp_path, provider, monkeypatch, variable):
    monkeypatch.setenv(variable, "va-Se\ncret-é")
    with opened(tmp_path, provider, "ollama" if "OLLAMA" in variable else "openai", key=None) as engine:
        with pytest.raises(Refused, match=variable) as caught:
            engine.vectors.probe()
    assert "cret" not in str(caught.value)


def test_credentials_of_a_url_that_is_none_are_not_repeated(tmp_path, provider):
    with opened(tmp_path, provider, base_url="http://u:SECRET@ho st") as engine, pytest.raises(Refused) as caught:
        engine.vectors.probe()
    assert "SECRET" not in str(caught.value)


# Answers that are none -----------------------------------------------------------------------------


class Answers:
    """A remote whose answer says what it is told to."""

    provider, model, host = "test", "test", "http://test"
    most_texts, most_tokens = 64, 10_000

    def __init__(self, tokens=None, rows=None, error=None):
        self.tokens, self.rows, self.error, self.asked = tokens, rows, error, 0

    def ask(self, texts, seconds, most):
        from memory.vectors.remote import Reply

        self.asked += 1
        if self.error is not None:
            raise self.error
        rows = HashedEmbedder(16).embed([text or "blank" for text in texts], "passage").tolist()
        return Reply(self.rows or rows, self.tokens)

    def loaded(self, seconds):
        raise self.error or RuntimeError("unheard of")

    def close(self):
        raise RuntimeError("cannot hang up")


@pytest.mark.parametrize("tokens", ["12", [1], 1.5, 10**30, -1_000_000, True, 0])
def test_a_count_of_tokens_that_is_none_is_not_believed(tokens):
    usage = RamUsage()
    made = Client(Answers(tokens), asking.spec(ModelProfile(price=1.0)), usage)
    made.embed(["one two three"], "passage")
    made.close()

    [line] = usage.lines()
    assert 5 <= line.tokens <= 50
    assert line.error == ""


@pytest.mark.parametrize("rows", [[[10**400] * 16] * 2, [[1e300] * 16] * 2, ["ab"] * 2, [[None] * 16] * 2], ids=repr)
def test_numbers_that_are_none_are_garbled(rows):
    with pytest.raises(Garbled):
        Client(Answers(rows=rows), asking.spec(), RamUsage()).embed(["a"], "passage")


@pytest.mark.parametrize(
    "error", [RecursionError("deep"), RuntimeError("?"), OSError("certificates"), ImportError("x")]
)
def test_whatever_a_client_raises_is_an_error_of_ours(error):
    made = Client(Answers(error=error), asking.spec(), RamUsage())

    with pytest.raises(Refused, match="failed"):
        made.embed(["a"], "passage")
    assert not made.warm
    made.close()


@pytest.mark.parametrize("host", ["http://999.1.1.1", "mein_rechnér", "[:::1]", "http://x/a\nb"])
@pytest.mark.parametrize("name", ["ollama", "openai"])
def test_odd_hosts_are_errors_of_ours(tmp_path, provider, host, name):
    with opened(tmp_path, provider, name, base_url=host, timeout_seconds=0.5) as engine:
        with pytest.raises(Error):
            engine.vectors.probe()
        engine.save(Draft(title="kept"))
        assert engine.search(QUESTION).tier == "keyword"


@pytest.mark.parametrize("header", ["99999999999999999", "9" * 400, "Fri, 31 Dec 9999 23:59:59 -2359", "31536000"])
def test_no_server_is_left_alone_for_longer_than_a_quarter_of_an_hour(tmp_path, provider, header):
    from datetime import UTC, datetime, timedelta

    provider.always(Status(429, headers={"Retry-After": header}))
    with opened(tmp_path, provider) as engine:
        engine.save(Draft(title="a"))
        assert engine.search(QUESTION).tier == "keyword"
        circuit = engine.store.usage.circuit(provider.url)
    assert circuit.until < datetime.now(UTC) + timedelta(minutes=16)


def test_the_ledger_of_all_times(tmp_path, provider):
    with opened(tmp_path, provider) as engine:
        assert engine.ledger(10**6) == []


# Waiting -----------------------------------------------------------------------------------------------


def test_a_search_does_not_ask_again_what_it_waited_for(tmp_path, provider):
    provider.always(Hang(600))
    with opened(tmp_path, provider, retries=3, query_share=0.4 / 600, timeout_seconds=600.0) as engine:
        engine.save(Draft(title="a"))
        answer = engine.search(QUESTION)

    assert answer.tier == "keyword"
    assert len(provider.seen) <= 2
    assert max(step.seconds for step in answer.steps) < 60  # of the 600 of any other request


def test_what_waits_is_not_embedded_longer_than_a_search_may_take(tmp_path, provider):
    with opened(tmp_path, provider, query_share=3 / 600, timeout_seconds=600.0) as engine:
        engine.save(Draft(title="a"))
        engine.embed()
        engine.save(Draft(title="b"))
        provider.then(None, Hang(600))

        answer = engine.search(QUESTION)

    assert (answer.tier, len(answer.hits)) == ("hybrid", 1)
    assert "chunks wait" in answer.notices[0].text


# A store that cannot be written ------------------------------------------------------------------------------


class Locked(RamUsage):
    """Somebody else writes, from the first request on."""

    def record_call(self, id, **what):
        raise StoreBusy("locked")

    def set_circuit(self, host, circuit):
        raise StoreBusy("locked")


def test_an_answer_at_hand_is_not_lost_to_a_lock():
    usage = Locked()
    made = Client(Answers(), asking.spec(), usage)

    assert made.embed(["a"], "passage").shape == (1, 16)
    assert usage.lines()[0].error == "no answer yet"
    usage.record_call = RamUsage.record_call.__get__(usage)
    made.close()
    assert usage.lines()[0].error == ""


def test_closing_closes_the_store_whatever_happens(tmp_path):
    store = SqliteStore(tmp_path / "memory.db", busy_seconds=90)
    engine = Engine(store, Config(), embedder=HashedEmbedder(8))
    engine.save(Draft(title="a"))
    with locked(tmp_path / "memory.db"), guarded():
        engine.close()  # while a save may wait to be learned from: closing does not wait for that

    with pytest.raises(Error, match="closed"):
        store.counts()


# What leaves --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ollama", "openai"])
def test_texts_do_not_follow_a_redirect(tmp_path, provider, name):
    with Provider() as elsewhere:
        path = "/api/embed" if name == "ollama" else "/v1/embeddings"
        provider.always(Status(307, headers={"Location": f"{elsewhere.url}{path}"}))
        with opened(tmp_path, provider, name) as engine, pytest.raises(EmbedError):
            engine.vectors.probe()
        assert elsewhere.seen == []


def test_a_fallback_that_is_the_same_server_has_the_same_budget(tmp_path, provider):
    with opened(
        tmp_path, provider, **asking.servers(provider.url, f"{provider.url}/"), daily_budget="2 calls"
    ) as engine:
        engine.save(Draft(title="a"))
        with suppress(Error):
            for n in range(5):
                engine.search(Query(f"{QUESTION} {n}", mode=Mode.HYBRID))
    assert len(provider.seen) == 2


def test_the_other_names_ask_the_configured_server(tmp_path, provider, monkeypatch):
    monkeypatch.setenv("MEMORY_HOME", str(tmp_path))
    monkeypatch.setenv("MEMORY_EMBEDDING_BASE_URL", f"{provider.url}/v1")
    try:
        assert set_embedding_provider("openai", api_key="sk-test").generate("a").shape == (1536,)
    finally:
        set_embedding_provider(None)


# Lengths -----------------------------------------------------------------------------------------------------


def test_no_text_is_longer_than_was_set():
    from memory.text.tokens import estimated
    from memory.vectors.models import ModelProfile

    made = Client(Answers(), asking.spec(ModelProfile("q: ", "p: ", 12)), RamUsage())

    assert all(estimated(f"p: {window}") <= 12 for window in made.windows("some words and more " * 30))
    with pytest.raises(Refused, match="no room"):
        Client(Answers(), asking.spec(ModelProfile("a prefix of many words ", "", 6)), RamUsage()).windows("a")


def test_a_width_that_the_server_does_not_give_is_refused_and_says_what_to_set(tmp_path, provider):
    with opened(tmp_path, provider, dimensions=1024) as engine, pytest.raises(Refused) as caught:
        engine.vectors.probe()
    assert "embedding.dimensions" in caught.value.hint
    assert not isinstance(caught.value, DimensionMismatch)


# Threads and forks ----------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_raises_does_not_end_all_work_for_ever():
    from memory.engine.background import Worker

    threads, begun = [], threading.Semaphore(0)

    def work(_going):
        threads.append(threading.current_thread())
        begun.release()
        if len(threads) == 1:
            raise SystemExit  # ends a thread without a word

    background = Worker()
    background.wake(work)
    assert begun.acquire(timeout=60)
    threads[0].join(60)  # else what it raised is told in the test after this one
    background.wake(work)
    assert begun.acquire(timeout=60)
    background.close()


def test_what_is_noted_while_somebody_else_writes_is_in_the_ledger_later(tmp_path):
    path = tmp_path / "memory.db"
    with closing(SqliteStore(path)) as store:
        meter = Meter(Names("hashed", "hashed-64", 2), "", store.usage)
        meter.inside(["a", "b", "c"], 0.1)
        with locked(path):
            meter.write()
        before = store.usage.lines()

        meter.write()

        assert before == []
        assert [line.texts for line in store.usage.lines()] == [3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_can_close_what_its_parent_filled(tmp_path, provider):
    answered = threading.Event()
    provider.always(Held(answered))
    config = asking.config("ollama", provider, fill="background")
    with Engine(SqliteStore(tmp_path / "memory.db"), config) as engine:
        engine.save(Draft(title="a"))
        provider.wait(
            1
        )  # the thread that fills waits for its answer: of SQLite it holds nothing that a child would need
        child = os.fork()
        if child == 0:
            with suppress(Error):
                engine.vectors.rest()
                engine.vectors.embedders.write()
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        answered.set()


def test_whoever_asks_is_heard_though_another_process_lifted_the_pause(provider):
    store = RamStore()
    provider.down()
    with closing(asking.embedders("ollama", provider, store, dimensions=768)) as first:
        with pytest.raises(EmbedError):
            first.configured().embed(["a"], "query")
        provider.up()
        with closing(asking.embedders("ollama", provider, store)) as second, purpose(EMBED):
            second.configured().embed(["a"], "passage")
        provider.always(None)
        assert len(first.configured().embed(["a"], "query")) == 1


class Growing:
    """An embedder of one's own whose width changes while it lives."""

    provider, model, host, passage_prefix, warm = "mine", "growing", "", "", True
    dimension = 8

    def windows(self, text):
        return [text]

    def embed(self, texts, role):
        return HashedEmbedder(self.dimension).embed(texts, role)


def test_a_width_that_changes_while_the_embedder_lives_asks_for_a_reindex_which_helps(tmp_path):
    mine = Growing()
    with Engine.open(home=tmp_path, embedder=mine) as engine:
        engine.save(Draft(title="zebra", what="striped"))
        mine.dimension = 16

        with pytest.raises(DimensionMismatch):
            engine.search(Query("zebra", mode=Mode.HYBRID))
        engine.reindex()

        assert engine.search(Query("zebra", mode=Mode.HYBRID)).hits
        assert [one.space.dimension for one, _ in engine.status().generations if one.state == "active"] == [16]

"""What is around a request: reserved, bounded, repeated, checked, left out."""

from __future__ import annotations

import socket
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from asking import MODELS, embedders, servers, spec
from provider import Provider

from faults import (
    HalfBody,
    Hang,
    Huge,
    NotANumber,
    NotJson,
    OtherModel,
    Shuffled,
    Status,
    TooFew,
    TooMany,
    UnevenWidths,
    WrongWidth,
    Zeros,
    over_quota,
    rate_limited,
)
from memory.schema.errors import (
    DimensionMismatch,
    EmbedError,
    Garbled,
    OverBudget,
    Refused,
    SpaceMismatch,
    TooLong,
    Unfit,
    Unreachable,
)
from memory.schema.space import Budget, OpenCircuit, budget
from memory.schema.step import BACKFILL, EMBED, REINDEX, purpose
from memory.text.tokens import estimated
from memory.vectors import space
from memory.vectors.client import Client
from memory.vectors.models import ModelProfile
from memory.vectors.providers.inside import HashedEmbedder
from memory.vectors.remote import Reply, failure, safe_url
from oracle.ram import RamStore
from oracle.ram_usage import RamUsage


@pytest.fixture
def store():
    return RamStore()


@pytest.fixture(params=["ollama", "openai"])
def name(request):
    return request.param


@pytest.fixture
def made(provider, store, name):
    """An embedder by one of the two protocols, that does not repeat a request."""
    with closing(embedders(name, provider, store)) as made:
        yield made.configured()


def lines(store):
    """The ledger, oldest first."""
    return list(reversed(store.usage.lines()))


# What is asked ------------------------------------------------------------------


def test_what_is_sent_carries_the_prefix_of_its_role(provider, store):
    with closing(embedders("ollama", provider, store)) as made:
        made.configured().embed(["rivers"], "query")
        made.configured().embed(["rivers"], "passage")

    assert "search_query: rivers" in provider.seen[-2].texts
    assert "search_document: rivers" in provider.seen[-1].texts


def test_a_passage_prefix_is_part_of_the_space(store):
    plain, other = (
        Client(Server(), spec(profile, dimension=16), store.usage)
        for profile in (ModelProfile(), ModelProfile(passage_prefix="P: "))
    )

    assert space(plain) != space(other)
    assert space(plain)._replace(recipe=0) == space(other)._replace(recipe=0)


def test_a_blank_text_is_not_sent(made, provider):
    vectors = made.embed(["", " \n"], "passage")

    assert np.array_equal(vectors[0], vectors[1])
    assert all(text.strip() for seen in provider.seen for text in seen.texts)


@pytest.mark.parametrize(("name", "most"), [("ollama", 16_384), ("openai", 100_000)], indirect=["name"])
def test_many_texts_go_in_batches_sized_by_tokens(made, provider, most):
    made.embed(["word " * 2_000] * 60, "passage")  # 120,000 tokens and more

    sizes = [sum(map(estimated, seen.texts)) for seen in provider.seen]
    assert sum(sizes) >= 120_000
    assert max(sizes) <= most + 100  # the text that says where the space lies comes on top
    assert len(sizes) < 60


def test_a_text_that_the_server_finds_too_long_is_read_in_parts(provider, store, name):
    provider.context[MODELS[name]] = 20
    with closing(embedders(name, provider, store)) as made:
        text = " ".join(f"word{number}" for number in range(60))
        [vector] = made.configured().embed([text], "passage")

    said = " ".join(text for seen in provider.seen for text in seen.texts)
    assert all(f"word{number}" in said for number in range(60))
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_a_server_that_finds_everything_too_long_ends_with_that_error(provider, store):
    provider.context["nomic-embed-text"] = 1
    with closing(embedders("ollama", provider, store)) as made, pytest.raises(TooLong):
        made.configured().embed(["one two three four"], "passage")


def test_texts_come_back_in_order_however_the_server_lists_them(provider, store):
    with closing(embedders("openai", provider, store)) as made:
        expected = made.configured().embed(["a b", "c d", "e f"], "passage")
        provider.always(Shuffled())
        found = made.configured().embed(["a b", "c d", "e f"], "passage")

    assert np.array_equal(found, expected)


def test_a_width_that_was_asked_for_is_the_width(provider, store, name):
    with closing(embedders(name, provider, store, dimensions=64)) as made:
        assert made.configured().embed(["a"], "passage").shape == (1, 64)
    assert provider.seen[-1].body["dimensions"] == 64


# What can go wrong ----------------------------------------------------------------

GARBLED = [
    TooFew(),
    TooMany(),
    NotANumber(),
    Zeros(),
    UnevenWidths(),
    NotJson(),
    Huge(),
    Status(200, {"unexpected": []}),
    Status(200, []),
]


@pytest.mark.parametrize("fault", GARBLED, ids=lambda fault: type(fault).__name__)
def test_an_answer_that_is_none_is_garbled_and_not_asked_for_again(made, provider, fault):
    made.embed(["before"], "passage")
    provider.seen.clear()
    provider.always(fault)

    with pytest.raises(Garbled, match=r"127\.0\.0\.1"):
        made.embed(["a", "b", "c"], "passage")

    assert len(provider.seen) == 1
    provider.always(None)
    assert len(made.embed(["after"], "passage")) == 1


def test_numbers_that_json_has_no_words_for_are_a_text_that_is_not_taken(made, provider):
    """Ollama fails to write a vector with NaN, with 500: asking again does not help."""
    provider.then(Status(500, {"error": "failed to encode response: json: unsupported value: NaN"}))

    with pytest.raises(Garbled, match="NaN"):
        made.embed(["a"], "passage")

    assert len(provider.seen) == 1


def test_another_width_than_before_is_garbled(made, provider):
    made.embed(["a"], "passage")
    provider.then(WrongWidth(7))

    with pytest.raises(Garbled, match="dimensions"):
        made.embed(["b"], "passage")


def test_another_model_in_the_answer_is_garbled(provider, store):
    provider.always(OtherModel("all-minilm"))
    with closing(embedders("ollama", provider, store)) as made, pytest.raises(Garbled, match="all-minilm"):
        made.configured().embed(["a"], "passage")


@pytest.mark.parametrize("fault", [Status(500), Status(503), HalfBody(), Hang(0), rate_limited("0")], ids=str)
def test_what_may_pass_is_tried_again(provider, store, name, fault):
    provider.then(fault, fault)
    with closing(embedders(name, provider, store, retries=2)) as made, purpose(REINDEX):
        assert len(made.configured().embed(["a"], "passage")) == 1
    assert len(provider.seen) == 3


@pytest.mark.parametrize("fault", [Status(401), Status(403), Status(404), Status(418), over_quota()], ids=str)
def test_what_will_not_pass_is_not_tried_again(provider, store, name, fault):
    provider.always(fault)
    with closing(embedders(name, provider, store, retries=3)) as made, pytest.raises(Refused):
        made.configured().embed(["a"], "passage")
    assert len(provider.seen) == 1


def test_an_answer_that_does_not_come_in_time_is_not_waited_for(provider, store, name):
    provider.always(Hang(30))
    with (
        closing(embedders(name, provider, store, timeout_seconds=0.2)) as made,
        pytest.raises(Unreachable, match=r"0\.2 s"),
    ):
        made.configured().embed(["a"], "query")


def test_a_model_that_is_not_there_is_refused_with_the_command_that_brings_it(provider, store):
    with closing(embedders("ollama", provider, store, model="no-such-model")) as made, pytest.raises(Refused) as caught:
        made.configured().embed(["a"], "query")

    assert "ollama pull no-such-model" in caught.value.hint


def test_a_wrong_key_is_refused_and_never_repeated(provider, store):
    provider.key = "sk-right"
    with closing(embedders("openai", provider, store)) as made, pytest.raises(Refused) as caught:
        made.configured().embed(["a"], "query")

    assert "sk-" not in str(caught.value) + caught.value.hint
    assert "OPENAI_API_KEY" in caught.value.hint
    assert not any("sk-" in line.error for line in lines(store))


def test_openai_itself_is_not_asked_without_a_key(monkeypatch, store):
    from memory.vectors.providers.servers import OpenAI

    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(Refused, match="no key") as caught:
        OpenAI(spec()).ask(["a"], 1.0, 1000)
    assert "OPENAI_API_KEY" in caught.value.hint


class Server:
    """A remote that answers as it is told to; what is around requests can be seen without one."""

    provider, model, host = "test", "test", "http://test"
    most_texts, most_tokens = 64, 10_000

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = 0

    def ask(self, texts, seconds, most):
        self.asked += 1
        answer = self.answers.pop(0) if self.answers else None
        if isinstance(answer, Exception):
            raise answer
        rows = HashedEmbedder(16).embed([text or "blank" for text in texts], "passage")
        return Reply(rows.tolist(), None if answer is None else answer)

    def loaded(self, seconds):
        return True

    def close(self):
        pass


def test_retry_after_is_waited_for_when_a_person_waits_for_just_this(store):
    server, slept = Server(Unreachable("busy", after=7.0)), []
    made = Client(server, spec(retries=3), store.usage, sleep=slept.append)

    with purpose(EMBED):
        made.embed(["a"], "passage")

    assert len(slept) == 1
    assert 7.0 <= slept[0] <= 7.0 * 1.25


def test_a_search_does_not_wait_for_retry_after(store):
    server, slept = Server(Unreachable("busy", after=7.0)), []
    made = Client(server, spec(retries=3, dimension=16), store.usage, sleep=slept.append)

    with pytest.raises(Unreachable):
        made.embed(["a"], "query")

    assert slept == []
    assert store.usage.circuit("http://test").until > datetime.now(UTC) + timedelta(seconds=50)


def test_waits_grow_and_end(store):
    server, slept = Server(*[Unreachable("down")] * 10), []
    made = Client(server, spec(retries=4), store.usage, sleep=slept.append)

    with purpose(REINDEX), pytest.raises(Unreachable):
        made.embed(["a"], "passage")

    assert server.asked == 5
    assert len(slept) == 4
    assert all(later > before for before, later in pairwise(slept))


# Left alone for a while ----------------------------------------------------------------


def test_a_dead_server_is_asked_once_and_then_left_alone_also_by_other_processes(provider, store, name):
    provider.down()
    for _ in range(3):  # each as another process would
        with closing(embedders(name, provider, store, dimensions=64)) as made, pytest.raises(Unreachable):
            made.configured().embed(["a"], "query")

    assert [line.calls for line in lines(store)] == [1]


def test_who_asks_for_just_this_is_let_through_and_opens_the_way_for_all(provider, store, name):
    with closing(embedders(name, provider, store)) as made:
        provider.down()
        with pytest.raises(Unreachable):
            made.configured().embed(["a"], "query")
        provider.up()
        with purpose(BACKFILL), pytest.raises(Unreachable, match="does not answer"):
            made.configured().embed(["a"], "passage")
        with purpose(EMBED):
            made.configured().embed(["a"], "passage")

        assert store.usage.circuit(made.configured().host) is None
        assert len(made.configured().embed(["b"], "query")) == 1


def test_an_answer_opens_the_way_for_all_also_where_it_shows_another_model(provider, store, name):
    with closing(embedders(name, provider, store)) as made:
        embedder = made.configured()
        store.generations.begin(space(embedder), datetime.now(UTC))
        made.keep_fingerprint()
        provider.down()
        with pytest.raises(Unreachable):
            embedder.embed(["a"], "query")
        provider.up()
        provider.weights[MODELS[name]] = "pulled again"

        with purpose(EMBED), pytest.raises(SpaceMismatch):
            embedder.embed(["a"], "passage")

        assert store.usage.circuit(embedder.host) is None


def test_when_its_time_is_over_a_server_is_asked_again(store):
    server = Server()
    store.usage.set_circuit(
        "http://test", OpenCircuit("http://test", datetime.now(UTC) - timedelta(seconds=1), "was down")
    )
    made = Client(server, spec(), store.usage)

    made.embed(["a"], "query")

    assert store.usage.circuit("http://test") is None


def test_without_a_pause_every_search_asks(store):
    server = Server(*[Unreachable("down")] * 3)
    made = Client(server, spec(retries=0, pause_seconds=0, dimension=16), store.usage)

    for _ in range(3):
        with pytest.raises(Unreachable):
            made.embed(["a"], "query")

    assert server.asked == 3


def test_a_server_that_is_left_alone_is_not_warm(provider, store):
    with closing(embedders("ollama", provider, store)) as made:
        embedder = made.configured()
        assert not embedder.warm  # nothing has loaded the model
        embedder.embed(["a"], "query")
        assert embedder.warm
        provider.down()
        assert not embedder.warm


# What it costs ---------------------------------------------------------------------------


def test_every_request_is_in_the_ledger_with_what_the_server_counted(provider, store, name):
    with closing(embedders(name, provider, store)) as made:
        made.configured().embed(["one two three"], "query")
        price = made.price

    [line] = lines(store)
    assert (line.provider, line.model, line.purpose) == (name, MODELS[name], "search")
    assert line.host.startswith(provider.url)
    assert (line.texts, line.error) == (2, "")  # one says where the space lies
    assert line.tokens == sum(len(text.split()) for text in provider.seen[-1].texts)
    assert line.bytes_out == sum(len(text.encode()) for text in provider.seen[-1].texts)
    assert line.cost == pytest.approx(line.tokens * price / 1_000_000)
    assert line.seconds > 0


def test_a_request_is_in_the_ledger_before_it_is_sent(provider, store, name):
    seen = []

    class Looking(Server):
        def ask(self, texts, seconds, most):
            seen.extend(store.usage.lines())
            return super().ask(texts, seconds, most)

    Client(Looking(), spec(dimension=16), store.usage).embed(["a secret"], "query")

    assert [(line.texts, line.error) for line in seen] == [(2, "no answer yet")]


def test_a_failed_request_is_in_the_ledger_with_its_error(made, provider, store):
    provider.always(Status(500))
    with pytest.raises(Unreachable):
        made.embed(["a"], "query")

    assert "500" in lines(store)[-1].error


def test_a_spent_budget_sends_nothing_more(provider, store, name):
    with closing(embedders(name, provider, store, daily_budget="2 calls")) as made:
        embedder = made.configured()
        embedder.embed(["a"], "query")
        embedder.embed(["b"], "query")
        provider.seen.clear()
        with pytest.raises(OverBudget, match="2 calls") as caught:
            embedder.embed(["c"], "query")

    assert provider.seen == []
    assert "embedding.daily_budget" in caught.value.hint


def test_a_budget_of_tokens_is_not_exceeded_by_the_estimate(store):
    made = Client(Server(), spec(dimension=16), store.usage, budget=Budget(tokens=40))
    made.embed(["a"], "query")

    with pytest.raises(OverBudget):
        made.embed(["word " * 60], "query")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Budget()),
        ("500 calls", Budget(calls=500)),
        ("1 call", Budget(calls=1)),
        ("200k tokens", Budget(tokens=200_000)),
        ("1.5M tokens, 20 calls", Budget(20, 1_500_000)),
        ("1_000 tokens", Budget(tokens=1000)),
    ],
)
def test_budgets_are_written_as_people_write_them(text, expected):
    assert budget(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("500", "5 dollars", "-1 calls", "many calls", "5 calls 6 tokens"),
        *("9" * 400 + " calls", "1e400 tokens", "9" * 40 + "m calls"),  # beyond all numbers
    ],
)
def test_what_is_no_budget_is_said_to_be_none(text):
    with pytest.raises(ValueError, match="not a budget"):
        budget(text)


# A second server -----------------------------------------------------------------------------


def test_the_second_server_answers_when_the_first_is_down_or_its_budget_is_spent(provider, store, name):
    with Provider() as second:
        urls = [one.url if name == "ollama" else f"{one.url}/v1" for one in (provider, second)]
        with closing(embedders(name, provider, store, **servers(*urls), daily_budget="1 calls")) as made:
            embedder = made.configured()
            first = embedder.embed(["a"], "query")
            again = embedder.embed(["a"], "query")
            provider.down()
            embedder.embed(["b"], "query")

    assert np.allclose(first, again)
    assert {line.host for line in lines(store)} == {embedder.host, embedder.fallback}


def test_a_second_server_with_another_model_under_the_same_name_is_not_believed(provider, store):
    with Provider() as second:
        second.weights["nomic-embed-text"] = "another"
        with closing(embedders("ollama", provider, store, **servers(provider.url, second.url))) as made:
            embedder = made.configured()
            embedder.embed(["a"], "passage")
            store.generations.begin(space(embedder), datetime.now(UTC))
            made.keep_fingerprint()
        provider.down()
        with (
            closing(embedders("ollama", provider, store, **servers(provider.url, second.url))) as made,
            pytest.raises(SpaceMismatch),
        ):
            made.configured().embed(["a"], "query")


def test_when_both_are_down_the_error_is_of_the_first(provider, store):
    with Provider() as second:
        provider.down()
        second.down()
        with (
            closing(embedders("ollama", provider, store, **servers(provider.url, second.url), dimensions=64)) as made,
            pytest.raises(Unreachable) as caught,
        ):
            made.configured().embed(["a"], "query")

    assert provider.url in str(caught.value)


# The space --------------------------------------------------------------------------------------


def test_a_model_that_was_exchanged_under_its_name_does_not_answer(provider, store, name):
    with closing(embedders(name, provider, store)) as made:
        embedder = made.configured()
        store.generations.begin(space(embedder), datetime.now(UTC))
        made.keep_fingerprint()
    provider.weights[MODELS[name]] = "pulled again"
    with closing(embedders(name, provider, store)) as made, pytest.raises(SpaceMismatch) as caught:
        made.configured().embed(["a"], "query")

    assert "memory reindex" in caught.value.hint


def test_a_model_whose_width_changed_is_a_dimension_mismatch(provider, store, name):
    with closing(embedders(name, provider, store)) as made:
        store.generations.begin(space(made.configured()), datetime.now(UTC))
    provider.models[MODELS[name]] = 48
    with closing(embedders(name, provider, store)) as made, pytest.raises(DimensionMismatch, match="48"):
        made.configured().embed(["a"], "query")


def test_the_width_of_stored_vectors_is_known_without_asking(provider, store, name):
    with closing(embedders(name, provider, store)) as made:
        store.generations.begin(space(made.configured()), datetime.now(UTC))
    provider.seen.clear()
    with closing(embedders(name, provider, store)) as made:
        assert made.answering()[1].dimension == provider.models[MODELS[name]]

    assert provider.seen == []


# What codes and URLs mean -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "said", "kind"),
    [
        (400, "the input length exceeds the context length", TooLong),
        (400, "Invalid 'input[0]': maximum input length is 8192 tokens.", TooLong),
        (400, "This model's maximum context length is 8192 tokens", TooLong),
        (413, "", TooLong),
        (400, "bad text", Unfit),
        (422, "", Unfit),
        (401, "", Refused),
        (404, "", Refused),
        (429, "You exceeded your current quota", Refused),
        (429, "slow down", Unreachable),
        (503, "", Unreachable),
    ],
)
def test_codes_say_whether_asking_again_helps(status, said, kind):
    assert type(failure(status, said, host="h", headers={}, hint="")) is kind


def test_retry_after_is_seconds_or_a_date():
    later = (datetime.now(UTC) + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")

    def after(header):
        return failure(429, "", host="h", headers={"retry-after": header}, hint="").after

    assert after("2.5") == 2.5
    assert 80 < after(later) < 91
    assert after("soon") is None
    assert after("Sat, 01 Jan 2000 00:00:00 GMT") == 0


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:11434"),
        ("gpu-box:8000", "http://gpu-box:8000"),
        ("https://me:secret@example.org/v1/?a=b", "https://example.org/v1"),
        ("http://[::1]:9", "http://[::1]:9"),
    ],
)
def test_a_url_is_shown_without_its_secrets(url, expected):
    assert safe_url(url, "embedding.x", port=11434) == expected


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://x:notaport", "http://[::1"])
def test_what_is_no_url_is_refused_with_the_setting(url):
    with pytest.raises(Refused) as caught:
        safe_url(url, "embedding.base_url")
    assert "embedding.base_url" in caught.value.hint


# What does not leave ------------------------------------------------------------------------------------


@pytest.mark.parametrize("chosen", ["local", "hashed"])
def test_a_local_model_opens_no_socket_and_its_ledger_says_0_bytes(monkeypatch, chosen):
    from memory.config.settings import EmbeddingSettings
    from memory.vectors.registry import Embedders

    def no_sockets(*_args, **_more):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_sockets)
    monkeypatch.setattr(socket, "create_connection", no_sockets)
    store = RamStore()
    made = Embedders(EmbeddingSettings(provider=chosen), store)
    made.configured().embed(["a secret"], "passage")
    made.vectors(made.configured(), ["a question"], "query")
    made.close()

    [*said] = store.usage.lines()
    assert sum(line.texts for line in said) == 2
    assert {(line.host, line.bytes_out, line.cost) for line in said} == {("", 0, 0.0)}


def test_ollamas_host_comes_from_the_setting_then_the_environment_then_is_here(monkeypatch):
    from memory.vectors.providers.servers import Ollama

    monkeypatch.setenv("OLLAMA_HOST", "0.0.0.0:9999")
    assert Ollama(spec(base_url="gpu-box")).host == "http://gpu-box:11434"
    assert Ollama(spec()).host == "http://127.0.0.1:9999"
    monkeypatch.delenv("OLLAMA_HOST")
    assert Ollama(spec()).host == "http://127.0.0.1:11434"


def test_an_error_of_the_ledger_sends_nothing(provider):
    from memory.schema.errors import StoreBusy

    class Locked(RamUsage):
        def reserve_call(self, call, budget=None):
            raise StoreBusy("locked")

    server = Server()
    with pytest.raises(EmbedError, match="usage log"):
        Client(server, spec(dimension=16), Locked()).embed(["a"], "query")
    assert server.asked == 0

"""
The provider of the tests, held against the official clients.

What they accept from it and raise because of it, they would of the real ones. Its faults: test_provider_faults.py.
"""

from __future__ import annotations

import base64
import math
import threading
from array import array

import pytest
from provider import Provider

from faults import recorded

ollama = pytest.importorskip("ollama")
openai = pytest.importorskip("openai")
httpx = pytest.importorskip("httpx")  # comes with ollama


SMALL = "text-embedding-3-small"
CAT, DOG = "the cat sleeps on the warm roof", "invoices are due in March"


def cosine(one, two) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True)) / math.hypot(*one) / math.hypot(*two)


def rows(answer) -> list[list[float]]:
    return [item.embedding for item in answer.data]


def test_equal_texts_have_equal_vectors_in_any_company(local):
    alone = local.embed("nomic-embed-text", CAT).embeddings[0]
    among = local.embed("nomic-embed-text", [DOG, CAT, ""]).embeddings[1]

    assert alone == among
    assert len(alone) == 768


def test_texts_that_share_words_are_closer_than_others(local):
    cat, same, dog = local.embed("all-minilm", [CAT, "a cat on a roof", DOG]).embeddings

    assert cosine(cat, same) > cosine(cat, dog) + 0.2


@pytest.mark.parametrize("text", [CAT, "a", "", "猫"])
def test_two_models_of_one_width_disagree_on_every_text(provider, text):
    provider.models["other"] = 768

    one, two = provider.vectors("nomic-embed-text", [text])[0], provider.vectors("other", [text])[0]

    assert abs(cosine(one, two)) < 0.3


def test_other_weights_under_the_same_name_change_vectors_and_digest(provider, local):
    before, known = local.embed("all-minilm", CAT).embeddings[0], local.ps().models[0].digest
    provider.weights["all-minilm"] = "a later upload"
    after = local.embed("all-minilm", CAT).embeddings[0]

    assert abs(cosine(before, after)) < 0.3
    assert local.ps().models[0].digest != known


def test_a_width_changes_at_run_time(provider, local):
    provider.models["nomic-embed-text"] = 384

    assert len(local.embed("nomic-embed-text", CAT).embeddings[0]) == 384


def test_ollamas_vectors_have_length_one_also_when_shortened(local):
    whole = local.embed("nomic-embed-text", CAT).embeddings[0]
    short = local.embed("nomic-embed-text", CAT, dimensions=64).embeddings[0]

    assert math.hypot(*whole) == pytest.approx(1)
    assert math.hypot(*short) == pytest.approx(1)
    assert short == pytest.approx([number / math.hypot(*whole[:64]) for number in whole[:64]])


def test_answers_have_the_recorded_fields(provider, local, remote):
    local.embed("all-minilm", CAT)
    answers = recorded("ollama")["answers"]

    def fields(shape):
        return set(answers[shape]["body"])

    raw = httpx.post(f"{provider.url}/api/embed", json={"model": "all-minilm", "input": CAT}).json()
    assert set(raw) == fields("embed")
    for path, shape in (("tags", "tags"), ("ps", "ps"), ("version", "version")):
        assert set(httpx.get(f"{provider.url}/api/{path}").json()) == fields(shape)
    raw = remote.embeddings.with_raw_response.create(model=SMALL, input=CAT).http_response.json()
    like = recorded("openai")["answers"]["embeddings"]["body"]
    assert set(raw) == set(like)
    assert set(raw["data"][0]) == set(like["data"][0])
    assert set(raw["usage"]) == set(like["usage"])


@pytest.mark.parametrize("nothing", ["", []])
def test_ollama_gives_no_vector_for_nothing_and_loads_the_model(provider, local, nothing):
    assert local.embed("all-minilm", nothing).embeddings == []
    assert provider.loaded == {"all-minilm"}


def test_ollama_lists_what_embedding_loaded_and_keep_alive_0_unloads(local):
    assert local.ps().models == []

    local.embed("all-minilm:latest", CAT)
    assert [model.name for model in local.ps().models] == ["all-minilm:latest"]

    local.embed("all-minilm", CAT, keep_alive=0)
    assert local.ps().models == []


def test_ollama_lists_and_shows_its_models(provider, local):
    provider.context["all-minilm"] = 256

    assert {model.model for model in local.list().models} == {f"{name}:latest" for name in provider.models}
    shown = local.show("all-minilm")
    assert shown.modelinfo["bert.context_length"] == 256
    assert shown.modelinfo["bert.embedding_length"] == 384
    assert shown.capabilities == ["embedding"]


def test_ollama_does_not_know_every_model(local):
    with pytest.raises(ollama.ResponseError, match='model "x" not found, try pulling it first') as refusal:
        local.embed("x", CAT)

    assert refusal.value.status_code == 404
    with pytest.raises(ollama.ResponseError, match="model 'x' not found"):
        local.show("x")


def test_ollama_cuts_a_long_text_unless_told_not_to(provider, local):
    provider.context["all-minilm"] = 3
    cut = local.embed("all-minilm", CAT)

    assert cut.embeddings == local.embed("all-minilm", "the cat sleeps").embeddings
    assert cut.prompt_eval_count == 3
    with pytest.raises(ollama.ResponseError, match="the input length exceeds the context length") as refusal:
        local.embed("all-minilm", [DOG, CAT], truncate=False)
    assert refusal.value.status_code == 400
    provider.truncates = False
    with pytest.raises(ollama.ResponseError, match="context length"):
        local.embed("all-minilm", CAT)


@pytest.mark.parametrize(
    ("sent", "said"),
    [(b"", "missing request body"), (b"nope", "invalid character"), (b'{"model":"all-minilm","input":[1]}', "type")],
)
def test_ollama_refuses_what_is_no_request(provider, sent, said):
    answer = httpx.post(f"{provider.url}/api/embed", content=sent)

    assert answer.status_code == 400
    assert said in answer.json()["error"]


@pytest.mark.parametrize("form", [openai.NOT_GIVEN, "float", "base64"])
def test_openai_answers_in_both_encodings(provider, remote, form):
    data = remote.embeddings.create(model=SMALL, input=[CAT, DOG], encoding_format=form).data
    expected = provider.vectors(SMALL, [CAT, DOG])

    assert [item.index for item in data] == [0, 1]
    for item, vector in zip(data, expected, strict=True):
        assert isinstance(item.embedding, str) == (form == "base64")
        read = array("f", base64.b64decode(item.embedding)).tolist() if form == "base64" else item.embedding
        assert read == vector


def test_openai_counts_and_names_the_model(remote):
    answer = remote.embeddings.create(model=SMALL, input=CAT)

    assert answer.model == SMALL
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == 7


def test_openai_shortens_and_scales(provider, remote):
    provider.scale = 2.5
    short = rows(remote.embeddings.create(model=SMALL, input=CAT, dimensions=256))[0]

    assert len(short) == 256
    assert math.hypot(*short) == pytest.approx(2.5)
    with pytest.raises(openai.BadRequestError, match="less than or equal to 1536"):
        remote.embeddings.create(model=SMALL, input=CAT, dimensions=1537)


def test_openai_shows_a_part_of_a_wrong_key(provider, remote):
    with pytest.raises(openai.AuthenticationError, match=r"sk-wrong\*+7890") as refusal:
        remote.with_options(api_key="sk-wrong-secret-567890").embeddings.create(model=SMALL, input=CAT)

    assert refusal.value.code == "invalid_api_key"
    assert "secret" not in str(refusal.value)
    provider.key = None
    assert remote.with_options(api_key="anything").embeddings.create(model=SMALL, input=CAT).data
    provider.key = "sk-test"
    assert httpx.post(f"{provider.url}/v1/embeddings", json={}).status_code == 401


def test_openai_does_not_know_every_model(remote):
    with pytest.raises(openai.NotFoundError) as refusal:
        remote.embeddings.create(model="x", input=CAT)

    assert refusal.value.code == "model_not_found"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("", "input' is invalid"),
        ([CAT, ""], "input' is invalid"),
        ([], "input' is invalid"),
        (["a"] * 2049, "array length must be 2048 or less"),
        ("a " * 8193, "maximum context length is 8192 tokens, however you requested 8193 tokens"),
        ([CAT, "a " * 8193], r"input\[1\]': maximum input length is 8192 tokens"),
        (["a " * 8000] * 38, "Requested 304000 tokens, max 300000 tokens per request"),
    ],
)
def test_openai_refuses_what_is_empty_or_too_big(remote, given, said):
    with pytest.raises(openai.BadRequestError, match=said):
        remote.embeddings.create(model=SMALL, input=given)


def test_openai_takes_as_much_as_it_says(remote):
    assert len(remote.embeddings.create(model=SMALL, input=["a"] * 2048, dimensions=8).data) == 2048
    assert remote.embeddings.create(model=SMALL, input=["a " * 8192]).data


def test_a_dead_provider_comes_back_on_the_same_port(provider, local):
    local.embed("all-minilm", CAT)
    url = provider.url

    provider.down()
    for _ in range(3):
        with pytest.raises((ConnectionError, httpx.TransportError)):
            local.embed("all-minilm", CAT)
    provider.up()

    assert provider.url == url
    assert local.embed("all-minilm", CAT).embeddings


def test_it_remembers_what_it_saw(provider, remote, local):
    remote.embeddings.create(model=SMALL, input=[CAT, "ü"])
    local.ps()
    asked, listed = provider.seen

    assert asked.path == "/v1/embeddings"
    assert asked.texts == [CAT, "ü"]
    assert asked.body["model"] == SMALL
    assert asked.headers["authorization"] == "Bearer sk-test"
    assert asked.size == int(asked.headers["content-length"])
    assert (listed.path, listed.body, listed.texts) == ("/api/ps", None, [])


def test_many_clients_at_once_lose_nothing(provider):
    def ask(number):
        with httpx.Client() as client:
            for turn in range(10):
                body = {"model": "all-minilm", "input": f"{number} {turn}"}
                assert client.post(f"{provider.url}/api/embed", json=body).status_code == 200

    clients = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()

    assert {text for seen in provider.seen for text in seen.texts} == {f"{n} {t}" for n in range(8) for t in range(10)}


def test_an_error_of_the_server_itself_is_raised_when_it_closes():
    provider = Provider({"broken": 0})  # a model without a width
    with pytest.raises(httpx.TransportError):
        httpx.post(f"{provider.url}/api/embed", json={"model": "broken", "input": CAT})

    with pytest.raises(ValueError, match="0 dimensions"):
        provider.close()


@pytest.mark.parametrize("protocol", ["ollama", "openai"])
def test_every_recorded_shape_says_where_it_is_from(protocol):
    record = recorded(protocol)

    assert {"recorded", "server", "how", "sources"} <= set(record)
    assert all(shape["source"] for part in ("answers", "errors") for shape in record[part].values())

"""What the official clients of Ollama and OpenAI make of each fault that the provider of the tests can have."""

from __future__ import annotations

import json
import math
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from faults import (
    HalfBody,
    Hang,
    Huge,
    NotANumber,
    NotJson,
    OtherModel,
    Refuses,
    Shuffled,
    Slow,
    Status,
    TooFew,
    TooMany,
    UnevenWidths,
    WrongWidth,
    Zeros,
    over_quota,
    rate_limited,
)

ollama = pytest.importorskip("ollama")
openai = pytest.importorskip("openai")
httpx = pytest.importorskip("httpx")  # comes with ollama


SMALL = "text-embedding-3-small"
CAT, DOG = "the cat sleeps on the warm roof", "invoices are due in March"


def rows(answer) -> list[list[float]]:
    return [item.embedding for item in answer.data]


def test_a_fault_comes_once_and_another_always(provider, local):
    provider.then(Status(500), None, Status(503))
    provider.always(Status(429))
    outcomes = []
    for _ in range(5):
        try:
            outcomes.append(len(local.embed("all-minilm", CAT).embeddings))
        except ollama.ResponseError as refusal:
            outcomes.append(refusal.status_code)
    provider.always(None)

    assert outcomes == [500, 1, 503, 429, 429]
    assert local.embed("all-minilm", CAT).embeddings


def test_faults_are_for_embedding_alone(provider, local):
    provider.always(Status(500))

    assert local.ps().models == []
    assert local.list().models


def test_openais_client_waits_as_retry_after_says_and_tries_again(provider, remote):
    provider.then(rate_limited("0.01"))

    assert remote.with_options(max_retries=1).embeddings.create(model=SMALL, input=CAT).data
    assert len(provider.seen) == 2


def test_openai_has_two_kinds_of_429(provider, remote):
    provider.then(rate_limited("Wed, 21 Oct 2026 07:28:00 GMT"), over_quota(), Status(429))
    refusals = []
    for _ in range(3):
        with pytest.raises(openai.RateLimitError) as refusal:
            remote.embeddings.create(model=SMALL, input=CAT)
        refusals.append(refusal.value)

    assert [one.code for one in refusals] == ["rate_limit_exceeded", "insufficient_quota", "rate_limit_exceeded"]
    assert refusals[0].response.headers["retry-after"] == "Wed, 21 Oct 2026 07:28:00 GMT"


def test_a_status_says_what_it_is_given(provider, local, remote):
    provider.then(Status(500, {"error": "out of memory"}), Status(502, "<h1>Bad gateway</h1>"), Status(500))

    with pytest.raises(ollama.ResponseError, match="out of memory"):
        local.embed("all-minilm", CAT)
    with pytest.raises(ollama.ResponseError, match="Bad gateway"):
        local.embed("all-minilm", CAT)
    with pytest.raises(openai.InternalServerError):
        remote.embeddings.create(model=SMALL, input=CAT)


def test_a_hanging_provider_runs_into_the_time_limit_of_the_client(provider, remote):
    provider.always(Hang(600))
    impatient = httpx.Timeout(60, read=0.1)  # for the answer alone: a slow machine takes its time to connect

    with pytest.raises(openai.APITimeoutError):
        remote.with_options(timeout=impatient).embeddings.create(model=SMALL, input=CAT)
    with closing(ollama.Client(provider.url, timeout=impatient)) as client, pytest.raises(httpx.ReadTimeout):
        client.embed("all-minilm", CAT)


def test_a_hanging_provider_hangs_up_when_its_time_is_over(provider, local):
    provider.then(Hang(0))

    with pytest.raises(httpx.RemoteProtocolError):
        local.embed("all-minilm", CAT)


@pytest.mark.parametrize("fault", [Hang(600), Slow(600)])
def test_a_waiting_answer_ends_with_the_provider(provider, fault):
    provider.always(fault)
    ends: list[Exception] = []

    def ask():
        with closing(ollama.Client(provider.url, timeout=500)) as client:
            try:
                client.embed("all-minilm", CAT)
            except httpx.TransportError as error:
                ends.append(error)

    client = threading.Thread(target=ask)
    client.start()
    provider.wait(1)
    provider.down()
    client.join(60)
    answers = [thread for thread in threading.enumerate() if "process_request_thread" in thread.name]
    for thread in answers:
        thread.join(60)

    assert len(ends) == 1
    assert not any(thread.is_alive() for thread in answers)


def test_a_hanging_answer_keeps_no_process_from_ending(tmp_path):
    script = tmp_path / "hangs.py"
    script.write_text(
        "import socket\n"
        "from provider import Provider\n"
        "from faults import Hang\n"
        "provider = Provider()\n"
        "provider.always(Hang(600))\n"
        "client = socket.create_connection(('127.0.0.1', int(provider.url.rpartition(':')[2])))\n"
        "client.sendall(b'POST /api/embed HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n{}')\n"
        "provider.wait(1)\n"
        "print('asked')\n"
    )
    tests = str(Path(__file__).parents[2] / "support")

    ended = subprocess.run(
        [sys.executable, script], env={"PYTHONPATH": tests}, capture_output=True, timeout=60, check=False
    )

    assert (ended.returncode, ended.stdout.strip()) == (0, b"asked")


def test_a_slow_answer_is_right(provider, local):
    provider.then(Slow(0.05))

    assert local.embed("all-minilm", CAT).embeddings == provider.vectors("all-minilm", [CAT])


def test_half_an_answer_is_none(provider, local, remote):
    provider.then(HalfBody(), HalfBody())

    with pytest.raises(httpx.RemoteProtocolError):
        local.embed("all-minilm", CAT)
    with pytest.raises(openai.APIConnectionError):
        remote.embeddings.create(model=SMALL, input=CAT)


def test_a_page_for_people_is_no_json(provider, local, remote):
    provider.then(NotJson(), NotJson("application/json"), NotJson())

    with pytest.raises(json.JSONDecodeError):
        local.embed("all-minilm", CAT)
    with pytest.raises(json.JSONDecodeError):
        remote.embeddings.create(model=SMALL, input=CAT)
    page = remote.embeddings.create(model=SMALL, input=CAT, encoding_format="float")
    assert "sign in" in page  # OpenAI's client hands over what says it is no JSON


def test_a_huge_answer_holds_no_embedding(provider, local):
    provider.then(Huge())

    with pytest.raises(ValueError, match="embeddings"):  # pydantic's ValidationError
        local.embed("all-minilm", CAT)


WIDTHS = {
    WrongWidth(-4): [380, 380],
    WrongWidth(16): [400, 400],
    UnevenWidths(): [384, 383],
    TooFew(): [384],
    TooMany(): [384, 384, 384],
}


@pytest.mark.parametrize(("fault", "widths"), WIDTHS.items())
def test_vectors_of_the_wrong_number_or_width_pass_both_clients(provider, local, remote, fault, widths):
    provider.always(fault)

    assert [len(row) for row in local.embed("all-minilm", [CAT, DOG]).embeddings] == widths
    assert [len(row) for row in rows(remote.embeddings.create(model="all-minilm", input=[CAT, DOG]))] == widths


def test_what_is_not_a_number_reaches_the_client_as_the_server_wrote_it(provider, local, remote):
    provider.then(NotANumber(), NotANumber(), NotANumber(math.inf), NotANumber(None), NotANumber(None))

    assert math.isnan(local.embed("all-minilm", CAT).embeddings[0][0])
    assert math.isnan(rows(remote.embeddings.create(model=SMALL, input=CAT))[0][0])
    assert rows(remote.embeddings.create(model=SMALL, input=CAT))[0][0] == math.inf
    assert rows(remote.embeddings.create(model=SMALL, input=CAT))[0][0] is None  # it checks no types
    with pytest.raises(ValueError, match="valid number"):
        local.embed("all-minilm", CAT)


def test_zeros_are_zeros(provider, local):
    provider.then(Zeros())

    assert set(local.embed("all-minilm", CAT).embeddings[0]) == {0.0}


def test_another_model_answers_in_its_own_name(provider, local):
    provider.models["other"] = 768
    provider.then(OtherModel("other"), OtherModel("unheard-of"))
    answer = local.embed("nomic-embed-text", CAT)

    assert answer.model == "other"
    assert answer.embeddings == provider.vectors("other", [CAT])
    assert len(local.embed("nomic-embed-text", CAT).embeddings[0]) == 768


def test_shuffled_vectors_carry_their_index(provider, remote):
    provider.then(Shuffled())
    data = remote.embeddings.create(model=SMALL, input=[CAT, DOG, "x"]).data

    assert [item.index for item in data] == [2, 1, 0]
    ordered = sorted(data, key=lambda item: item.index)
    assert [item.embedding for item in ordered] == provider.vectors(SMALL, [CAT, DOG, "x"])


def test_a_poisonous_text_spoils_only_the_requests_that_have_it(provider, local, remote):
    provider.always(Refuses("invoices"))

    assert local.embed("all-minilm", [CAT, "x"]).embeddings
    for _ in range(2):
        with pytest.raises(ollama.ResponseError, match="NaN") as refusal:
            local.embed("all-minilm", [CAT, DOG])
        assert refusal.value.status_code == 400
    with pytest.raises(openai.BadRequestError):
        remote.embeddings.create(model=SMALL, input=[CAT, DOG])

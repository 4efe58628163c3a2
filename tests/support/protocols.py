"""What Ollama and OpenAI say to a request, as functions from request to reply."""

from __future__ import annotations

import base64
import sys
from functools import lru_cache
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from faults import OtherModel, Shuffled, recorded, refused, spoiled, written
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from provider import Provider

    from faults import Fault, Reply

INPUTS = 2048  # OpenAI: texts in one request
TOKENS = 8192  # OpenAI: tokens in one text; a word counts as one here


class Seen(NamedTuple):
    """
    A request as it arrived.

    Attributes:
        body: The parsed JSON, None if there is none or it is broken.
        headers: Names in lower case.
        size: Bytes of the body.
    """

    path: str
    body: Any
    headers: Mapping[str, str]
    size: int

    @property
    def texts(self) -> list[str]:
        """What it asks to embed; empty for any other request."""
        given = self.body.get("input") if isinstance(self.body, dict) else None
        texts = given if isinstance(given, list) else [given]
        return [text for text in texts if isinstance(text, str)]


@lru_cache(maxsize=32)
def _order(weights: str, width: int) -> np.ndarray:
    seed = int.from_bytes(blake2b(weights.encode(), digest_size=8).digest(), "big")
    return np.random.default_rng(seed).permutation(width)


def vectors(texts: Sequence[str], weights: str, width: int, dimensions: int | None) -> list[list[float]]:
    """
    One vector of length 1 a text, the same in any company.

    Args:
        weights: Other weights, other vectors; similar texts are as close in one as in the other.
        dimensions: How many numbers of each to keep.
    """
    order = _order(weights, width)
    rows = []
    for row in HashedEmbedder(width).embed(texts, "passage").astype(np.float64):
        # A Hartley transform keeps every angle and spreads the numbers, so a shortened vector still has a direction.
        waves = np.fft.fft(row[order], norm="ortho")
        vector = (waves.real - waves.imag)[:dimensions]
        rows.append((vector / np.linalg.norm(vector)).astype(np.float32).tolist())
    return rows


def _words(text: str) -> int:
    return len(text.split())


def ollama_embed(provider: Provider, seen: Seen, fault: Fault | None) -> Reply:
    """
    POST /api/embed, as EmbedHandler of https://github.com/ollama/ollama/blob/main/server/routes.go has it.

    No input, an empty list and "" load the model and give no vector; "" in a list has a vector.
    """
    body, texts = seen.body, seen.texts
    if not isinstance(body, dict):
        return refused("ollama", "bad_json" if seen.size else "no_body")
    match body.get("input"):
        case None | str():
            texts = [text for text in texts if text]
        case list() as given if len(given) == len(texts):
            pass
        case _:
            return refused("ollama", "wrong_type")
    asked = body.get("model", "")
    name = asked.removesuffix(":latest")
    if name not in provider.models:
        return refused("ollama", "not_found", model=asked)
    (provider.loaded.discard if body.get("keep_alive") in {0, "0", "0s"} else provider.loaded.add)(name)
    if not texts:
        return written({"model": asked, "embeddings": []})
    limit = min(provider.context.get(name, sys.maxsize), (body.get("options") or {}).get("num_ctx", sys.maxsize))
    if any(_words(text) > limit for text in texts):
        if not provider.truncates or body.get("truncate") is False:
            return refused("ollama", "too_long")
        texts = [" ".join(text.split()[:limit]) if _words(text) > limit else text for text in texts]
    model, rows = _embedded(provider, fault, asked, texts, body.get("dimensions") or None)
    counts = {"total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": sum(map(_words, texts))}
    return written({"model": model, "embeddings": rows, **counts})


def _embedded(
    provider: Provider, fault: Fault | None, model: str, texts: list[str], dimensions: int | None
) -> tuple[str, list[list[Any]]]:
    """Who says it made the vectors, and they."""
    if isinstance(fault, OtherModel):
        width = provider.models.get(fault.name, provider.models[model.removesuffix(":latest")])
        weights = provider.weights.get(fault.name, fault.name)
        return fault.name, vectors(texts, weights, width, dimensions)
    return model, spoiled(fault, provider.vectors(model, texts, dimensions))


def listed(provider: Provider, shape: str, names: Sequence[str]) -> Reply:
    """Models in the shape of /api/ps or /api/tags. The digest changes with the weights."""
    like = recorded("ollama")["answers"][shape]["body"]["models"][0]
    models = []
    for name in names:
        tagged = f"{name}:latest"
        made_of = f"{provider.weights.get(name, name)} {provider.models[name]}"
        model = {**like, "name": tagged, "model": tagged, "digest": sha256(made_of.encode()).hexdigest()}
        models.append(model | ({"context_length": provider.context.get(name, 2048)} if shape == "ps" else {}))
    return written({"models": models})


def shown(provider: Provider, seen: Seen) -> Reply:
    asked = str(seen.body.get("model", "")) if isinstance(seen.body, dict) else ""
    name = asked.removesuffix(":latest")
    if name not in provider.models:
        return refused("ollama", "not_shown", model=asked)
    lengths = {
        "bert.context_length": provider.context.get(name, 2048),
        "bert.embedding_length": provider.models[name],
    }
    like = recorded("ollama")["answers"]["show"]["body"]
    return written({**like, "model_info": {**like["model_info"], **lengths}})


def openai_embed(provider: Provider, seen: Seen, fault: Fault | None) -> Reply:
    """POST /v1/embeddings, see https://developers.openai.com/api/reference/resources/embeddings."""
    no = _unfit(provider, seen)
    if no is not None:
        return no
    model, texts = seen.body["model"], seen.texts
    said, rows = _embedded(provider, fault, model, texts, seen.body.get("dimensions"))
    rows = [[value and value * provider.scale for value in row] for row in rows]
    packed = seen.body.get("encoding_format") == "base64" and all(None not in row for row in rows)
    data = [
        {"object": "embedding", "index": index, "embedding": _packed(row) if packed else row}
        for index, row in enumerate(rows)
    ]
    count = sum(map(_words, texts))
    usage = {"prompt_tokens": count, "total_tokens": count}
    ordered = data[::-1] if isinstance(fault, Shuffled) else data
    return written({"object": "list", "data": ordered, "model": said, "usage": usage})


def _unfit(provider: Provider, seen: Seen) -> Reply | None:
    """Why OpenAI does not take a request, in the order of a gate: key, form, model, sizes."""
    kind, _, key = seen.headers.get("authorization", "").partition(" ")
    if provider.key is not None and (kind != "Bearer" or not key):
        return refused("openai", "no_key")
    if provider.key not in {None, key}:
        shown = key if len(key) <= 12 else f"{key[:8]}{'*' * (len(key) - 12)}{key[-4:]}"
        return refused("openai", "wrong_key", key=shown)
    if not isinstance(seen.body, dict):
        return refused("openai", "bad_json")
    if seen.body.get("model") not in provider.models:
        return refused("openai", "not_found", model=seen.body.get("model", ""))
    given, texts = seen.body.get("input"), seen.texts
    # The real one also takes lists of tokens; nothing here sends them.
    if not texts or not all(texts) or len(texts) < (len(given) if isinstance(given, list) else 1):
        return refused("openai", "bad_input")
    return _too_big(provider, seen.body, texts)


def _too_big(provider: Provider, body: Mapping[str, Any], texts: list[str]) -> Reply | None:
    model, dimensions = body["model"], body.get("dimensions")
    if len(texts) > INPUTS:
        return refused("openai", "too_many")
    limit = provider.context.get(model, TOKENS)
    for index, count in enumerate(map(_words, texts)):
        if count > limit:
            # Reports of 2026 have the wording with an index; that a text alone still gets the older one is believed.
            name = "too_long_in_list" if isinstance(body["input"], list) else "too_long"
            return refused("openai", name, index=index, tokens=count, limit=limit)
    total = sum(map(_words, texts))
    if total > provider.request_tokens:
        return refused("openai", "too_much", tokens=total, limit=provider.request_tokens)
    if dimensions is not None and model.endswith("ada-002"):
        return refused("openai", "no_dimensions")
    if dimensions is not None and not 1 <= dimensions <= provider.models[model]:
        return refused("openai", "too_wide", dimensions=dimensions, width=provider.models[model])
    return None


def _packed(vector: list[float]) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()

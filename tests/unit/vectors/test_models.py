"""What is known of embedding models, by every way to write their names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memory.text.tokens import estimated
from memory.vectors.models import _MODELS, ModelProfile, profile

INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
SEARCHING = "Represent this sentence for searching relevant passages: "
VOYAGE = ("Represent the query for retrieving supporting documents: ", "Represent the document for retrieval: ")

NAMES = {
    "nomic-embed-text": ModelProfile("search_query: ", "search_document: ", 2048),
    "nomic-ai/nomic-embed-text-v1.5": ModelProfile("search_query: ", "search_document: ", 2048),
    "hf.co/nomic-ai/nomic-embed-text-v2-moe-GGUF:Q4_K_M": ModelProfile("search_query: ", "search_document: ", 512),
    "intfloat/multilingual-e5-small": ModelProfile("query: ", "passage: "),
    "intfloat/e5-large-v2": ModelProfile("query: ", "passage: "),
    "multilingual-e5-large-instruct": ModelProfile(f"{INSTRUCT} "),
    "e5-mistral-7b-instruct": ModelProfile(f"{INSTRUCT} ", "", 4096),
    "BAAI/bge-m3": ModelProfile(tokens=2048),
    "bge-large:335m": ModelProfile(SEARCHING),
    "/home/me/models/bge-small-en-v1.5": ModelProfile(SEARCHING),
    "BAAI/bge-small-zh-v1.5": ModelProfile("为这个句子生成表示以用于检索相关文章："),
    "BAAI/bge-large-zh-noinstruct": ModelProfile(),
    "mxbai-embed-large": ModelProfile(SEARCHING),
    "mixedbread-ai/mxbai-embed-large-v1": ModelProfile(SEARCHING),
    "snowflake-arctic-embed:33m": ModelProfile(SEARCHING),
    "Snowflake/snowflake-arctic-embed-m-v1.5": ModelProfile(SEARCHING),
    "Snowflake/snowflake-arctic-embed-m-long": ModelProfile(SEARCHING, "", 2048),
    "snowflake-arctic-embed2": ModelProfile("query: ", "", 2048),
    "Snowflake/snowflake-arctic-embed-l-v2.0": ModelProfile("query: ", "", 2048),
    "all-minilm": ModelProfile(tokens=256),
    "all-MiniLM-L6-v2": ModelProfile(tokens=256),
    "sentence-transformers/all-MiniLM-L12-v2": ModelProfile(tokens=128),
    "all-mpnet-base-v2": ModelProfile(tokens=384),
    "paraphrase-multilingual": ModelProfile(tokens=128),
    "granite-embedding:278m": ModelProfile(),
    "embeddinggemma": ModelProfile("task: search result | query: ", "title: none | text: ", 2048),
    "google/embeddinggemma-300m": ModelProfile("task: search result | query: ", "title: none | text: ", 2048),
    "qwen3-embedding:0.6b": ModelProfile(INSTRUCT, "", 4096),
    "Qwen/Qwen3-Embedding-0.6B": ModelProfile(INSTRUCT, "", 4096),
    "thenlper/gte-small": ModelProfile(),
    "Alibaba-NLP/gte-large-en-v1.5": ModelProfile(tokens=8192),
    "jinaai/jina-embeddings-v2-base-en": ModelProfile(tokens=2048),
    "text-embedding-3-small": ModelProfile(tokens=8191, price=0.02),
    "text-embedding-3-large": ModelProfile(tokens=8191, price=0.13),
    "openai/text-embedding-ada-002": ModelProfile(tokens=8191, price=0.10),
    "mistral-embed": ModelProfile(tokens=8000, price=0.10),
    "voyage-4": ModelProfile(*VOYAGE, 32_000, 0.06),
    "voyage-4-large": ModelProfile(*VOYAGE, 32_000, 0.12),
    "voyage-3.5-lite": ModelProfile(*VOYAGE, 32_000, 0.02),
    "voyage-3-large": ModelProfile(*VOYAGE, 32_000, 0.18),
    "voyage-law-2": ModelProfile(*VOYAGE, 16_000, 0.12),
}


@pytest.mark.parametrize(("model", "expected"), NAMES.items())
def test_a_model_is_known_by_its_name(model: str, expected: ModelProfile) -> None:
    assert profile(model) == expected


@pytest.mark.parametrize(
    "model",
    [
        "nomic-embed-text:latest",
        "NOMIC-EMBED-TEXT",
        " nomic-embed-text ",
        "C:\\models\\nomic-embed-text",
        "/models/nomic-embed-text/",
        "localhost:5000/me/nomic-embed-text:v1.5",
        "my_nomic-embed-text.gguf",
    ],
)
def test_tag_folder_case_and_file_ending_make_no_difference(model: str) -> None:
    assert profile(model) == profile("nomic-embed-text")


@pytest.mark.parametrize(
    "model",
    [
        "",
        "/",
        ":",
        "my-e5x",
        "e5",
        "bge",
        "bge-m30",
        "abge-m3",
        "bge-m3/mine",
        "mine:bge-m3",
        "gte-qwen2",
        "voyage-4-nano",
    ],
)
def test_a_name_that_only_looks_like_one_is_unknown(model: str) -> None:
    assert profile(model) == ModelProfile("", "", 512, 0.0)


def test_every_entry_can_be_reached() -> None:
    reached = {id(found) for found in map(profile, [*NAMES, *MORE])}

    assert [pattern for pattern, found in _MODELS if id(found) not in reached] == []


def test_a_prefix_leaves_room_for_text() -> None:
    assert all(estimated(found.query_prefix) < found.tokens // 8 for _, found in _MODELS)
    assert all(estimated(found.passage_prefix) < found.tokens // 8 for _, found in _MODELS)


@pytest.mark.parametrize(
    "modules", ["memory.vectors.models, memory.text.tokens", "memory.vectors.client, memory.vectors.providers.servers"]
)
def test_knowing_models_loads_nothing_heavy(modules: str) -> None:
    """Nor does a server's client before it is asked: what is saved may wait for its vectors."""
    script = f"import sys, {modules}; print(*{{'numpy', 'logging', 'httpx'}} & {{*sys.modules}})"

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout == "\n"


MORE = ["voyage-finance-2", "paraphrase-MiniLM-L6-v2", "distiluse-base-multilingual-cased-v2", "sentence-t5-base"]

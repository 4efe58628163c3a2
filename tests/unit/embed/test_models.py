"""What is known of embedding models, by every way to write their names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from memory.embed.models import _MODELS, Known, known
from memory.embed.windows import estimated

INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
SEARCHING = "Represent this sentence for searching relevant passages: "
VOYAGE = ("Represent the query for retrieving supporting documents: ", "Represent the document for retrieval: ")

NAMES = {
    "nomic-embed-text": Known("search_query: ", "search_document: ", 2048),
    "nomic-ai/nomic-embed-text-v1.5": Known("search_query: ", "search_document: ", 2048),
    "hf.co/nomic-ai/nomic-embed-text-v2-moe-GGUF:Q4_K_M": Known("search_query: ", "search_document: ", 512),
    "intfloat/multilingual-e5-small": Known("query: ", "passage: "),
    "intfloat/e5-large-v2": Known("query: ", "passage: "),
    "multilingual-e5-large-instruct": Known(f"{INSTRUCT} "),
    "e5-mistral-7b-instruct": Known(f"{INSTRUCT} ", "", 4096),
    "BAAI/bge-m3": Known(tokens=2048),
    "bge-large:335m": Known(SEARCHING),
    "/home/me/models/bge-small-en-v1.5": Known(SEARCHING),
    "BAAI/bge-small-zh-v1.5": Known("为这个句子生成表示以用于检索相关文章："),
    "BAAI/bge-large-zh-noinstruct": Known(),
    "mxbai-embed-large": Known(SEARCHING),
    "mixedbread-ai/mxbai-embed-large-v1": Known(SEARCHING),
    "snowflake-arctic-embed:33m": Known(SEARCHING),
    "Snowflake/snowflake-arctic-embed-m-v1.5": Known(SEARCHING),
    "Snowflake/snowflake-arctic-embed-m-long": Known(SEARCHING, "", 2048),
    "snowflake-arctic-embed2": Known("query: ", "", 2048),
    "Snowflake/snowflake-arctic-embed-l-v2.0": Known("query: ", "", 2048),
    "all-minilm": Known(tokens=256),
    "all-MiniLM-L6-v2": Known(tokens=256),
    "sentence-transformers/all-MiniLM-L12-v2": Known(tokens=128),
    "all-mpnet-base-v2": Known(tokens=384),
    "paraphrase-multilingual": Known(tokens=128),
    "granite-embedding:278m": Known(),
    "embeddinggemma": Known("task: search result | query: ", "title: none | text: ", 2048),
    "google/embeddinggemma-300m": Known("task: search result | query: ", "title: none | text: ", 2048),
    "qwen3-embedding:0.6b": Known(INSTRUCT, "", 4096),
    "Qwen/Qwen3-Embedding-0.6B": Known(INSTRUCT, "", 4096),
    "thenlper/gte-small": Known(),
    "Alibaba-NLP/gte-large-en-v1.5": Known(tokens=8192),
    "jinaai/jina-embeddings-v2-base-en": Known(tokens=2048),
    "text-embedding-3-small": Known(tokens=8191, price=0.02),
    "text-embedding-3-large": Known(tokens=8191, price=0.13),
    "openai/text-embedding-ada-002": Known(tokens=8191, price=0.10),
    "mistral-embed": Known(tokens=8000, price=0.10),
    "voyage-4": Known(*VOYAGE, 32_000, 0.06),
    "voyage-4-large": Known(*VOYAGE, 32_000, 0.12),
    "voyage-3.5-lite": Known(*VOYAGE, 32_000, 0.02),
    "voyage-3-large": Known(*VOYAGE, 32_000, 0.18),
    "voyage-law-2": Known(*VOYAGE, 16_000, 0.12),
}


@pytest.mark.parametrize(("model", "expected"), NAMES.items())
def test_a_model_is_known_by_its_name(model: str, expected: Known) -> None:
    assert known(model) == expected


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
    assert known(model) == known("nomic-embed-text")


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
    assert known(model) == Known("", "", 512, 0.0)


def test_every_entry_can_be_reached() -> None:
    reached = {id(found) for found in map(known, [*NAMES, *MORE])}

    assert [pattern for pattern, found in _MODELS if id(found) not in reached] == []


def test_a_prefix_leaves_room_for_text() -> None:
    assert all(estimated(found.query_prefix) < found.tokens // 8 for _, found in _MODELS)
    assert all(estimated(found.passage_prefix) < found.tokens // 8 for _, found in _MODELS)


def test_knowing_models_loads_nothing_heavy() -> None:
    script = "import sys, memory.embed.models, memory.embed.windows; print('numpy' in sys.modules)"

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert run.stdout == "False\n"


MORE = ["voyage-finance-2", "paraphrase-MiniLM-L6-v2", "distiluse-base-multilingual-cased-v2", "sentence-t5-base"]

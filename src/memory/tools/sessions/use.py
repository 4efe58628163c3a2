"""
The nine tools that use memories of any kind: load, expand, reconstruct, count, write, delete.

The command that lists sessions stands beside its tool. A `memory_id` may be a number, its digits, a uid or the start of one.
"""

from __future__ import annotations

from memory.schema.errors import NotFound, iteration
from memory.schema.kinds import SESSION_KINDS
from memory.schema.moments import minute
from memory.tools.arguments import Parameter, brief
from memory.tools.operation import PAGE, Call, Given, Option, Shown, command
from memory.tools.render.data import row
from memory.tools.render.text import counted, plain, shares, table
from memory.tools.sessions import rows
from memory.tools.sessions.declare import (
    MEMORY,
    NUMBERED,
    SESSION,
    Envelope,
    Iteration,
    Name,
    SessionTools,
    limit,
    reading,
    tool,
)

LOADED = (
    "session_context:object? input_prompts:rows recent_reports:rows recent_report_observations:rows "
    "recent_working_memory:rows"
)
EXPANDED = (
    "memory_id:number? target_chunk_index:number? context_window:number? chunks_returned:number expanded_content:text? "
    "chunks:rows"
)
COUNTED = (
    "session_id:text? memory_counts:object agent_counts:object total_memories:number total_chunks:number "
    "earliest_created:text? latest_created:text?"
)


@reading("Resume a session", "use", LOADED, SESSION, NUMBERED)
def load_session_context_for_task(self: SessionTools, session_id: str, session_iter: Iteration) -> Envelope:
    """
    Call it first when you continue a session: its latest state, all prompts, the five latest reports, remarks on them and
    working memories.

    The context is the latest of the iteration, or else of an earlier one.
    """
    number = iteration(session_iter)  # refused before the session is looked for
    try:
        found = self.engine.sessions.resume(rows.needed("session_id", session_id), number)
    except NotFound as error:
        return {"message": rows.message((), str(error))}
    prose = (*found.reports, *found.observations, *found.working)
    read, notices = self.engine.documents.read([*filter(None, [found.context]), *found.prompts, *prose])
    whole = {one.memory.id: rows.whole(one) for one in read}
    why = ""
    if found.context is None:
        why = f"no session_context of iteration {number} or before"
    elif found.context.session_iter != number:
        why = f"the latest session_context is of iteration {found.context.session_iter}"
    return rows.resumed(found, lambda one: whole.get(one.id)) | {"message": rows.message(notices, why)}


@reading(
    "Read around a chunk",
    "use",
    EXPANDED,
    brief("chunk_id", "id", "The chunk's id, from a search for chunks.", required=True),
    brief("surrounding_chunks", "integer", "Chunks on each side; default 2.", low=0, high=100, usual=2),
)
def expand_chunk_context(self: SessionTools, chunk_id: int | str, surrounding_chunks: int = 2) -> Envelope:
    """A chunk from a search for passages, with those before and after it."""
    found = self.engine.documents.expand(chunk_id, surrounding_chunks)
    return rows.expanded(found, surrounding_chunks, rows.path) | {"flags": list(found.memory.flags)}


@reading(
    "Read a whole document",
    "use",
    "memory_id:number? content:text? title:text? memory_type:text? chunk_count:number?",
    MEMORY,
)
def reconstruct_document(self: SessionTools, memory_id: int | str) -> Envelope:
    """
    A memory's text as stored.

    The text is the same to the last byte.
    """
    found = self.engine.documents.reconstruct(memory_id)
    self.engine.documents.accessed([found.memory.id])
    torn = "" if found.whole else "its chunks do not make it up, so searches may miss parts of it"
    return row(found, rows.DOCUMENT) | {"flags": list(found.memory.flags), "message": rows.message((), torn)}


@reading("Get a memory", "use", "memory:object?", MEMORY)
def get_memory_by_id(self: SessionTools, memory_id: int | str) -> Envelope:
    """One memory with all its fields."""
    found, notices = self.engine.documents.read([self.engine.documents.get(memory_id)])
    if not found:
        raise NotFound(f"memory {memory_id} was just removed")
    return {"memory": rows.whole(found[0]), "message": rows.message(notices)}


@reading("Session statistics", "use", COUNTED, SESSION)
def get_session_stats(self: SessionTools, session_id: str) -> Envelope:
    """
    How much a session has, by kind and agent.

    All zeros if there is no such session.
    """
    nothing = dict.fromkeys(map(str, SESSION_KINDS), 0)
    session_id = rows.needed("session_id", session_id)
    try:
        found = self.engine.sessions.one(session_id)
    except NotFound as error:
        return {"session_id": session_id, "memory_counts": nothing, "message": rows.message((), str(error))}
    numbers = row(found, rows.NUMBERS)
    return numbers | {"memory_counts": nothing | numbers["memory_counts"]}


ROW = "session_id=id agent_id:text? memory_count=memories:number latest_activity=active memory_types=kinds:object"
WIDER = f"{ROW} agents:object chunk_count=chunks:number max_session_iter=iteration:number?"
"""A session in a list, as a command shows it and as a tool does."""

SAVED_BY = brief("agent_id", "string", "Only what this agent saved.")
WRITTEN_BY = Option("--agent NAME", "Only sessions this agent wrote to.")


@reading("List sessions", "use", "sessions:rows total_sessions:number", limit(20), SAVED_BY)
def list_sessions(self: SessionTools, limit: int = 20, agent_id: Name = None) -> Envelope:
    """
    Sessions, most recently active first.

    The `agent_id` of each is the last writer.
    """
    found, total = self.engine.sessions.latest(limit, agent=rows.named("agent_id", agent_id))
    return {"sessions": [row(one, WIDER) for one in found], "total_sessions": total}


@command("session list", PAGE, WRITTEN_BY)
def list_(call: Call, a: Given) -> Shown:
    """
    List sessions, most recently active first.

    \b
        memory session list --agent reviewer
    """
    found, total = call.engine.sessions.latest(a["limit"], agent=a["agent"] or None)
    notes = [f"{total - len(found):,} more; -n {total} shows all"] if total > len(found) else []
    if not found:
        by = " by this agent" if a["agent"] else ""
        notes = [f"no session{by} has saved anything yet; `memory store` saves a text of one"]
    sessions = {"sessions": [row(one, ROW) for one in found], "total_sessions": total}
    lines = [
        (
            plain(one.id),
            minute(one.active),
            counted(one.memories, "memory", "memories"),
            f"v{one.iteration}" if one.iteration else "",
            plain(one.agent_id or ""),
            shares(one.kinds),
        )
        for one in found
    ]
    return Shown(sessions, table(lines), notes)


@tool(
    "Write a document to a file",
    "use",
    "file_path:text? memory_id:number? bytes_written:number?",
    MEMORY,
    brief("output_path", "string", "The file; relative paths are inside that folder.", required=True),
    brief("overwrite", "boolean", "Replace an existing file; default false."),
    Parameter("front_matter", "boolean", "Default true; false writes only the text.", hidden=True),
    destroys=True,
)
def write_document_to_file(
    self: SessionTools, memory_id: int | str, output_path: str, *, overwrite: bool = False, front_matter: bool = True
) -> Envelope:
    """
    Write a memory's text to a Markdown file inside the configured documents folder.

    Args:
        output_path: In the folder that the setting `documents` names.
        overwrite: Replace an existing file.
        front_matter: Whether front matter identifies the memory; without it the file is the content byte for byte.
    """
    from memory.engine import markdown  # paths cost 4 ms, and no other tool has any

    document = self.engine.documents.reconstruct(memory_id)
    settings = self.engine.config
    folder = self.folder or markdown.allowed(settings.documents, settings.folder)
    written = markdown.write(
        document,
        output_path,
        folder=folder,
        home=settings.folder,
        overwrite=overwrite is True,
        matter=front_matter is not False,
    )
    told = self.engine.documents.accessed([document.memory.id])
    return {
        "file_path": str(written.path),
        "memory_id": document.memory.id,
        "bytes_written": written.size,
        "message": rows.message(told, f"{written.size:,} bytes written"),
    }


@tool("Delete a memory", "use", "memory_id:number?", MEMORY, destroys=True)
def delete_memory(self: SessionTools, memory_id: int | str) -> Envelope:
    """Delete a memory."""
    gone = self.engine.trash.delete(memory_id)
    return {"memory_id": gone.id, "message": rows.message((), f"memory {gone.id} was deleted")}


@tool(
    "Remove old memories",
    "use",
    "memories_deleted:number chunks_deleted:number dry_run:flag",
    brief("days_old", "integer", "Age in days; default 90.", low=0, high=36_500, usual=90, strict=True),
    brief("dry_run", "boolean", "Default true: only count."),
    brief("memory_type", "string", "Only this kind, e.g. working_memory."),
    destroys=True,
)
def cleanup_old_memories(
    self: SessionTools, days_old: int = 90, *, dry_run: bool = True, memory_type: Name = None
) -> Envelope:
    """
    Count session memories older than days_old; dry_run=false deletes them: show the user the count first.

    Args:
        dry_run: Only count them.
        memory_type: Only this kind. Without it notes and the knowledge base stay: they outlive sessions.
    """
    kind = None if memory_type is None else rows.needed("memory_type", memory_type)
    dry_run = dry_run is not False  # nothing but that word deletes
    found = self.engine.trash.cleanup(days_old, kinds=(kind,) if kind else (), dry_run=dry_run)
    done = "would be deleted; dry_run=false deletes them" if dry_run else "deleted"
    message = f"{counted(found.memories, 'memory', 'memories')} with {counted(found.chunks, 'chunk')} {done}"
    gone = {"memories_deleted": found.memories, "chunks_deleted": found.chunks, "dry_run": dry_run}
    return gone | {"message": rows.message((), message)}

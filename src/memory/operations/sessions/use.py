"""The nine tools that use what is kept, of whatever kind: load, expand, reconstruct, count, write, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.operations.render.data import row
from memory.operations.sessions import rows
from memory.operations.sessions.arguments import named, needed
from memory.operations.sessions.envelope import answers, said
from memory.schema.errors import NotFound
from memory.schema.kinds import SESSION_KINDS
from memory.schema.limits import iteration

if TYPE_CHECKING:
    from pathlib import Path

    from memory.engine import Engine
    from memory.operations.sessions.envelope import Envelope, Iteration, Name

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


class Using:
    """Of `memory.operations.sessions.SessionMemory`. A `memory_id` may be a number, its digits, a uid or the start of one."""

    def __init__(self, engine: Engine, *, folder: Path | None, raises: bool) -> None:
        self.engine, self.raises, self._folder = engine, raises, folder

    @answers("use", LOADED)
    def load_session_context_for_task(self, session_id: str, session_iter: Iteration) -> Envelope:
        """
        What an agent needs to go on with a session (CAP D27): the latest context of the iteration, else of those before
        it; all prompts; of the session's reports, remarks on reports and working memories the five latest each.
        """
        number = iteration(session_iter)  # refused before the session is looked for
        try:
            found = self.engine.sessions.resume(needed("session_id", session_id), number)
        except NotFound as error:
            return {"message": said((), str(error))}
        prose = (*found.reports, *found.observations, *found.working)
        read, notices = self.engine.documents.read([*filter(None, [found.context]), *found.prompts, *prose])
        whole = {one.memory.id: rows.whole(one) for one in read}
        why = ""
        if found.context is None:
            why = f"no session_context of iteration {number} or before"
        elif found.context.session_iter != number:
            why = f"the latest session_context is of iteration {found.context.session_iter}"
        return rows.resumed(found, lambda memory: whole.get(memory.id)) | {"message": said(notices, why)}

    @answers("use", EXPANDED)
    def expand_chunk_context(self, chunk_id: int | str, surrounding_chunks: int = 2) -> Envelope:
        """A chunk with its neighbours, as many as are asked for on either side (CAP D28)."""
        found = self.engine.documents.expand(chunk_id, surrounding_chunks)
        return rows.expanded(found, surrounding_chunks, rows.path) | {"flags": list(found.memory.flags)}

    @answers("use", "memory_id:number? content:text? title:text? memory_type:text? chunk_count:number?")
    def reconstruct_document(self, memory_id: int | str) -> Envelope:
        """A memory's content as it was given, to the last byte, and whether its chunks still tile it (CAP D29, X33)."""
        found = self.engine.documents.reconstruct(memory_id)
        self.engine.documents.accessed([found.memory.id])
        torn = "" if found.whole else "its chunks do not make it up, so searches may miss parts of it"
        return row(found, rows.DOCUMENT) | {"flags": list(found.memory.flags), "message": said((), torn)}

    @answers("use", "memory:object?")
    def get_memory_by_id(self, memory_id: int | str) -> Envelope:
        """One memory whole (CAP D30)."""
        found, notices = self.engine.documents.read([self.engine.documents.get(memory_id)])
        if not found:
            raise NotFound(f"memory {memory_id} was removed just now")
        return {"memory": rows.whole(found[0]), "message": said(notices)}

    @answers("use", COUNTED)
    def get_session_stats(self, session_id: str) -> Envelope:
        """How much is kept of a session, of which kinds, by whom (CAP D31); zeros if nothing is."""
        nothing = dict.fromkeys(map(str, SESSION_KINDS), 0)
        session_id = needed("session_id", session_id)
        try:
            found = self.engine.sessions.one(session_id)
        except NotFound as error:
            return {"session_id": session_id, "memory_counts": nothing, "message": said((), str(error))}
        numbers = row(found, rows.NUMBERS)
        return numbers | {"memory_counts": nothing | numbers["memory_counts"]}

    @answers("use", "sessions:rows total_sessions:number")
    def list_sessions(self, limit: int = 20, agent_id: Name = None) -> Envelope:
        """Sessions, the latest activity first (CAP D32). `agent_id` of each is who wrote last."""
        found, total = self.engine.sessions.latest(limit, agent=named("agent_id", agent_id))
        return {"sessions": [row(one, rows.SESSION) for one in found], "total_sessions": total}

    @answers("use", "file_path:text? memory_id:number? bytes_written:number?")
    def write_document_to_file(
        self, memory_id: int | str, output_path: str, *, overwrite: bool = False, front_matter: bool = True
    ) -> Envelope:
        """
        Write a memory's content to a file, below YAML front matter (CAP D33), inside the allowed folder.

        Args:
            output_path: In the folder that the setting `documents` names.
            overwrite: Take the place of a file that is there.
            front_matter: Whether it says which memory it is; without, the file is the content byte for byte.
        """
        from memory.write import markdown  # paths cost 4 ms, and no other tool has any

        document = self.engine.documents.reconstruct(memory_id)
        settings = self.engine.config
        folder = self._folder or markdown.allowed(settings.documents, settings.folder)
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
            "message": said(told, f"{written.size:,} bytes written"),
        }

    @answers("use", "memory_id:number?")
    def delete_memory(self, memory_id: int | str) -> Envelope:
        """Remove a memory with its chunks and vectors, for good (CAP D34)."""
        gone = self.engine.documents.delete(memory_id)
        return {"memory_id": gone.id, "message": said((), f"memory {gone.id} was deleted")}

    @answers("use", "memories_deleted:number chunks_deleted:number dry_run:flag")
    def cleanup_old_memories(self, days_old: int = 90, *, dry_run: bool = True, memory_type: Name = None) -> Envelope:
        """
        Remove the memories of sessions that were made more than so many days ago (CAP D35).

        Args:
            dry_run: Only count them.
            memory_type: Of this kind alone. Without it notes and the knowledge base stay: they outlive sessions.
        """
        kind = None if memory_type is None else needed("memory_type", memory_type)
        dry_run = dry_run is not False  # nothing but that word deletes
        found = self.engine.documents.cleanup(days_old, kinds=(kind,) if kind else (), dry_run=dry_run)
        done = "would be deleted; dry_run=false deletes them" if dry_run else "deleted"
        memories = "1 memory" if found.memories == 1 else f"{found.memories:,} memories"
        message = f"{memories} with {found.chunks:,} {'chunk' if found.chunks == 1 else 'chunks'} {done}"
        return {
            "memories_deleted": found.memories,
            "chunks_deleted": found.chunks,
            "dry_run": dry_run,
            "message": said((), message),
        }

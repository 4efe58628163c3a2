"""What session tools take, as the engine takes it: names, filters, drafts; and the rows they answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from memory.schema.errors import NAME_LIMIT, Invalid, check_text, iso, iteration
from memory.schema.kinds import GENERAL, RULES, Kind
from memory.schema.query import FILTERS, Scope
from memory.tools.render.data import row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    from memory.engine.sessions import Aged
    from memory.schema.answer import Hit, Notice
    from memory.schema.draft import Draft, Saved
    from memory.schema.memory import Document, Expanded, Memory, Resumed
    from memory.tools.sessions.declare import Iteration, Name

ORCHESTRATOR = "main-orchestrator"
"""The default author of the context and the prompts of a session."""

VERBATIM = (Kind.SESSION_CONTEXT, Kind.INPUT_PROMPT)


class Filter(NamedTuple):
    """Author, session, iteration, task and category; None does not restrict."""

    agent_id: Name = None
    session_id: Name = None
    session_iter: Iteration = None
    task_code: Name = None
    category: Name = None

    def fields(self) -> dict[str, str | int]:
        """
        The fields that restrict, as the engine takes them.

        Raises:
            Invalid: The iteration is not valid, or a name is not text.
        """
        values: dict[str, str | int | None] = {
            name: iteration(value) if name == "session_iter" else named(name, value)
            for name, value in self._asdict().items()
        }
        return {name: value for name, value in values.items() if value is not None}

    def scope(self, kind: Kind) -> Scope:
        """
        Raises:
            Invalid: See `fields`.
        """
        fields = self.fields()
        one: dict[str, Any] = {FILTERS[name]: frozenset({value}) for name, value in fields.items()}
        return Scope(kinds=frozenset({kind}))._replace(**one)


def named(field: str, value: object) -> str | None:
    """
    A name as it is saved, without blanks around it. A blank name counts as none: programs pass it for that.

    Raises:
        Invalid: It is not text, or cannot be a name.
    """
    if value is None:
        return None
    check_text(field, value, NAME_LIMIT)
    return str(value).strip() or None


def needed(field: str, value: object) -> str:
    """
    A name that must be given.

    Raises:
        Invalid: It is missing or blank.
    """
    if (name := named(field, value)) is None:
        raise Invalid(f"{field} is blank")
    return name


def draft(
    kind: Kind,
    content: str,
    where: Filter,
    *,
    title: str | None = None,
    project: str | None = None,
    source: str | None = None,
) -> Draft:
    """
    A draft of a session kind, with the documented defaults.

    Args:
        title: None takes the first heading of the text, for kinds that are documents.

    Raises:
        Invalid: A value is not valid, a field that the kind requires is missing, or the kind belongs to no session.
    """
    from memory.schema.draft import Draft, check_content  # with titles 2 ms of a command that only shows
    from memory.text.markdown import title as titled

    if RULES[kind].family != "session":
        raise Invalid(f"a {kind} is not of a session", hint="`memory save` saves notes.")
    check_content(kind, content)
    if kind in VERBATIM:
        where = where._replace(agent_id=where.agent_id or ORCHESTRATOR)
    elif title is None:
        title = titled(content)
    if kind is Kind.KNOWLEDGE_BASE:
        where = where._replace(category=where.category or GENERAL)
    fields: dict[str, Any] = where.fields()
    return Draft(kind=kind, body=content, title=title or "", project=project, source=source, **fields)


# Rows --------------------------------------------------------------------

SCOPED = 2.0
"""The similarity of a row that is listed and not searched."""

HASH = 16  # hexadecimal digits of a hash that are shown
ROOT = "/"  # the path of what stands below no heading

WHERE = "id:number memory_id=id:number uid memory_type=kind agent_id:text? session_id:text? session_iter:number? task_code:text?"
REST = (
    "title:filled description:filled category:text? tags:texts metadata:object content_hash created_at updated_at accessed_at:text? "
    "access_count:number flags:texts"
)
PIECE = (
    "chunk_id=id:number chunk_index=chunk.index:number content=text chunk_type=chunk.type header_path=chunk.header_path:texts "
    "level=chunk.level:number"
)
DOCUMENT = (
    "memory_id=memory.id:number title=memory.title memory_type=memory.kind chunk_count=chunks:number verified=whole:flag "
    "content=body"
)
CHUNK = (
    "chunk_id:number chunk_index=chunk.index:number chunk_content=text chunk_type=chunk.type "
    "header_path=chunk.header_path:texts headers=chunk.header_path:texts level=chunk.level:number "
    "sections_in_chunk=sections:number title=memory.title:filled flags=memory.flags:texts created_at=memory.created_at"
)
SECTION = (
    "section_header=chunk.section:texts section_content=text header_path=chunk.section:texts headers=chunk.section:texts "
    "chunks_in_section=chunks:number sections_in_chunk=sections:number matched_chunks=matched:number match_ratio:real4 "
    "auto_merged:flag "
    "title=memory.title:filled flags=memory.flags:texts created_at=memory.created_at"
)
SCORES = "relevance:real4 similarity:real4 distance:real4 topup:filled score:real4 cosine:real4"
"""
`relevance`, 0..1, is the order of the rows. `similarity` is the cosine, -1..1, and `distance` is 1 - cosine; both are None
if no vector was compared. `topup` says where a row that was not found comes from; None if it was found. Four digits.
"""

NUMBERS = (
    "session_id=id memory_counts=kinds:object agent_counts=agents:object total_memories=memories:number "
    "total_chunks=chunks:number max_session_iter=iteration:number? earliest_created=earliest latest_created=latest"
)
"""How much is kept of a session."""


TIMES = "p50_time=p50:real p95_time=p95:real slow_query_rate=slow_share:real"
SEARCHES = f"total_queries=searches:number {TIMES} slow_query_count=slow:number slow_query_threshold=slow_seconds:real"
OF_TYPE = f"count=searches:number {TIMES} mean_results=results:real"
"""What searches took, all of them and those of a type."""


def whole(document: Document) -> dict[str, Any]:
    """A memory with its content; it goes by both names of its id."""
    memory = document.memory
    named = {"title": memory.title} if memory.kind is Kind.KNOWLEDGE_BASE else {}
    return {
        **row(memory, WHERE),
        "content": document.body,
        **row(memory, REST),
        "metadata": dict(memory.metadata) | named,
        "content_hash": memory.content_hash[:HASH],
    }


def scoped(document: Document) -> dict[str, Any]:
    return whole(document) | {"similarity": SCOPED, "source_type": "scoped", "granularity": "coarse"}


def ranked(document: Document, hit: Hit) -> dict[str, Any]:
    """A memory that was found by its best chunk, or one that fills up the answer."""
    sort = "topup" if hit.topup else "ranked"
    return whole(document) | row(hit, SCORES) | {"source_type": sort, "granularity": "coarse"}


def chunk(hit: Hit) -> dict[str, Any]:
    """A chunk as a documented row."""
    sort = {"header_path": path(hit.chunk.header_path), "source": "chunk", "granularity": "fine"}
    return row(hit.memory, WHERE) | row(hit, CHUNK) | row(hit, SCORES) | sort


def section(hit: Hit) -> dict[str, Any]:
    """A section as a documented row."""
    headers = hit.chunk.section
    titles = [header.lstrip("#").strip() for header in headers]
    sort = {"header_path": path(headers), "source": "expanded_section", "granularity": "medium"}
    return row(hit.memory, WHERE) | row(hit, SECTION) | row(hit, SCORES) | sort | {"section_header": path(titles)}


def message(notices: Iterable[Notice], *first: str) -> str | None:
    """Remarks and notices as the message of an envelope; None if there are none."""
    texts = [f"{notice.text}. {notice.hint}".rstrip() if notice.hint else notice.text for notice in notices]
    return " ".join(f"{text.rstrip('.')}." for text in (*first, *texts) if text) or None


def path(headers: Sequence[str]) -> str:
    """Headings with their marks, outermost first; `headers` beside it is safe where a title has a `>`."""
    return " > ".join(headers) or ROOT


def stored(saved: Saved) -> dict[str, Any]:
    """The result of saving a memory."""
    facts = row(saved.memory, "memory_id=id:number memory_type=kind agent_id:text? session_id:text? content_hash")
    facts["content_hash"] = saved.memory.content_hash[:HASH]
    return facts | {"chunks_created": saved.chunks if saved.chunks > 1 else 0} | row(saved.memory, "created_at")


def expanded(found: Expanded, around: int, headers: Callable[[Sequence[str]], object]) -> dict[str, Any]:
    """
    A chunk with its neighbours.

    Args:
        headers: How the headings above a chunk are shown.
    """
    pieces = [row(piece, PIECE) | {"header_path": headers(piece.chunk.header_path)} for piece in found.pieces]
    return {
        "memory_id": found.memory.id,
        "target_chunk_index": found.target.index,
        "context_window": around,
        "chunks_returned": len(pieces),
        "expanded_content": found.text,
        "chunks": pieces,
    }


def resumed(found: Resumed, shown: Callable[[Memory], dict[str, Any] | None]) -> dict[str, Any]:
    """
    What an agent needs to resume a session.

    Args:
        shown: A memory as a row; None leaves it out.
    """
    lists = {
        "input_prompts": found.prompts,
        "recent_reports": found.reports,
        "recent_report_observations": found.observations,
        "recent_working_memory": found.working,
    }
    groups = {name: list(filter(None, map(shown, memories))) for name, memories in lists.items()}
    return {"session_context": found.context and shown(found.context), **groups}


def cleaned(gone: Mapping[Kind, Aged], before: datetime, *, dry_run: bool) -> dict[str, Any]:
    """What a cleaning counted or removed."""
    return {
        "memories_deleted": sum(aged.memories for aged in gone.values()),
        "chunks_deleted": sum(aged.chunks for aged in gone.values()),
        "dry_run": dry_run,
        "before": iso(before),
        "kinds": {str(name): aged.memories for name, aged in gone.items()},
    }

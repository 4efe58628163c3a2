"""Commands that carry memories in and out."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memory.cli.made import OUTPUT
from memory.cli.options import HERE, encoded, named_project, opened, text_of, write_lines
from memory.config.files import BULK_BYTES
from memory.config.project import project as named, repository
from memory.operations.operation import Call, Given, Option, Shown, command
from memory.operations.render import data
from memory.operations.render.text import counted, notice
from memory.schema.answer import Notice
from memory.schema.draft import Draft, Saved, content_hash
from memory.schema.errors import Invalid, StoreDamaged, StoreError, printable
from memory.schema.kinds import Kind
from memory.schema.query import Scope
from memory.store import ToolCall
from memory.text.markdown import observations
from memory.write.export import LinkLine, RelationLine, StrangersLine, edge_lines, pages, strangers_line
from memory.write.jsonl import SCHEMA, STRANGERS, Line, MemoryLine, parsed
from memory.write.markdown import files, markdown, same
from memory.write.strangers import take_strangers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from memory.engine import Engine
    from memory.schema.memory import Memory


@command(
    "export",
    Option("--all", "Also what tells here whether an answer fits: the strangers, as this model embedded them."),
    OUTPUT,
)
def export(_call: Call, a: Given) -> Shown:
    """
    Print every memory as a line of JSON, for `memory import`. It has its details and its history; then come the
    relations and links between memories and the tool calls of research runs. From a damaged database it exports what
    can be read, names what cannot, and exits with 1.

    \b
        memory export > memories.jsonl
    """
    lost: list[str] = []
    sorts: Counter[str] = Counter()

    def lines(engine: Engine) -> Iterator[bytes]:
        for record in _records(engine, lost.append, strangers=a["all"]):
            sorts[record["schema"]] += 1
            yield encoded(record)

    with opened(damaged=True) as engine:
        write_lines(a["output"], lines(engine))
    memories, strangers = sorts.pop(SCHEMA, 0), sorts.pop(STRANGERS, 0)
    more = f", with {counted(sorts.total(), 'relation, link or tool call', 'relations, links and tool calls')}"
    warnings = [notice(Notice(f"lost: {what}")) for what in lost]
    if a["output"] is None:
        if not (memories or sorts or lost):
            warnings.append("nothing is saved yet, so nothing was written")
        return Shown(None, "", warnings, code=1 if lost else 0)
    return Shown(
        {
            "file": a["output"],
            "memories": memories,
            "joined": sorts.total(),
            "strangers": bool(strangers),
            "lost": lost,
        },
        f"{counted(memories, 'memory', 'memories')}{more if sorts else ''} in {a['output']}",
        code=1 if lost else 0,
        warnings=warnings,
    )


def _records(engine: Engine, lost: Callable[[str], None], *, strangers: bool) -> Iterator[dict[str, Any]]:
    """
    All that is kept, as JSON values.

    Args:
        lost: Told what cannot be read.
        strangers: Whether those belong to it, if there are any.
    """
    yield from map(data.exported, engine.maintenance.exported(lost))
    joined: dict[str, Iterable[dict[str, Any]]] = {
        "relations and links": map(data.edge, edge_lines(engine.store)),
        "tool calls of research runs": (data.tool_call(call) for _, call in engine.runs.calls()),
        "strangers": _strangers(engine) if strangers else (),
    }
    for what, records in joined.items():
        try:
            yield from records
        except StoreDamaged as error:
            lost(f"not all {what} can be read: {error}")


def _strangers(engine: Engine) -> Iterator[dict[str, Any]]:
    if (line := strangers_line(engine.store)) is not None:
        yield data.strangers(line)


@command(
    "import",
    Option("FILE|FOLDER|-"),
    Option(
        "--project [NAME]", "Project of the Markdown files; by default the one they are in, '' for none.", usual=HERE
    ),
    progress="importing",
)
def import_(call: Call, a: Given) -> Shown:
    """
    Import lines of JSON, or Markdown from a file or a folder. The lines are an export, or drafts.

    Nothing is stored twice: an import may be repeated. A changed Markdown file updates its memory. If a file in a folder
    cannot be imported, it is named and skipped, and the exit code is 1.
    """
    path = a["file"]
    if path != "-" and not os.path.exists(path):  # noqa: PTH110  # Path.exists raises where a name is too long
        raise Invalid(f"no file or folder {path[:200]}")
    source = Path(path)
    if path == "-" or source.suffix in (".jsonl", ".ndjson", ".json"):
        found = _lines(call, path)
    else:
        found = _markdown(call, source, named_project(a["project"], source))
    skipped = data.notices(found.skipped)
    left_out = f", {counted(len(found.skipped), 'file')} skipped" if found.skipped else ""
    told = (*found.notices, *(Notice(f"skipped: {one.text}", one.hint) for one in found.skipped))
    return Shown(
        found._asdict() | {"notices": data.notices(found.notices), "skipped": skipped},
        f"{found.kept:,} kept, {found.updated:,} updated, {found.known:,} already kept{left_out}",
        [*map(notice, told)],
        code=1 if found.skipped else 0,
    )


class Imported(NamedTuple):
    """
    How many memories are new, changed, and unchanged.

    Attributes:
        skipped: What was wrong with each file of a folder that was skipped.
    """

    kept: int
    updated: int
    known: int
    notices: tuple[Notice, ...]
    skipped: tuple[Notice, ...] = ()


def _lines(call: Call, path: str) -> Imported:
    """Look at every line before the first is saved: a bad one changes nothing."""
    lines = list(_parsed(path))
    engine = call.engine
    memories = [line for line in lines if isinstance(line, MemoryLine)]
    saved: list[Saved] = []
    try:
        # Before the memories, with whose vectors this store would make strangers of its own.
        parts = engine.store, engine.vectors.embedders
        left_out = [take_strangers(*parts, line) for line in lines if isinstance(line, StrangersLine)]
        while batch := memories[len(saved) : len(saved) + engine.config.embedding.batch_size]:
            saved += engine.maintenance.restore(batch)
            call.progress(len(saved), len(memories))
        engine.maintenance.link([line.links for line in memories if line.links is not None])
        updated = sum(_grown(engine, line.draft, one) for line, one in zip(memories, saved, strict=True))
        ids = {line.memory.uid: one.memory.id for line, one in zip(memories, saved, strict=True) if line.memory}
        edges = engine.graph.add_edges([line for line in lines if isinstance(line, RelationLine | LinkLine)], ids)
        engine.runs.log_all([line for line in lines if isinstance(line, ToolCall)])
    except StoreError as error:
        hint = f"{len(saved):,} of {len(memories):,} were imported before that. Repeat the import to continue."
        raise type(error)(str(error), hint=hint) from error
    found = _counted(saved, updated=0)
    told = [*filter(None, left_out), *found.notices]
    if edges.dangling:
        told.append(Notice(f"{edges.dangling:,} relations or links were skipped: they join something that is not here"))
    return found._replace(known=found.known - updated, updated=updated, notices=tuple(told))


def _grown(engine: Engine, draft: Draft, saved: Saved) -> bool:
    """
    Add what a line says about an entity that already existed under its name; whether any of it was new. If the entity is
    to be excluded from embedding, that happens first: what is new may not be for a model.
    """
    if not saved.known or draft.kind is not Kind.ENTITY:
        return False
    if draft.keyword_only and not saved.memory.keyword_only:
        engine.documents.update(saved.memory.id, keyword_only=True)
    if saved.memory.content_hash == content_hash(draft):
        return False
    return not engine.graph.observe(saved.memory.id, observations(draft.body)).saved.known


def _parsed(path: str) -> Iterator[Line]:
    for number, line in enumerate(
        text_of(path, BULK_BYTES).split("\n"), start=1
    ):  # not splitlines: U+2028 may stand in a text
        if line.strip():
            yield parsed(line, place=f"{path}:{number}")


def _markdown(call: Call, path: Path, project: str | None) -> Imported:
    found = list(files(path))
    if not found:
        raise Invalid(f"no Markdown files (*.md, *.markdown) in {path}")
    engine = call.engine
    before = former(engine, project)
    saved: list[Saved] = []
    skipped: list[Notice] = []
    updated = 0
    for number, file in enumerate(found, start=1):
        try:
            draft = drafted(engine, file, project)
            if draft is not None:
                result, changed = keep(engine, draft, before.get(draft.related_files[0]))
                saved.append(result)
                updated += changed
        except Invalid as error:
            if not path.is_dir():
                raise
            skipped.append(Notice(str(error), error.hint))
        call.progress(number, len(found))
    return _counted(saved, updated=updated)._replace(skipped=tuple(skipped))


def drafted(engine: Engine, file: Path, project: str | None) -> Draft | None:
    """
    The draft of a Markdown file; None if it is blank.

    Raises:
        Invalid: It cannot be read, or is not UTF-8 text.
    """
    return markdown(file, name=remembered(file, project), project=project, clean=engine.documents.clean)


def remembered(file: Path, project: str | None) -> str:
    """
    The path of a file within its repository if that is the project, else from the root of the file system: the README
    of another repository is not the project's own.
    """
    path = file.resolve()
    own = root(path.parent, project)
    return printable((path if own is None else path.relative_to(own)).as_posix())


def root(folder: Path, project: str | None) -> Path | None:
    """The root of the repository around a folder, if that repository is the project."""
    return repository(folder) if project and named(folder) == project else None


def former(engine: Engine, project: str | None) -> dict[str, Memory]:
    """The memory of each file, by its remembered name."""
    scope = Scope(
        kinds=frozenset({Kind.KNOWLEDGE_BASE}),
        sources=frozenset({"import"}),
        projects=frozenset({project} if project else ()),
    )
    kept = chain.from_iterable(pages(partial(engine.documents.recent, scope)))
    return {memory.related_files[0]: memory for memory in kept if memory.related_files and memory.project == project}


def keep(engine: Engine, draft: Draft, old: Memory | None) -> tuple[Saved, bool]:
    """
    Save the draft of a file.

    Args:
        old: The file's memory so far.

    Returns:
        The result, and whether that memory has changed.
    """
    if old is None:
        return engine.save(draft), False
    if same(old, draft):
        return Saved(old, known=True), False
    saved = engine.documents.update(old.id, title=draft.title, body=draft.body, what="")
    return saved, not saved.known  # it may differ from its file in a secret alone


def _counted(saved: list[Saved], *, updated: int) -> Imported:
    known = sum(one.known for one in saved)
    notices = tuple(dict.fromkeys(notice for one in saved if not one.known for notice in one.notices))
    return Imported(len(saved) - known - updated, updated, known, notices)


COMMANDS = (export, import_)

"""Commands that carry memories in and out."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from memory.cli.options import (
    PATH,
    as_json,
    encoded,
    named_project,
    opened,
    own_project,
    progress,
    show,
    standard_input,
    tell,
    write_lines,
)
from memory.config.files import BULK_BYTES, contents, utf8
from memory.config.project import project as named, repository
from memory.schema.answer import Notice
from memory.schema.draft import Saved
from memory.schema.errors import Invalid, StoreDamaged, StoreError, explained
from memory.schema.kinds import Kind
from memory.schema.limits import printable
from memory.schema.query import Scope
from memory.store import ToolCall
from memory.text.observations import observations
from memory.write.edges import LinkLine, RelationLine
from memory.write.jsonl import MemoryLine, files, markdown, parsed, same

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memory.engine import Engine
    from memory.schema.draft import Draft
    from memory.schema.memory import Memory
    from memory.write.jsonl import Line


@click.command(short_help="Print every memory as a line of JSON.")
@click.option(
    "--output", "-o", type=PATH, metavar="FILE", help="Write to a file, which must not be there; else to stdout."
)
@as_json
@click.pass_context
def export(context: click.Context, /, output: str | None, *, as_json: bool) -> int:
    """
    Print every memory as a line of JSON, with its details and its history, then what joins them and the tool calls of
    research runs; `memory import` reads it back. Of a damaged database, what can be read is exported, what cannot is
    named, and the exit code is 1.

    \b
        memory export > memories.jsonl
    """
    from memory.operations.render import data

    count = 0
    lost: list[str] = []

    def records(engine: Engine) -> Iterator[dict[str, Any]]:
        nonlocal count
        for found in engine.maintenance.exported(lost.append):
            count += 1
            yield data.exported(found)
        try:
            yield from map(data.edge, engine.graph.edge_lines())
        except StoreDamaged as error:
            lost.append(f"not all relations and links can be read: {error}")
        try:
            yield from (data.tool_call(call) for _, call in engine.runs.calls())
        except StoreDamaged as error:
            lost.append(f"not all tool calls of research runs can be read: {error}")

    edges = 0
    with opened(context, damaged=True) as engine:
        if output is None:
            for record in records(engine):
                show(record)
        else:
            edges = write_lines(Path(output), map(encoded, records(engine))) - count
    if output is not None:
        _exported(output, count, edges, lost, as_json=as_json)
    tell(Notice(f"lost: {what}") for what in lost)
    return 1 if lost else 0


def _exported(output: str, count: int, edges: int, lost: list[str], *, as_json: bool) -> None:
    from memory.operations.render import data
    from memory.operations.render.text import counted

    if as_json:
        show(data.document("export", {"file": output, "memories": count, "joined": edges, "lost": lost}))
        return
    more = f", with {counted(edges, 'relation, link or tool call', 'relations, links and tool calls')}"
    click.echo(f"{counted(count, 'memory', 'memories')}{more if edges else ''} in {output}")


@click.command("import", short_help="Keep what stands in files: an export, or Markdown.")
@click.argument("path", type=PATH, metavar="FILE|FOLDER|-")
@own_project("Project of Markdown files; the one they lie in by default, '' for none.")
@as_json
@click.pass_context
def import_(context: click.Context, /, path: str, project: str, *, as_json: bool) -> int:
    """
    Keep what stands in files: lines of JSON (an export, or drafts), a Markdown file, or a folder of them.

    Nothing is kept twice: an import may be repeated. A changed Markdown file updates its memory. Of a folder, a file that
    cannot be kept is named and left out, and the exit code is 1.
    """
    source = Path(path)
    if path != "-" and not os.path.exists(path):  # noqa: PTH110  # Path.exists raises where a name is too long
        raise Invalid(f"no file or folder {path[:200]}")
    with opened(context) as engine:
        if path == "-" or source.suffix in (".jsonl", ".ndjson", ".json"):
            found = _lines(engine, path)
        else:
            found = _markdown(engine, source, named_project(project, source))
    if as_json:
        from memory.operations.render import data

        skipped = data.notices(found.skipped)
        show(data.document("import", found._asdict() | {"notices": data.notices(found.notices), "skipped": skipped}))
        return 1 if skipped else 0
    from memory.operations.render.text import counted

    left_out = f", {counted(len(found.skipped), 'file')} left out" if found.skipped else ""
    click.echo(f"{found.kept:,} kept, {found.updated:,} updated, {found.known:,} already kept{left_out}")
    tell(found.notices)
    tell(Notice(f"left out: {one.text}", one.hint) for one in found.skipped)
    return 1 if found.skipped else 0


class Imported(NamedTuple):
    """
    How many memories are new, changed, and as they were.

    Attributes:
        skipped: What was wrong with each file of a folder that is not kept.
    """

    kept: int
    updated: int
    known: int
    notices: tuple[Notice, ...]
    skipped: tuple[Notice, ...] = ()


def _lines(engine: Engine, path: str) -> Imported:
    """Look at every line before the first is kept: a bad one changes nothing."""
    lines = list(_parsed(path))
    memories = [line for line in lines if isinstance(line, MemoryLine)]
    saved: list[Saved] = []
    try:
        with progress("importing") as report:
            for batch in _batches(memories, engine):
                saved += engine.maintenance.restore(batch)
                report(len(saved), len(memories))
        engine.maintenance.link([line.links for line in memories if line.links is not None])
        updated = sum(_grown(engine, line.draft, one) for line, one in zip(memories, saved, strict=True))
        ids = {line.memory.uid: one.memory.id for line, one in zip(memories, saved, strict=True) if line.memory}
        edges = engine.graph.add_edges([line for line in lines if isinstance(line, RelationLine | LinkLine)], ids)
        engine.runs.log_all([line for line in lines if isinstance(line, ToolCall)])
    except StoreError as error:
        hint = f"{len(saved):,} of {len(memories):,} were kept before. Repeat the import to go on."
        raise type(error)(str(error), hint=hint) from error
    found = _counted(saved, updated=0)
    found = found._replace(known=found.known - updated, updated=updated)
    if not edges.dangling:
        return found
    dangling = Notice(f"{edges.dangling:,} relations or links join something that is not here: left out")
    return found._replace(notices=(*found.notices, dangling))


def _grown(engine: Engine, draft: Draft, saved: Saved) -> bool:
    """
    Add what is said of an entity that was here already under its name; whether that was something new. First it is
    excluded from embedding, if it is to be: what is new may be for no model.
    """
    if not saved.known or draft.kind is not Kind.ENTITY:
        return False
    if draft.keyword_only and not saved.memory.keyword_only:
        engine.documents.update(saved.memory.id, keyword_only=True)
    from memory.write.entry import content_hash  # it cuts texts too: other commands do without

    if saved.memory.content_hash == content_hash(draft):
        return False
    return not engine.graph.observe(saved.memory.id, observations(draft.body)).saved.known


def _parsed(path: str) -> Iterator[Line]:
    with explained(Invalid, path):
        text = utf8(standard_input(BULK_BYTES) if path == "-" else contents(path, BULK_BYTES), path)
    for number, line in enumerate(text.split("\n"), start=1):  # not splitlines: U+2028 may stand in a text
        if line.strip():
            yield parsed(line, place=f"{path}:{number}")


def _markdown(engine: Engine, path: Path, project: str | None) -> Imported:
    found = list(files(path))
    if not found:
        raise Invalid(f"no Markdown files (*.md, *.markdown) in {path}")
    before = former(engine, project)
    saved: list[Saved] = []
    skipped: list[Notice] = []
    updated = 0
    with progress("importing") as report:
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
            report(number, len(found))
    return _counted(saved, updated=updated)._replace(skipped=tuple(skipped))


def drafted(engine: Engine, file: Path, project: str | None) -> Draft | None:
    """
    A Markdown file as it is to be kept; None if it is blank.

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
    """The root of the repository around a folder, if that is the project."""
    return repository(folder) if project and named(folder) == project else None


def former(engine: Engine, project: str | None) -> dict[str, Memory]:
    """What was kept of each file, by its remembered name."""
    scope = Scope(
        kinds=frozenset({Kind.KNOWLEDGE_BASE}),
        sources=frozenset({"import"}),
        projects=frozenset({project} if project else ()),
    )
    found: dict[str, Memory] = {}
    page = engine.documents.recent(scope, 500)
    while page:
        found |= {
            memory.related_files[0]: memory for memory in page if memory.related_files and memory.project == project
        }
        page = engine.documents.recent(scope, 500, after=page[-1])
    return found


def keep(engine: Engine, draft: Draft, old: Memory | None) -> tuple[Saved, bool]:
    """
    Keep what a file says.

    Args:
        old: What was kept of the file before.

    Returns:
        What became of it, and whether that memory says something else now.
    """
    if old is None:
        return engine.save(draft), False
    if same(old, draft):
        return Saved(old, known=True), False
    saved = engine.documents.update(old.id, title=draft.title, body=draft.body, what="")
    return saved, not saved.known  # it may differ from its file in a secret alone


def _batches(memories: list[MemoryLine], engine: Engine) -> Iterable[list[MemoryLine]]:
    size = engine.config.embedding.batch_size
    rest = iter(memories)
    return iter(lambda: list(islice(rest, size)), [])


def _counted(saved: list[Saved], *, updated: int) -> Imported:
    known = sum(one.known for one in saved)
    notices = tuple(dict.fromkeys(notice for one in saved if not one.known for notice in one.notices))
    return Imported(len(saved) - known - updated, updated, known, notices)

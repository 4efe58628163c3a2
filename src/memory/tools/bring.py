"""What people bring along: the command that imports it, whatever it is."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from memory.config.files import opened as opened_file, standard_stream
from memory.config.project import current, project
from memory.config.walk import Own
from memory.engine import lines as export_lines
from memory.engine.importing import (
    Aside,
    Belongs,
    Format,
    FoundFile,
    Imported,
    Importer,
    ImportTarget,
    Item,
    LeftOut,
    Sum,
    by_name,
    cleaner,
    found,
    reads,
    spooled,
    survey,
    told,
)
from memory.engine.lines import records
from memory.engine.markdown import remembered
from memory.schema.answer import Notice
from memory.schema.errors import NAME_LIMIT, Invalid, explained, printable
from memory.tools.operation import HERE, Call, Given, Option, Shown, command
from memory.tools.render import data
from memory.tools.render.text import counted, notice

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable


__all__ = ["COMMANDS", "records"]


@command(
    "import",
    Option("PATH|-"),
    Option(
        "--project [NAME]",
        "Project of everything; by default that of each file; '' for none.",
        usual=HERE,
    ),
    Option("--dry-run", "Only show what would be imported."),
)
def import_(call: Call, a: Given) -> Shown:
    """
    Import notes, conversations or the memories of another program. PATH is a file, a folder or a .zip archive; - reads
    standard input.

    It reads exports of memory, Markdown with front matter, EchoVault vaults and their database, notes of basic-memory,
    sessions of Claude Code, Codex or Gemini CLI, memories of Claude Code, the file of the reference memory server, the
    database of claude-mem, and exports of ChatGPT, claude.ai, mem0 or mcp-memory-service.

    Everything is saved first and embedded afterwards. Nothing is saved twice, so you may repeat an import; an
    interrupted one continues. A changed text updates its memory. At the end it counts what it found, and names what it
    left out with the reason. If that was a problem, the exit code is 1.

    \b
        memory import ~/notes --dry-run
        memory import conversations.zip
    """
    path = a["path"]
    if path != "-" and not os.path.exists(path):  # noqa: PTH110  # Path.exists raises where a name is too long
        raise Invalid(f"no file or folder {path[:200]}")
    with _files(path, call.settings().folder) as files:
        formats, unread = survey(files())
        if formats or unread:
            return _brought(call, a, files, formats)
        one = None if Path(path).is_dir() else next(iter(files()), None)
        if not isinstance(one, FoundFile):
            raise Invalid(f"nothing in {path} can be imported", hint="`memory help importing` lists them.")
        if (format := by_name(path, one.source)) is None:
            return _own(call, one, dry=a["dry_run"])
        return _brought(call, a, _once(one._replace(format=format)), Counter([format]))


@contextmanager
def _files(path: str, folder: str) -> Generator[Callable[[], Iterable[FoundFile | LeftOut]]]:
    """What finds the files behind a path, as often as it is called."""
    if path == "-":
        with spooled(standard_stream(), path) as one:
            yield _once(one)
    elif os.path.isfile(path) or os.path.isdir(path):  # noqa: PTH112, PTH113
        own = Own(folder)
        yield lambda: found(Path(path), own)
    else:  # a pipe
        with explained(Invalid, printable(path)), opened_file(path) as file, spooled(file, path) as one:
            yield _once(one)


def _once(one: FoundFile) -> Callable[[], Iterable[FoundFile]]:
    return lambda: (one,)


def _own(call: Call, one: FoundFile, *, dry: bool) -> Shown:
    """An export of memory, or drafts."""
    if dry:
        memories, _ = export_lines.look(one.source)
        text = f"would import {counted(memories, 'memory', 'memories')}; nothing was stored"
        return Shown({"dry_run": True, "memories": memories}, text)
    stored = 0

    def take(report: Callable[[int, int], None]) -> Imported:
        def counting(done: int, total: int) -> None:
            nonlocal stored
            stored = done
            report(done, total)

        return export_lines.take(call.engine, one.source, counting)

    return _stored(call, take, lambda: stored)


def _brought(
    call: Call, a: Given, files: Callable[[], Iterable[FoundFile | LeftOut]], formats: Counter[Format]
) -> Shown:
    """What other programs wrote."""
    where = None if a["path"] == "-" else Path(a["path"])
    fixed = a["project"] != HERE
    named = a["project"] or None if fixed else current(where)
    if not call.as_json:
        call.person.tell(_told(one, count, named, fixed=fixed) for one, count in formats.items())

    def target(clean: Callable[[str], str]) -> ImportTarget:
        return ImportTarget(named, fixed, clean, _project_of, lambda file: remembered(file, named))

    if a["dry_run"]:
        return _dry(call, files(), target)
    total, files_begun, stored = formats.total(), 0, 0

    def take(report: Callable[[int, int], None]) -> Imported:
        def begun() -> None:
            nonlocal files_begun
            files_begun += 1
            report(files_begun - 1, total)

        def batch(count: int) -> None:
            nonlocal stored
            stored = count
            report(*((files_begun - 1, total) if total > 1 else (count, 0)))  # of one file, how many memories

        importer = Importer(call.engine, named, batch)
        return importer.take(reads(files(), target(call.engine.documents.clean), begun))

    return _stored(call, take, lambda: stored, whole=total == 1)


def _told(one: Format, count: int, project: str | None, *, fixed: bool) -> Notice:
    """What was found, and where it goes."""
    name = project if fixed or one.belongs is Belongs.HERE else one.project
    place = " of no project" if name is None else f" of the project {printable(name)}"
    if one.belongs is Belongs.NEVER:
        place = ""
    elif one.belongs is Belongs.NAMED and not fixed:
        place = " of the projects they name"
    return Notice(f"found {counted(count, one.one, one.many)}, for {one.becomes}{place}")


HOME_PARTS = 3
"""Of the path of a home folder: its root, the folder of all homes, and a name."""


def _project_of(folder: str) -> str | None:
    """The project of a folder; where it is of another kind of machine, its name, unless it is somebody's home."""
    path = Path(folder)
    if path.is_absolute():
        return project(path)
    other = PureWindowsPath(folder) if os.name == "posix" else PurePosixPath(folder)
    home = len(other.parts) <= HOME_PARTS and other.parts[1:2] in {("Users",), ("home",)}
    return printable(other.name)[:NAME_LIMIT] or None if other.is_absolute() and not home else None


def _dry(
    call: Call, files: Iterable[FoundFile | LeftOut], target: Callable[[Callable[[str], str]], ImportTarget]
) -> Shown:
    """What an import would bring, by kind and project."""
    counts: Counter[tuple[str, str]] = Counter()
    left: list[LeftOut] = []
    asides: Counter[tuple[str, str]] = Counter()
    joined = 0
    for one in reads(files, target(cleaner(call.settings().folder)), lambda: None):
        match one:
            case Item():
                counts[one.draft.kind, one.draft.project or ""] += 1
            case LeftOut():
                left.append(one)
            case Aside():
                asides[one.program, one.what] += one.number
            case _:
                joined += 1
    rows = [{"kind": kind, "project": name or None, "memories": count} for (kind, name), count in counts.items()]
    lines = [
        f"{count:,} {kind}, {f'project {printable(name)}' if name else 'no project'}"
        for (kind, name), count in counts.items()
    ]
    lines += [f"{joined:,} relations and links"] if joined else []
    memories = counts.total()
    became = Sum(memories + len(left), 0, 0, 0, tuple(sorted(left, key=lambda one: one.ruled)))
    return Shown(
        {
            "dry_run": True,
            "found": rows,
            "joined": joined,
            "notices": data.notices(told(asides)),
            **{name: became.values[name] for name in ("left_out", "skipped", "skips")},
        },
        "\n".join(["would import:", *(f"  {line}" for line in lines)]) if lines else "would import nothing",
        [*map(notice, (*told(asides), *became.told))],
        code=1 if became.faults else 0,
    )


def _stored(
    call: Call,
    take: Callable[[Callable[[int, int], None]], Imported],
    stored: Callable[[], int],
    *,
    whole: bool = False,
) -> Shown:
    """
    Store what is read, say so, and then embed it, as far as there is time.

    Args:
        stored: How many memories are stored so far.
        whole: It is one file, of which at least something must be read.
    """
    try:
        with call.person.progress("storing") as report:
            done = take(report)
    except KeyboardInterrupt:
        call.person.tell([Notice(f"{stored():,} are saved; repeat the import to continue")])
        raise
    became = done.sum
    if whole and became.faults and became.found == became.left:
        first = became.left_out[0].notice
        raise Invalid(first.text, hint=first.hint)
    joined = f"; {counted(done.joined, 'relation or link', 'relations and links')}" if done.joined else ""
    said = f"{became}{joined}"
    if call.as_json:
        call.person.tell([Notice(said)])  # the document comes last
    else:
        call.person.say(said)
    try:
        with call.person.progress("embedding") as report:
            waiting = call.engine.maintenance.catch_up(report)
    except KeyboardInterrupt:
        call.person.tell([Notice("everything is saved and found by keyword; `memory embed` continues")])
        raise
    notices = (*done.notices, *waiting)
    values = became.values | {"notices": data.notices(notices), "joined": done.joined}
    return Shown(
        values,
        said if call.as_json else "",
        [*map(notice, (*notices, *became.told))],
        code=1 if became.faults else 0,
    )


COMMANDS = (import_,)

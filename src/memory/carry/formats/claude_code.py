"""
Claude Code: the transcripts of its sessions, a line of JSON for each thing that happened, and the memories it writes.

Neither is documented; the fields are those of its versions 1.0 to 2.1. What people and the model said is read.
https://github.com/daaain/claude-code-log, 05cc97e, reads the same lines, and
https://github.com/jau123/claude-memory-manager, 4ace6d7, the same memories.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from memory.carry.formats import Beginning, Belongs, Format
from memory.carry.formats.conversation import (
    ASSISTANT,
    CLAUDE_CODE,
    LONGEST,
    SESSION_FILE,
    SUMMARY,
    USER,
    Conversation,
    Passed,
    Turn,
    notes,
)
from memory.carry.formats.items import (
    BLANK,
    ImportTarget,
    Item,
    LeftOut,
    Read,
    left_out,
    moment_of,
    one_line,
    tags_of,
    text_of,
    uid_of,
)
from memory.carry.formats.notes import note
from memory.carry.formats.reading import Source, objects
from memory.config.files import TEXT_BYTES, bounded, utf8
from memory.config.front_matter import split
from memory.schema.draft import Draft
from memory.schema.errors import LINE_LIMIT, NAME_LIMIT
from memory.schema.kinds import PREFERENCE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
"""Lines that say what a session is about, the best first, each with its field."""

TYPES = frozenset({"user", "assistant", "system", "summary", "attachment", "queue-operation", "file-history-snapshot"})
"""Of the lines of a transcript; there are others."""


# Words -----------------------------------------------------------------------------
#
# The program puts words where people write: in tags, at the beginning of a line but for reminders, and in a few sentences.
# Who asks about such a tag writes it in a line, or as code.

_HARNESS = (
    *("system-reminder", "command-name", "command-message", "command-contents", "local-command-stdout"),
    *("local-command-stderr", "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "ide_opened_file"),
    *("ide_selection", "ide_diagnostics", "new-diagnostics", "post-tool-use-hook", "user-prompt-submit-hook"),
    *("session-start-hook", "task-notification", "teammate-message", "tool_use_error", "persisted-output"),
)
_PERSONS = ("command-args", "user-memory-input")
"""Tags around what a person typed behind a command."""

_TAG = re.compile(
    rf"(?:^[ \t]*|(?<![`\w])(?=<system-reminder))<({'|'.join((*_HARNESS, *_PERSONS))})(?:[ \t][^>\n]*)?>", re.MULTILINE
)
_INTERRUPTED = re.compile(r"^[ \t]*\[Request interrupted by user(?: for tool use)?\][ \t]*$\n?", re.MULTILINE)
_CAVEAT = "Caveat: The messages below were generated"
_CONTINUED = "This session is being continued from a previous conversation that ran out of context"
_REJECTED = "The user doesn't want to proceed with this tool use"
_SAYING = "the user said:"
_SYNTHETIC = "<synthetic>"
"""The model of what the program says in the assistant's place."""


def own_words(text: str) -> str:
    """A text that a person sent, without what the program put there."""
    if text.lstrip().startswith(_CAVEAT):
        return ""
    kept: list[str] = []
    at, open_ended = 0, set[str]()
    for found in _TAG.finditer(text):
        if found.start() < at or found[1] in open_ended:
            continue
        closing = f"</{found[1]}>"
        end = text.find(closing, found.end())
        if end < 0:
            open_ended.add(found[1])
            continue
        kept += [text[at : found.start()], text[found.end() : end] if found[1] in _PERSONS else ""]
        at = end + len(closing)
    kept.append(text[at:])
    return _INTERRUPTED.sub("", "".join(kept))


# Transcripts ------------------------------------------------------------------------


def turns(file: BinaryIO, name: str = "transcript") -> Iterator[Turn | LeftOut]:
    """
    What was said, in order, one line in memory at a time; `place` is the number of the line.

    A line that cannot be read is given as `LeftOut`.
    """
    for found in objects(file, name):
        if isinstance(found, LeftOut):
            yield found
        else:
            yield from (one for one in said(found[1], found[0]) if isinstance(one, Turn))


def said(line: Mapping[str, Any], place: int) -> Iterator[Turn | Passed]:
    """What somebody said in a line, and what else is in it."""
    role, message = line.get("type"), line.get("message")
    time = moment_of(line.get("timestamp"))
    if role == "attachment":
        queued = line.get("attachment")
        if isinstance(queued, dict) and queued.get("type") == "queued_command":
            text = own_words("\n\n".join(_texts(queued.get("prompt"))))
            person = queued.get("commandMode") in {None, "prompt"} and text.strip()
            yield Turn(USER, text, time, place) if person else Passed.HARNESS
        return
    if role not in (USER, ASSISTANT) or not isinstance(message, dict):
        return
    content = message.get("content")
    if line.get("isSidechain"):
        yield Passed.SUBAGENTS
        return
    if line.get("isMeta") or line.get("isApiErrorMessage") or message.get("model") == _SYNTHETIC:
        yield Passed.HARNESS
        return
    for block in content if isinstance(content, list) else []:
        if isinstance(block, dict) and (what := _BLOCKS.get(str(block.get("type")))):
            yield what
            text = "\n\n".join(_texts(block.get("content"))) if block.get("type") == "tool_result" else ""
            if text.startswith(_REJECTED) and (reason := text.partition(_SAYING)[2]).strip():
                yield Turn(USER, reason, time, place)
    text = "\n\n".join(_texts(content))
    if not text.strip():
        return
    if line.get("isCompactSummary") or (role == USER and text.startswith(_CONTINUED)):
        yield Turn(SUMMARY, text, time, place)
    elif role == ASSISTANT:
        yield Turn(ASSISTANT, text, time, place)
    else:
        words = own_words(text)
        yield Turn(USER, words, time, place) if words.strip() else Passed.HARNESS


_BLOCKS = {
    "tool_use": Passed.TOOLS,
    "tool_result": Passed.TOOLS,
    "server_tool_use": Passed.TOOLS,
    "web_search_tool_result": Passed.TOOLS,
    "thinking": Passed.THOUGHTS,
    "redacted_thinking": Passed.THOUGHTS,
    "image": Passed.MEDIA,
    "document": Passed.MEDIA,
}


def _texts(content: object) -> list[str]:
    """The texts of a message, or of a block of one."""
    if not isinstance(content, list):
        return [text_of(content)]
    blocks = (block for block in content if isinstance(block, dict) and str(block.get("type")) not in _BLOCKS)
    return [text for block in blocks if (text := text_of(block.get("text"))).strip()]


class _Session:
    """What the lines of a transcript say of its session: the last title of each sort, the first of all else."""

    def __init__(self) -> None:
        self.facts: dict[str, str] = {}
        self.queued: list[Turn] = []

    def notice(self, line: Mapping[str, Any], place: int) -> None:
        type = str(line.get("type"))
        field = TITLES.get(type)
        if field is not None and (title := text_of(line.get(field)).strip()):
            self.facts[type] = title
        for key in ("sessionId", "cwd", "gitBranch"):
            if isinstance(line.get(key), str) and not line.get("isSidechain"):
                self.facts.setdefault(key, text_of(line[key]))
        if type == "queue-operation" and (text := own_words(text_of(line.get("content")))).strip():
            self.queued.append(Turn(USER, text, moment_of(line.get("timestamp")), place))

    @property
    def title(self) -> str:
        return next((self.facts[name] for name in TITLES if name in self.facts), "")

    def whole(self, spoken: Iterable[Turn | Passed]) -> list[Turn | Passed]:
        """What was said, with what a person typed while the model worked and no other line has."""
        found = list(spoken)
        known = {one.text.strip() for one in found if isinstance(one, Turn)}
        missing = {one.text.strip(): one for one in self.queued if one.text.strip() not in known}
        for one in missing.values():
            at = next((n for n, other in enumerate(found) if isinstance(other, Turn) and other.place > one.place), None)
            found.insert(len(found) if at is None else at, one)
        return found


def transcript(source: Source, target: ImportTarget) -> Iterator[Read]:
    """A session as a note of the project that it was held in."""
    root, further = _resumed(source)
    if further:
        name = PurePosixPath(further).name
        yield left_out(source.name, f"the session goes on in {name}, which contains all of this one", ruled=True)
        return
    session, spoken, size = _Session(), list[Turn | Passed](), 0
    named = SESSION_FILE.search(source.name)
    if named:
        session.facts["sessionId"] = named[1]
    with source.opened() as file:
        for found in objects(file, source.name):
            if isinstance(found, LeftOut):
                yield found
                continue
            number, line = found
            session.notice(line, number)
            for one in said(line, number):
                spoken.append(one)
                size += len(one.text) if isinstance(one, Turn) else 0
            if size > LONGEST:
                break
    facts = session.facts
    folder = facts.get("cwd", "")
    yield from notes(
        Conversation(
            CLAUDE_CODE,
            root or (facts.get("sessionId") or source.name) + _moved(source),
            session.title,
            session.whole(spoken),
            target.of(target.project_of(folder) if folder else None),
            facts={key: facts[key] for key in ("sessionId", "cwd", "gitBranch") if facts.get(key)},
            cut=size > LONGEST,
            name=source.name,
            written=source.written,
        ),
        target.clean,
    )


# A session that was resumed -----------------------------------------------------------
#
# Resuming may begin another file, with a copy of all lines so far and of their session
# (https://github.com/anthropics/claude-code/issues/89380). A fork has lines that its first has not, and its first
# has lines that it has not: both stay.


class _Resumed(NamedTuple):
    """The first session of a chain, empty if it is none; and the file that has all of this one and more."""

    root: str
    further: str


def _resumed(source: Source) -> _Resumed:
    try:
        begun = _begun(source)
        alike = [
            other for several in begun.values() if source.name in {one.name for one in several} for other in several
        ]
        marks = {one.name: frozenset(_marks(one)) for one in alike} if len(alike) > 1 else {}
    except OSError:  # the folder may not be read, or a file was just removed
        return _Resumed("", "")
    if not (mine := marks.pop(source.name, None)):
        return _Resumed("", "")
    further = [name for name, other in marks.items() if mine < other or (mine == other and name < source.name)]
    former = [(len(other), name) for name, other in marks.items() if other < mine]
    first = SESSION_FILE.search(min(former)[1]) if former else None
    return _Resumed(first[1] if first else "", further[0] if further else "")


def _moved(source: Source) -> str:
    """
    What tells a transcript from one of the same session in the folder of another project, where the session began; empty if
    it began here. Either may have lines that the other lacks: they are two notes.
    """
    *_, folder, name = ("", *source.parts)
    if not SESSION_FILE.search(name):
        return ""
    others = [one for one in source.beside("../*", name) if one.parts[-2:-1] != (folder,)]
    first = min([source, *others], key=lambda one: (next(_times(one), ""), one.parts[-2:-1])) if others else source
    return "" if first is source else f"\n{folder}"


def _times(source: Source) -> Iterator[str]:
    for line in _lines_of(source):
        if time := text_of(line.get("timestamp")):
            yield time


_BEGUN: dict[Hashable, Mapping[str, tuple[Source, ...]]] = {}
"""Of the folder that was looked at last."""


def _begun(source: Source) -> Mapping[str, tuple[Source, ...]]:
    """The transcripts in a folder, by the first line in them that says something."""
    if source.folder not in _BEGUN or source.folder is None:
        found: dict[str, tuple[Source, ...]] = {}
        for one in source.beside(""):
            if one.name.endswith(".jsonl") and (first := next(_marks(one), "")):
                found[first] = (*found.get(first, ()), one)
        _BEGUN.clear()
        _BEGUN[source.folder] = found
    return _BEGUN[source.folder]


def _marks(source: Source) -> Iterator[str]:
    """What tells each line of a transcript in which something is said from all others."""
    for line in _lines_of(source):
        if line.get("type") in (USER, ASSISTANT) and not line.get("isSidechain"):
            yield repr((line.get("uuid") or line.get("timestamp"), line.get("message")))


def _lines_of(source: Source) -> Iterator[Mapping[str, Any]]:
    with source.opened() as file:
        for found in objects(file, source.name):
            if not isinstance(found, LeftOut):
                yield found[1]


# Memories -----------------------------------------------------------------------------

INDEX = "MEMORY.md"
CATEGORIES = {"feedback": PREFERENCE, "user": PREFERENCE, "project": "context", "reference": "context"}
"""What its sorts of memory are with us."""

_ENCODED = re.compile(r"-.*|[A-Za-z]--.*")
"""How the folder of a project is called: its path, with a dash for whatever is no letter and no digit."""

_ENTRY = re.compile(r"^\s*[-*+]\s+.*\]\([^)\s]{1,200}\.md\)", re.MULTILINE)


def of_memory(source: Source) -> bool:
    """Whether a Markdown file is a memory of a project."""
    return _depth(source.parts) > 0


def _depth(parts: tuple[str, ...]) -> int:
    """How many folders up from a memory the transcripts of its project lie; 0 if it is no memory."""
    for depth in range(1, len(parts) - 2):
        projects, project, memory = parts[-depth - 3 : -depth]
        if (projects, memory) == ("projects", "memory") and _ENCODED.fullmatch(project):
            return depth
    return 0


def memory(source: Source, target: ImportTarget) -> Iterator[Read]:
    """A memory as a note of the project in whose folder it lies; the list of them is none."""
    with source.opened() as file:
        text = target.clean(utf8(bounded(file, TEXT_BYTES, source.name), source.name, mark=True))
    if source.parts[-1] == INDEX and _ENTRY.search(text):
        yield left_out(source.name, "it only lists the memories beside it", ruled=True)
        return
    if not text.strip():
        yield left_out(source.name, BLANK, ruled=True)
        return
    depth = _depth(source.parts)
    folder, *_, name = source.parts[-depth - 2 :]
    found = note(split(text), name.removesuffix(".md"), target.clean)
    nested = found.metadata.get("metadata")
    facts = {**found.metadata, **nested} if isinstance(nested, dict) else {**found.metadata}
    title = one_line(facts.pop("name", "")) or found.title
    what, type = text_of(facts.pop("description", "")), one_line(facts.pop("type", ""), NAME_LIMIT).lower()
    if isinstance(nested, dict):
        del facts["metadata"]
    body = found.body.strip("\n")
    if len(what) > LINE_LIMIT:
        body = f"{what}\n\n{body}"
    draft = Draft(
        title=title,
        what=what[:LINE_LIMIT].strip() or title,
        body=body,
        category=CATEGORIES.get(type),
        tags=tags_of(target.clean, list(found.tags), [type] if type else ()),
        metadata=facts,
        project=target.of(_project(source, target, depth) or folder[:NAME_LIMIT]),
        source=CLAUDE_CODE,
    )
    updated = found.updated or moment_of(text_of(facts.get("modified"))) or source.written
    yield Item(draft, uid_of(CLAUDE_CODE, *source.parts[-depth - 2 :]), found.created or updated, updated)


def _project(source: Source, target: ImportTarget, depth: int) -> str | None:
    """The project that a transcript beside the folder of a memory names."""
    for other in source.beside("/".join([".."] * depth)):
        if not other.parts[-1].endswith(".jsonl"):
            continue
        session = _Session()
        with other.opened() as file:
            for number, found in enumerate(objects(file, other.name)):
                if not isinstance(found, LeftOut):
                    session.notice(found[1], number)
                if "cwd" in session.facts or number > _LINES:
                    break
        if project := target.project_of(session.facts.get("cwd", "")):
            return project
    return None


_LINES = 1_000
"""After so many lines without a folder, none is looked for."""


def _told(look: Beginning) -> bool:
    for one in look.shapes:
        long = not one.whole and "message" in one.outer  # what it goes on with is not seen
        if one.type in TYPES | TITLES.keys() and (one.outer & {"sessionId", "leafUuid"} or long):
            return True
    return False


FORMATS = (
    Format("Claude Code transcript", "Claude Code transcripts", "notes", transcript, _told, belongs=Belongs.NAMED),
)
MEMORY = Format("memory of Claude Code", "memories of Claude Code", "notes", memory, belongs=Belongs.NAMED)

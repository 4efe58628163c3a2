"""The verbs of one note, or of any memory by its id: save, correct; others are in `memory.tools.details` and `trash`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memory.schema.answer import Notice
from memory.schema.errors import BODY_LIMIT, EVERYWHERE, Invalid, StoreError, check_text, one_project
from memory.schema.kinds import CATEGORIES, RESEARCH_KINDS
from memory.schema.memory import INSTRUCTIONS
from memory.schema.step import USER, step
from memory.text.display import one_line
from memory.tools.arguments import ID, Parameter
from memory.tools.operation import HERE, Call, Given, Option, Result, Shown, but, command, tool
from memory.tools.render import data, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memory.schema.draft import Saved


UNKNOWN = Notice("your project is unknown, so this was saved for all projects", 'Name yours: project="my-app".')

TEMPLATE = "Context:\n\nOptions considered:\n- Option A:\n- Option B:\n\nDecision:\n\nTradeoffs:\n\nFollow-up:\n"  # EchoVault's
"""What `--details-template` saves as details."""

_TITLE = ("name", "subject")
"""What models call a title where they guess."""

_TEXTS = {"title": "title", "what": "what", "why": "why", "impact": "impact", "details": "body"}
"""The texts of a note, by the names used here, with the names that a draft has for them."""

_WORDS = (
    Parameter("what", "string", "The fact.", also=("fact", "summary"), plain=True),
    Parameter("why", "string", "The reason.", also=("reason", "rationale"), plain=True),
    Parameter("impact", "string", "The consequence.", also=("consequence", "consequences"), plain=True),
    Parameter("details", "string", "Everything else, in Markdown.", also=("content", "body", "text"), plain=True),
)
_LABELS = (
    Parameter("tags", "strings", "A few words to filter by.", also=("tag",), plain=True),
    Parameter("related_files", "strings", "Paths in the project.", also=("files", "paths"), plain=True),
)
"""What a note consists of, besides its title."""

_SHARED = Parameter("shared", "boolean", "A preference for everyone who shares the store.", hidden=True)

_ENDS = Parameter("valid_until", "string", "Last day, if any.", also=("until", "expires"))

_HAPPENED = Parameter(
    "happened_at", "string", "When it happened, if not now: 2026-03-14, 3d.", also=("at", "when"), hidden=True
)

_PINNED = Parameter("pinned", "boolean", "Comes first in every context.", also=("pin",))


def project(call: Call, name: str | None) -> str | None:
    """
    The project that an argument names; None for all projects, or for none.

    Raises:
        Invalid: It stands for the client's project, which is not known.
    """
    if name != HERE:
        return None if name == EVERYWHERE or not name else call.engine.documents.project(name)
    if (current := call.project) is None:
        raise Invalid(
            "your project is unknown",
            hint='Name it: project="my-app"; project="*" is all of them.',
        )
    return call.engine.documents.project(current)


def own(call: Call, name: str | None) -> str | None:
    """The project that an argument names, else the client's; None if neither is known."""
    if name is None and call.project is None:
        return None
    return project(call, HERE if name is None else name)


@tool(
    "Save a memory",
    "known:flag memory:name notices:notices",
    Parameter("title", "string", "At most 200 characters.", required=True, also=_TITLE),
    *_WORDS,
    Parameter("category", "string", "What it is about.", choices=CATEGORIES, also=("type", "kind"), plain=True),
    *_LABELS,
    Parameter("project", "string", 'Default yours; "" is all, e.g. a preference.'),
    Parameter("source", "string", "Default is the program you run in.", hidden=True),
    Parameter("supersedes", "id", "Id of what it replaces.", also=("replaces",)),
    _HAPPENED,
    _ENDS,
    but(_PINNED, hidden=True),
    _SHARED,
    project_argument="project",
    always=True,
)
def memory_save(call: Call, given: Given) -> Result:
    """
    Save what a later session would have to find out again: a decision and its reason, the cause of a bug, a pattern, a
    preference of the user. One settled fact per memory, in sentences that stand alone; nothing that code or git says, no
    secrets.
    """
    from memory.schema.draft import Draft  # 1 ms of what only shows
    from memory.tools.render import recall  # 4 ms that no command needs

    named = given.get("project")
    check_text("details", given.get("details", ""), BODY_LIMIT)
    draft = Draft(
        **{field: given.get(name, "") for name, field in _TEXTS.items()},
        category=given.get("category"),
        tags=given.get("tags", ()),
        related_files=given.get("related_files", ()),
        project=own(call, one_project(named)),
        source=given.get("source") or call.client or None,
        happened_at=given.get("happened_at"),
        valid_until=given.get("valid_until"),
    )
    old = None if given.get("supersedes") is None else call.engine.documents.get(given["supersedes"])
    result = call.engine.save(draft, supersedes=old and old.id, shared=bool(given.get("shared")))
    if given.get("pinned"):
        call.engine.documents.pin([result.memory.id])
    if named is None and draft.project is None:
        result = replace(result, notices=(*result.notices, UNKNOWN))
    if old is None:
        result = _with_replaceable(call, result, "save this again with supersedes='{}'")
    return Result(data.saved(result), recall.saved(result, instead=old))


@command(
    "save",
    Option("[TITLE]", name="named"),
    Option("--title TEXT", "The title, if it does not come first."),
    Option("--what TEXT", "The fact."),
    Option("--why TEXT", "The reason."),
    Option("--impact TEXT", "The consequence."),
    Option("--details TEXT|-", "Everything else, which `memory details` shows; - reads standard input."),
    Option("--details-file FILE", "The details, from a file."),
    Option("--details-template", "If there are no details, save headings to fill in."),
    Option("--category", "What it is about.", takes=CATEGORIES),
    Option("--tag TAG", "A tag; may be repeated.", several=True, blank=False),
    Option("--tags A,B", "Several tags, separated by commas."),
    Option("--file PATH", "A file it is about; may be repeated.", several=True, blank=False),
    Option("--related-files A,B", "Several files, separated by commas."),
    Option("--project [NAME]", "Its project; by default that of the current folder; '' for none."),
    Option("--source NAME", "The program it comes from, e.g. claude-code."),
    Option("--at DATE", "When it happened, if not now: 2026-03-14, 2026-03-14T10:30, 3d."),
    Option("--until DATE", "The last day on which it holds; 2w is in two weeks."),
    Option("--keyword-only", "Never send it to a model; it is then found only by words."),
    Option("--supersedes ID", "The memory it replaces."),
    Option("--entity NAME", "An entity it is about; may be repeated.", several=True),
    Option("--pin", "Pin it to the top of every context."),
    Option("--shared", "A preference for everyone who shares the database, not only for you."),
)
def save(call: Call, a: Given) -> Shown:
    """
    Save a note: a decision, a bug, a pattern or something learned.

    \b
        memory save "Switched to JWT auth" --what "Replaced session cookies" --category decision --tag auth
        git show | memory save "The migration" --details -
    """
    from memory.schema.draft import Draft

    texts: dict[str, Any] = {field: a[name] or "" for name, field in _TEXTS.items()}
    details = _written(a)
    body = TEMPLATE if a["details_template"] and not details.strip() else details
    texts |= {"title": _title(call, a), "body": body}
    draft = Draft(
        **texts,
        category=a["category"],
        tags=(*a["tag"], *_listed(a["tags"])),
        related_files=(*a["file"], *_listed(a["related_files"])),
        project=call.project if a["project"] is None else one_project(a["project"]) or None,
        source=a["source"] or None,
        keyword_only=a["keyword_only"],
        happened_at=a["at"],
        valid_until=a["until"],
    )
    with step("save", a["source"] or USER):
        saved = call.engine.save(draft, supersedes=a["supersedes"], entities=a["entity"], shared=a["shared"])
        if a["pin"]:
            call.engine.documents.pin([saved.memory.id])
    if a["supersedes"] is None:
        saved = _with_replaceable(call, saved, "save this again with --supersedes {}")
    done = f"{'Already saved' if saved.known else 'Saved'} {saved.memory.short_id}"
    return Shown(data.saved(saved), done, [*map(text.notice, saved.notices)])


def _with_replaceable(call: Call, saved: Saved, how: str) -> Saved:
    """
    What was saved, with a notice if another memory says nearly the same, or something else of the same thing.

    Args:
        how: What replaces that memory, with `{}` in place of its id.
    """
    if saved.known:
        return saved
    try:
        older = call.engine.replaceable(saved.memory)
    except StoreError as error:  # the memory is saved
        return replace(saved, notices=(*saved.notices, Notice(f"it was not compared with others: {error}", error.hint)))
    if older is None:
        return saved
    id = older.short_id
    title = "" if INSTRUCTIONS in older.flags else f" {one_line(older.title)}"
    told = Notice(f"this may replace {id}{title}; if so, {how.format(id)}")
    return replace(saved, notices=(*saved.notices, told))


def _title(call: Call, a: Given) -> str:
    if a["named"] is not None and a["title"] is not None:
        raise Invalid("there are two titles", hint="Leave out --title.")
    title = a["named"] if a["title"] is None else a["title"]
    if title is None:
        hint = 'memory save "A title" --what "What you decided"'
        if (taken := a["project"]) and taken != call.project:
            hint = f"--project took {taken!r} as the name of the project; put --project last."
        raise Invalid("a note needs a title", hint=hint)
    return str(title)


def _written(a: Given) -> str:
    if not (path := a["details_file"]):
        return a["details"] or ""
    if a["details"]:
        raise Invalid("there are two texts for the details", hint="Leave out --details or --details-file.")
    from memory.config.files import TEXT_BYTES, contents, utf8
    from memory.schema.errors import explained, printable

    with explained(Invalid, printable(path)):
        return utf8(contents(path, TEXT_BYTES), printable(path), mark=True)


def _listed(text: str | None) -> Iterator[str]:
    """The parts of a text between commas, without blank ones."""
    return filter(None, (part.strip() for part in (text or "").split(",")))


@tool(
    "Correct a memory",
    "known:flag memory:name notices:notices",
    ID,
    Parameter("title", "string", "Its new title.", also=_TITLE, plain=True),
    *(but(one, plain=True, hidden=one.name == "impact") for one in _WORDS),
    Parameter("category", "string", 'What it is about; "" clears it.', also=("type", "kind"), plain=True),
    *(but(one, meaning="Replaces all.", plain=False, hidden=one.name == "related_files") for one in _LABELS),
    _HAPPENED,
    but(_ENDS, hidden=True),
    but(_PINNED, plain=True),
    Parameter("project", "string", 'Its project; "." is the one you work on, "" none.', hidden=True),
    project_argument="project",
)
def memory_update(call: Call, given: Given) -> Result:
    """Correct a memory: what you give replaces what it said. If facts changed, save with `supersedes` instead."""
    from memory.tools.render import recall  # 4 ms that no command needs

    others = {"id", "project", "pinned"}
    changes = {_TEXTS.get(name, name): value for name, value in given.items() if name not in others}
    changes |= {"category": given["category"] or None} if "category" in given else {}
    changes |= {"project": project(call, one_project(given["project"]))} if "project" in given else {}
    if not changes and "pinned" not in given:
        raise Invalid("nothing to change", hint="Give what it should say, e.g. `what`.")
    check_text("details", given.get("details", ""), BODY_LIMIT)
    if "pinned" in given:
        call.engine.documents.pin([given["id"]], pinned=given["pinned"])
    saved = call.engine.documents.update(given["id"], **changes)
    return Result(data.saved(saved), recall.updated(saved, pinned=given.get("pinned")))


@command(
    "update ID",
    Option("--title TEXT"),
    Option("--what TEXT"),
    Option("--why TEXT"),
    Option("--impact TEXT"),
    Option("--details TEXT|-", "- reads standard input."),
    Option("--category NAME", "'' clears it."),
    Option("--tag TAG", "Replaces all its tags; may be repeated, '' clears them.", several=True),
    Option("--file PATH", "Replaces all its files; may be repeated, '' clears them.", several=True),
    Option("--project [NAME]", "Its project; without a name, or '.', that of the current folder; '' for none."),
    Option("--source NAME", "The program it comes from; '' clears it."),
    Option("--at DATE", "When it happened; '' clears it."),
    Option("--until DATE", "The last day on which it holds; '' clears it."),
    Option("--shared/--no-shared", "A preference for everyone who shares the database, or only for its author."),
)
def update(call: Call, a: Given) -> Shown:
    """
    Correct a memory in place. `memory details` shows its earlier versions.

    \b
        memory update 6225d224 --why "At noon there are 15 requests at a time"
    """
    changes: dict[str, Any] = {field: a[name] for name, field in _TEXTS.items() if a[name] is not None}
    changes |= {name: a[name] or None for name in ("category", "source", "project") if a[name] is not None}
    changes |= {
        field: a[name] for name, field in (("at", "happened_at"), ("until", "valid_until")) if a[name] is not None
    }
    one_project(a["project"])
    lists = {"tag": "tags", "file": "related_files"}
    changes |= {field: tuple(filter(None, a[name])) for name, field in lists.items() if a[name]}
    if not changes and a["shared"] is None:
        raise Invalid("nothing to change", hint="See `memory update --help`.")
    saved = call.engine.documents.update(a["id"], shared=a["shared"], **changes)
    done = f"Updated {saved.memory.short_id}"
    return Shown(data.document("save", data.saved(saved)), done, [*map(text.notice, saved.notices)])


# Pins ----------------------------------------------------------------------------


IDS = Option("ID...", blank=False)


@command("pin", IDS)
def pin(call: Call, a: Given) -> Shown:
    """
    Pin memories to the top of every context. A memory that supersedes a pinned one is pinned too. A memory of a
    research run comes first only in the contexts of that run.

    \b
        memory pin 6225d224
        memory list --pinned
    """
    return _pinned(call, a, pinned=True)


@command("unpin", IDS)
def unpin(call: Call, a: Given) -> Shown:
    """
    Unpin memories.

    \b
        memory unpin 6225d224
    """
    return _pinned(call, a, pinned=False)


def _pinned(call: Call, a: Given, *, pinned: bool) -> Shown:
    found = call.engine.documents.pin(a["id"], pinned=pinned)
    done = "Pinned" if pinned else "Unpinned"
    runs = dict.fromkeys(one.query_id for one in found if pinned and one.kind in RESEARCH_KINDS and one.query_id)
    notes = [f"what belongs to a run comes first in its contexts only: `memory context --run {run}`" for run in runs]
    lines = "\n".join(f"{done} {text.named(one)}" for one in found)
    return Shown({"memories": data.pointers(found)}, lines, [*map(text.plain, notes)])


COMMANDS = (save, update, pin, unpin)

"""The ways a text comes into a memory, the fields it may stand in, and what of its secrets is in the files then."""

from __future__ import annotations

import json
import random
from contextlib import closing
from typing import TYPE_CHECKING

import apsw
from agent import ERAS, Agent
from command import Shell
from page import serving
from secret_forms import FORMS, NAMED
from secrets_made import SHAPES, Made, made, runs

from memory.config import Config
from memory.config.settings import EmbeddingSettings
from memory.engine import Engine
from memory.schema.draft import Draft
from memory.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

FIELDS = ("what", "body", "metadata")


def one_of_each() -> list[Made]:
    """A secret of every form that has a rule."""
    dice = random.Random(15)
    named = (f"any {form.replace('{}', 'x9{r10}')}" for form in NAMED)
    return [made(shape, dice) for shape in (*SHAPES, *named, *(f"any {form}" for form in FORMS))]


def fields(field: str, text: str) -> dict[str, object]:
    """A note that says this in one of the `FIELDS`."""
    said: dict[str, object] = {"title": "A title", "what": "What is the case.", "body": "Everything else."}
    return said | {field: {"note": [text]} if field == "metadata" else text}


def library(home: Path, field: str, texts: Iterable[str]) -> None:
    home.mkdir()
    off = Config(embedding=EmbeddingSettings(provider="none"))
    with Engine(SqliteStore(home / "memory.db"), off) as engine:
        engine.save_all([Draft(**fields(field, text)) for text in texts])


def importing(home: Path, field: str, texts: Iterable[str]) -> None:
    lines = "\n".join(json.dumps(fields(field, text)) for text in texts)
    _shell(home)("import", "-", stdin=lines)


def sessions(home: Path, field: str, texts: Sequence[str]) -> None:
    """Sessions of Claude Code: what was asked, what was answered, and the branch it was about."""
    folder = _beside(home, "sessions")
    for number, told in enumerate(_together(texts)):
        asked, answered, branch = (told if field == name else "Go on." for name in FIELDS)
        line = {"sessionId": f"s{number}", "gitBranch": branch}
        said = [
            line | {"type": role, "message": {"role": role, "content": text}}
            for role, text in (("user", asked), ("assistant", answered))
        ]
        (folder / f"{number}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in said), "utf-8")
    _shell(home)("import", folder)


def pages(home: Path, field: str, texts: Sequence[str]) -> None:
    """Pages of Markdown: their titles, what stands on them, and what their front matter says else."""
    folder = _beside(home, "pages")
    for number, told in enumerate(texts if field == "what" else _together(texts)):
        title, body, note = (told if field == name else f"Page {number}." for name in FIELDS)
        head = f"---\ntitle: {json.dumps(title)}\nnote: {json.dumps(note)}\n---\n"
        (folder / f"{number}.md").write_text(head + body, "utf-8")
    _shell(home)("import", folder)


def command(home: Path, field: str, texts: Sequence[str]) -> None:
    """Notes of the command line, as many texts in one as it takes."""
    shell = _shell(home)
    for told in _together(texts):
        match field:
            case "what":
                shell("save", "A title", "--what", told)
            case "body":
                shell("save", "A title", "--what", "What is the case.", "--details", "-", stdin=told)
            case "metadata":  # the command line has none: the texts stand in why
                shell("save", "A title", "--what", "What is the case.", "--why", told)


def updating(home: Path, field: str, texts: Sequence[str]) -> None:
    """Corrections of one note, each with as many texts as it takes; its earlier versions stay in the file."""
    shell = _shell(home)
    one = shell("save", "A title", "--what", "What is the case.", "--json").json["memory"]["id"]
    for told in _together(texts):
        match field:
            case "what":
                shell("update", one, "--what", told)
            case "body":
                shell("update", one, "--details", "-", stdin=told)
            case "metadata":
                shell("update", one, "--why", told)


def tools(home: Path, field: str, texts: Sequence[str]) -> None:
    """Tools of every toolset that take a text."""
    with Agent(_shell(home), ERAS[-1], ["--toolset", "all"]) as agent:
        for number, told in enumerate(_together(texts)):
            said = {{"what": "what", "body": "details", "metadata": "impact"}[field]: told}
            one = agent.call("memory_save", title=f"Saved {number}", **said)["memory"]["id"]
            agent.call("memory_update", id=one, why=told)
            agent.call("store_working_memory", agent_id="a", session_id="s", content=told)
            more = {"metadata": {"note": [told]}} if field == "metadata" else {}
            agent.call("memory_store", type="discovery", agent="a", content=told, query_id="run", **more)
            agent.call("create_entities", entities=[{"name": f"Entity {number}", "observations": [told]}])


def form(home: Path, field: str, texts: Sequence[str]) -> None:
    """The form of the page, by which a note is saved."""
    with serving(_shell(home)) as page:
        for number, told in enumerate(_together(texts)):
            said = {{"what": "what", "body": "details", "metadata": "why"}[field]: told}
            assert "Saved" in page.post("/run/save", named=f"Typed {number}", **said).words


WAYS: dict[str, Callable[[Path, str, Sequence[str]], None]] = {
    "library": library,
    "import": importing,
    "sessions": sessions,
    "pages": pages,
    "command": command,
    "update": updating,
    "tools": tools,
    "form": form,
}


def left(home: Path, several: Iterable[Made]) -> list[str]:
    """The texts of which eight characters of the secret, or more, stand in a file of this folder."""
    data = b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())
    for uid in _uids(home / "memory.db"):  # random hex digits, which eight of a secret may meet
        data = data.replace(uid, b"")
    several = list(several)
    around = "\n".join(one.text.replace(one.secret, " ") for one in several)
    around += around.replace("\n", " ")  # as an index keeps it
    stretches = {data[at : at + 8] for at in range(len(data))}
    return [
        one.text
        for one in several
        if any((run.encode() in stretches) and run not in around for run in runs(one.secret) if len(run) >= 8)
    ]


def _uids(path: Path) -> list[bytes]:
    if not path.exists():
        return []
    with closing(apsw.Connection(f"file:{path}?mode=ro", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)) as db:
        return [uid.encode() for (uid,) in db.execute("select uid from memories")]


def _together(texts: Sequence[str]) -> Iterator[str]:
    """Fifty texts at a time, in one."""
    for first in range(0, len(texts), 50):
        yield "\n\n".join(texts[first : first + 50])


def _beside(home: Path, name: str) -> Path:
    folder = home.with_name(f"{home.name}-{name}")
    folder.mkdir()
    return folder


def _shell(home: Path) -> Shell:
    return Shell(home, _beside(home, "work"), {"MEMORY_EMBEDDING_PROVIDER": "none", "MEMORY_EMBEDDING_MODEL": ""})

"""Errors: bad values of every option of every command, what is not there, and stores and models in a bad way."""

from __future__ import annotations

import itertools
import re
import sqlite3
from typing import TYPE_CHECKING

from memory.config.settings import StoreSettings
from seen.commands import helps
from seen.made import RUN
from seen.shell import Shell

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS = {
    ("save",): ["T"],
    ("store",): ["report", "short.md", "--session", "s", "--agent", "a"],
    ("update",): ["3"],
    ("search",): ["ledger"],
    ("details",): ["1"],
    ("expand",): ["1"],
    ("reconstruct",): ["1"],
    ("session", "show"): ["login"],
    ("session", "context"): ["login"],
    ("run", "show"): [RUN],
    ("run", "context"): [RUN],
    ("run", "export"): [RUN],
    ("graph", "add"): ["Redis"],
    ("graph", "about"): ["Redis"],
    ("graph", "show"): ["Redis"],
    ("graph", "search"): ["x"],
    ("import",): ["notes"],
    ("watch",): ["notes", "--once"],
    ("eval",): ["judged", "--systems", "keywords"],
    ("setup",): ["cursor", "--dry-run"],
}
"""What a command needs to come as far as its options."""
SLOW = {("demo",)}
BAD = {"N": ["x", "-1", "99999999999"], "W": ["x", "7"], "WHEN": ["someday"], "KIND": ["nope"]}
OTHER = ["", "a\nb"]

LINES = f"""
nope
serch x
--nope list
--home
--config nowhere.yaml list
--config short.md list
save ""
save "{"x" * 201}"
save T --details - --what -
save T --supersedes 999
save T --supersedes nope
save T --category nope
store nope short.md
store report nowhere.md --session s --agent a
store report short.md
store report short.md --session s
store knowledge_base guide.md --session s
store input_prompt
update 999 --why x
update 3
delete nope
delete 1*
delete a
search ""
search " "
search x --project ""
search --project work
search x --near nobody
search x --within 3
search x --run nope
search x --session nope
details nope
details 0
details 999
details a
details abc*
expand 999
expand nope
reconstruct 999
reconstruct 1 -o nowhere/out.md
reconstruct 1 --force
session show
session nope
session stats nope
session context nope
run show nope
run context nope
run export nope
run clear nope
run import nowhere.json
graph show nobody
graph show Postgre
graph add ""
graph observe nobody x
graph forget nobody x
graph link nobody uses Redis
graph link Redis uses nobody
graph link Redis uses Redis
graph link Redis "" Postgres
graph unlink Redis hates Postgres
graph rename Redis Postgres
graph rename Redis ""
graph delete nobody
graph about Redis 999
graph path Redis nobody
graph nope
graph import missing
graph export -o nowhere/out
import missing
import broken.jsonl
watch missing --once
watch short.md --once
export -o nowhere/out.jsonl
eval missing
eval judged --systems nope
cleanup --kind nope
config nope
config set search.limit
config set search.limit x
config set search.limit 0
config set search.mode nope
config set nope.key 1
config set serch.limit 1
config set embedding.provider nope
config set embedding.daily_budget "5 apples"
config set chunking.kinds "nope = 3"
config set project_aliases "a = "
config import nowhere.json
config import short.md
setup nope
setup cursor --no-hooks nope
setup claude-desktop --project
hook nope
hook session-start --agent nope
completion nope
mcp --toolset nope
mcp --run ""
mcp --port 1
demo nope
"""
SETTINGS = {
    "NOPE": "1",
    "SEARCH_LIMIT": "many",
    "SEARCH_GATE": "nope",
    "SEARCH_EFFORT": "2",
    "SEARCH_DEEPEN": "perhaps",
    "EMBEDDING_PROVIDER": "nope",
    "EMBEDDING_PRICE": "-1",
    "CHUNKING_SIZE": "0",
    "CHUNKING_OVERLAP": "900",
    "GRAPH_THRESHOLD": "2",
    "MCP_TOOLSETS": "nope",
    "MCP_STRUCTURED": "nope",
    "RESEARCH_RUN": "a b\nc",
    "STORE_BUSY_SECONDS": "-1",
}
FILES = {
    "not-yaml": "search: [\n",
    "unknown-section": "serch:\n  limit: 3\n",
    "unknown-key": "search:\n  limt: 3\n",
    "bad-value": "search:\n  limit: many\n",
    "bad-choice": "search:\n  gate: nope\n",
    "a-list": "- 1\n",
    "null": "search:\n",
    "a-secret": "embedding:\n  openai_key: sk-nope\n",
}
ASKING = """
search ledger
search "quarterly pigeons" --explain
save New --what thing
status
doctor
embed
reindex --dry-run
list
graph stats
export -o dead.jsonl
"""


def see(store: Shell) -> None:
    shell = store.copy("refused")
    shell.lines("errors/asked", LINES)
    for words, text in list(helps(shell)):
        if words not in SLOW:
            for more in _bad(text):
                shell("errors/options", *words, *ARGUMENTS.get(words, []), *more)
    shell.tell()
    for key, value in SETTINGS.items():
        other = shell.given(**{f"MEMORY_{key}": value})
        for words in (["status"], ["search", "ledger"], ["list", "--json"], ["config", "--json"]):
            other("errors/settings", *words, note=f"{key}={value} ")
    for name, text in FILES.items():
        (shell.folder / f"{name}.yaml").write_text(text, "utf-8")
        shell.lines("errors/settings", f"--config {name}.yaml list\n--config {name}.yaml config search.limit")
    _models(store)
    _damaged(store)


def _bad(text: str) -> Iterator[list[str]]:
    """Of each option of a help text: without a value, and with values that it may not take."""
    yield ["--nope"]
    yield ["one", "too", "many", "words"]
    for name, takes in re.findall(r"^  (?:-\w, )?(--[\w-]+)(?: ([^\s/]+))?(?:  |$)", text, re.MULTILINE):
        if not takes:
            continue
        yield [name]
        for value in BAD.get(takes, ["nope"] if takes.startswith("[") and takes != "[NAME]" else OTHER):
            yield [name, value]


def _models(store: Shell) -> None:
    """A server that is not there, a model of another width, another model than that of the vectors, none."""
    dead = {"EMBEDDING_PROVIDER": "ollama", "EMBEDDING_MODEL": "m"}
    states = {
        "dead-ollama": dead | {"EMBEDDING_BASE_URL": "http://127.0.0.1:1"},
        "dead-openai": dead | {"EMBEDDING_PROVIDER": "openai", "EMBEDDING_BASE_URL": "http://127.0.0.1:1/v1"},
        "no-key": {"EMBEDDING_PROVIDER": "openai", "EMBEDDING_MODEL": "m"},
        "wrong-width": {"EMBEDDING_DIMENSIONS": "32"},
        "other-model": {"EMBEDDING_MODEL": "hashed-32"},
        "no-model": {"EMBEDDING_PROVIDER": "none", "EMBEDDING_MODEL": ""},
        "unknown-model": {"EMBEDDING_MODEL": "nope"},
        "unknown-local": {"EMBEDDING_PROVIDER": "local", "EMBEDDING_MODEL": "nope"},
    }
    for name, settings in states.items():
        shell = store.copy(name).given(**{f"MEMORY_{key}": value for key, value in settings.items()})
        shell.lines(f"errors/{name}", ASKING)
        Shell.made(store.record, store.record.place / f"only-{name}", **shell.settings).lines(
            f"errors/{name}-from-the-start", "save Old --what ledger" + ASKING + "details 1\ngraph add x"
        )
    shell.given(MEMORY_EMBEDDING_MODEL="hashed-32", MEMORY_EMBEDDING_PROVIDER="hashed").lines(
        "errors/other-model", "reindex\nsearch ledger --mode vector\nstatus\nreindex --rollback\nstatus"
    )


def _damaged(store: Shell) -> None:
    for name, spoil in {
        "text": _text,
        "cut": _cut,
        "middle": _middle,
        "end": _end,
        "newer": _newer,
        "foreign": _foreign,
    }.items():
        shell = store.copy(f"damaged-{name}")
        (path,) = shell.home.glob("*.db")
        spoil(str(path))
        shell.lines(f"errors/damaged-{name}", ASKING + "doctor --fix\nlist")
    shell = store.copy("busy")
    usual, StoreSettings.busy_seconds = StoreSettings.busy_seconds, 0.1
    (path,) = shell.home.glob("*.db")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("begin immediate")
    shell.lines("errors/busy", "save New\nlist -n 1\nupdate 3 --why x\ngraph add x\ndelete 3")
    holder.close()
    StoreSettings.busy_seconds = usual
    shell = store.copy("nothing")
    for path in shell.home.iterdir():
        path.unlink()
    shell.lines(
        "errors/nothing", "stats" + ASKING + "session\nrun\ngraph\nledger\ncontext\ndetails 1\nhook session-start"
    )


def _text(path: str) -> None:
    with open(path, "wb") as file:  # noqa: PTH123
        file.write(b"no database at all\n" * 400)


def _cut(path: str) -> None:
    with open(path, "r+b") as file:  # noqa: PTH123
        file.truncate(4096 * 20)


def _middle(path: str) -> None:
    with open(path, "r+b") as file:  # noqa: PTH123
        for page in itertools.chain(range(30, 60), range(80, 90)):
            file.seek(4096 * page)
            file.write(b"\xff" * 4096)


def _end(path: str) -> None:
    with open(path, "r+b") as file:  # noqa: PTH123
        file.seek(-4096 * 12, 2)
        file.write(b"\xff" * 4096 * 6)


def _newer(path: str) -> None:
    database = sqlite3.connect(path)
    database.execute("pragma user_version = 9999")
    database.close()


def _foreign(path: str) -> None:
    with open(path, "wb") as file:  # noqa: PTH123
        file.truncate()
    database = sqlite3.connect(path)
    database.execute("create table memories (x)")
    database.commit()
    database.close()

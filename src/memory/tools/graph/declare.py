"""
How a verb of the entity graph is declared, as a function that is both a tool and a method, and as a command; and how its
answers read, for a person and, fenced as data, for an agent. Ids of rows are as `memory.tools.graph.rows.shown` has them.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from memory.schema.memory import INSTRUCTIONS
from memory.schema.moments import dated
from memory.schema.query import MOST
from memory.text.display import (
    INTRODUCTION,
    MARK,
    bracketed,
    escape_controls,
    escape_invisible,
    fenced,
    holding,
    one_line,
)
from memory.tools.arguments import MANY, SOUGHT, Parameter, answer_record, brief
from memory.tools.graph.rows import SHAPES, Values, shown
from memory.tools.operation import Call, Command, Given, Operation, Option, Result, Shown, told
from memory.tools.render.recall import for_agents
from memory.tools.render.text import HOW, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from memory.engine import Engine

Method = TypeVar("Method", bound="Callable[..., Values]")

DECLARED: dict[str, Operation] = {}
"""The tools by name."""

QUERY = brief("query", "string", "What to look for: words or a question.", required=True, also=SOUGHT)
ENTITY = brief("entity", "id", "The entity's name or id.", required=True)
PAGE = Option("-n --limit N", takes=(1, MOST), usual=20)


class GraphTools:
    """Base class of the graph tools: an engine, and the program and agent that use it."""

    def __init__(self, engine: Engine, *, source: str | None = None, agent: str | None = None) -> None:
        """
        Args:
            engine: An open engine, which the caller closes.
            source: The program that saves, e.g. "claude-code".
            agent: The agent that saves.
        """
        self._engine, self.source, self.agent = engine, source, agent

    @property
    def engine(self) -> Engine:
        """The engine it works on."""
        return self._engine


def tool(title: str, returns: str, *parameters: Parameter, **hints: Any) -> Callable[[Method], Method]:
    """
    Declare a method of `EntityGraph` as a tool of the same name: a function whose first parameter is `self`, as whoever
    looks at the class expects. Agents read the first paragraph of its docstring.

    Args:
        returns: The fields of its answer, besides those that all answers have.
    """

    def declared(method: Method) -> Method:
        def run(call: Call, arguments: Given) -> Result:
            work = {"progress": call.progress} if "progress" in (method.__kwdefaults__ or ()) else {}
            values = method(GraphTools(call.engine, source=call.client or None), **arguments, **work)
            return Result({**values, "about": INTRODUCTION}, answer(shown(call.engine, values)))

        name, schema = method.__name__, answer_record(f"about {returns} notices:notices", **SHAPES)
        DECLARED[name] = Operation(name, title, told(method), parameters, schema, run=run, **hints)
        return method

    return declared


reading = partial(tool, reads=True)


def command(usage: str, *options: Option) -> Callable[[Callable[[GraphTools, Given], Values]], Command]:
    """Declare a command of `memory graph`: it prints rows, a summary and notices."""

    def declared(run: Callable[[GraphTools, Given], Values]) -> Command:
        def printed(call: Call, a: Given) -> Shown:
            values = run(GraphTools(call.engine), a)
            notes = (person(values), *(f"{one['text']} {one['hint']}".rstrip() for one in values["notices"]))
            said = escape_controls("\n".join(lines(shown(call.engine, values), VERBS)))
            return Shown(values, said, tuple(map(escape_controls, filter(None, notes))))

        return Command(f"graph {usage}", run.__doc__ or "", options, printed)

    return declared


def limit(usual: int, most: int = 100) -> Parameter:
    return brief("limit", "integer", f"Maximum results; usually {usual}.", low=1, high=most, also=MANY)


def distance(usual: int) -> Parameter:
    meaning = f"Maximum relations away; usually {usual}."
    return brief("max_distance", "integer", meaning, low=0, high=10, strict=True)


# Answers as text -----------------------------------------------------------------

ALTOGETHER = 60_000
"""
Characters of the rows in an agent's answer, and as many again of their further lines. What is beyond is counted instead
of shown. A single entity is shown whole.
"""

_GROUPS = (
    *("created", "duplicates", "results", "deleted", "linked", "unlinked", "unknown", "generated", "failed"),
    *("entities", "relations", "memories", "hits"),
)
"""The lists of rows that an answer may have, in the order in which they are shown."""

_SAID = {
    "created": ("saved", "saved"),
    "duplicates": ("already saved", "already saved"),
    "results": ("entity", "entities"),
    "unknown": ("not there", "not there"),
    "generated": ("embedded", "embedded"),
    "entities": ("entity", "entities"),
    "relations": ("relation", "relations"),
    "memories": ("memory", "memories"),
    "hits": ("memory", "memories"),
}
"""The words for one row of a list and for several, where the list's name will not do."""

_FACTS = {
    "total_entities": ("entity in all", "entities in all"),
    "total_relations": ("relation in all", "relations in all"),
    "total_memories": ("memory in all", "memories in all"),
    "unchanged": ("left as it was", "left as they were"),
    "excluded": ("never embedded", "never embedded"),
}
_DOUBTS = {
    "nothing_relevant": "which likely do not answer",
    "weak": "possible matches",
    "degraded": "found without the model, which did not answer",
}
"""A doubt about an answer, by its outcome; the other outcomes raise none."""

_PARTS = {
    "observations": "",
    "added": "added: ",
    "deleted": "removed: ",
    "known": "known already: ",
    "unknown": "not there: ",
}


def answer(values: Mapping[str, Any]) -> str:
    """For an agent: a summary line, then the rows, fenced, then the notices."""
    alone = len(values.get("entities", ())) == 1
    body = fenced("\n".join(lines(values) if alone else _shortened(lines(values))))
    said = (f"Note: {one_line(one['text'])}. {for_agents(one['hint'])}".rstrip() for one in values["notices"])
    return "\n".join(filter(None, [head(values), body.rstrip(), *said])) + "\n"


def head(values: Mapping[str, Any]) -> str:
    """The summary line: how many of what."""
    if "total_observations" in values:
        return ""
    counts = {name: rows if isinstance(rows := values[name], int) else len(rows) for name in _GROUPS if name in values}
    some = {name: count for name, count in counts.items() if count} or dict(list(counts.items())[:1])
    if not any(some.values()) and values.get("tier"):
        return f"Nothing found {HOW[values['tier']]}."
    facts = [counted(count, *_SAID.get(name, (name, name))) for name, count in some.items()]
    facts += [counted(values[name], *said) for name, said in _FACTS.items() if values.get(name)]
    if "found" in values:
        facts = [f"A path of {counted(values['length'], 'relation')}" if values["found"] else "No path"]
    facts += [f"found {HOW[values['tier']]}"] if values.get("tier") else []
    if any(some.values()) and (doubt := _DOUBTS.get(values.get("outcome") or "")):
        facts.append(doubt)
    return f"{', '.join(facts)}." if facts else ""


VERBS = {"created": "Saved ", "deleted": "Deleted ", "linked": "Linked ", "unlinked": "Unlinked "}
"""What was done with a row, for a person, by the list it is in."""


def person(values: Mapping[str, Any]) -> str:
    """The summary line for a person; empty if one row says it all."""
    if values.get("total_entities") == 0:
        return "the graph is empty; `memory graph add NAME` makes an entity"
    alone = sum(len(values[name]) for name in _GROUPS if isinstance(values.get(name), list)) == 1
    said = "" if alone and "tier" not in values else head(values).rstrip(".")
    return said[:1].lower() + said[1:]


def _shortened(found: Iterable[str]) -> Iterator[str]:
    used, left_out = {True: 0, False: 0}, 0
    for one in found:
        further = one.startswith("  ")  # counted apart, so that long observations hide no other entity's name
        used[further] += len(one)
        if used[further] <= ALTOGETHER:
            yield one
        else:
            left_out += 1
    if left_out:
        yield f"({left_out:,} more lines are left out: ask for fewer)"


def lines(values: Mapping[str, Any], verbs: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """
    The rows of an answer, a line each, and further lines for their observations.

    Args:
        verbs: What stands before a row, by the list it is in.
    """
    if isinstance(values.get("entity"), str):
        yield f"entity: {_name(values['entity'])}"
    if values.get("path"):
        yield " - ".join(map(_name, values["path"]))
    for group in _GROUPS:
        rows = values.get(group)
        label = f"{_SAID[group][0]}: " if group in {"duplicates", "unknown"} else verbs.get(group, "")
        for row in rows if isinstance(rows, list) else ():
            yield from _row(row, label)
    if "entity" in values and isinstance(values["entity"], dict):
        yield from _row(values["entity"], "")
    if "total_observations" in values:
        yield from _stats(values)


def _stats(values: Mapping[str, Any]) -> Iterator[str]:
    shares = {"entities": "entity_types", "relations": "relation_types"}
    for name in ("entities", "relations", "observations"):
        yield f"{name}: {values[f'total_{name}']:,}{_shares(values.get(shares.get(name, ''), {}))}"
    yield f"entities without a relation: {values['isolated_entities']:,}"
    yield f"links to memories: {values['linked_memories']:,}"
    yield f"embeddings{_shares(values['embedding_status']) or ': none'}"


def _shares(counts: Mapping[str, int]) -> str:
    said = ", ".join(f"{one_line(name)} {count:,}" for name, count in counts.items() if count)
    return f" ({said})" if said else ""


def _row(row: Any, label: str) -> Iterator[str]:
    if not isinstance(row, dict):
        yield f"{label}{_name(str(row))}"
    elif "relationType" in row:
        yield f"{label}{_name(row['from'])} -[{_name(row['relationType'])}]-> {_name(row['to'])}"
    elif "name" in row:
        yield from _entity(row, label)
    else:
        yield from _memory(row, label)


def _entity(row: Mapping[str, Any], label: str) -> Iterator[str]:
    """An entity: facts about it in brackets, its name, then its observations."""
    facts = [row["id"], row.get("entityType") or "", *_scores(row)]
    if (state := row.get("embedding_status", "generated")) != "generated":
        facts.append(state)
    yield f"{label}{bracketed(facts)} {_name(row['name'])}"
    yield from _marked(row)
    yield from (f"  {one_line(row['error'])}",) if row.get("error") else ()
    for name, said in _PARTS.items():
        for text in row.get(name, ()):
            yield from _observation(f"  - {said}", text)


def _name(text: str) -> str:
    """A name letter by letter, since other tools take it exactly; line breaks become blanks."""
    return " ".join(escape_invisible(text).splitlines())


def _observation(mark: str, text: str) -> Iterator[str]:
    """An observation as stored, since it is removed by its exact text. Further lines are indented, to belong to it."""
    first, *more = escape_invisible(text).splitlines() or [""]
    yield f"{mark}{first}"
    yield from (f"    {one}" for one in more)


def _scores(row: Mapping[str, Any]) -> Iterator[str]:
    if "score" in row:
        yield f"score {row['score']:.2f}"
    if row.get("distance") is not None:
        yield f"{counted(row['distance'], 'relation')} away"


def _memory(row: Mapping[str, Any], label: str) -> Iterator[str]:
    happened, end = (row[name] and datetime.fromisoformat(row[name]) for name in ("happened_at", "valid_until"))
    date = dated(happened or datetime.fromisoformat(row["created_at"]))
    facts = [row["id"], row["kind"], row["project"] or "", date, holding(end)]
    yield f"{label}{bracketed(facts)} {one_line(row['title'] or row['kind'])}"
    yield from _marked(row)
    said = row.get("text") or row["what"]
    if said.strip():
        yield f"  {one_line(said)}"


def _marked(row: Mapping[str, Any]) -> Iterator[str]:
    if INSTRUCTIONS in row.get("flags", ()):
        yield f"  {MARK}"

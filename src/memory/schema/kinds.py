"""The kinds of memories, and what each one requires: one registry for everything that asks."""

from __future__ import annotations

from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from memory.schema.errors import Invalid, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class Kind(StrEnum):
    """
    The kind of a memory.

    NOTE: a note of a coding agent. SESSION_CONTEXT to KNOWLEDGE_BASE: records of a session. DISCOVERY to QUERY_RESULT:
    records of a research run. ENTITY: a node of the graph. ITEM: a value under a program's own key. Plurals and
    capitals work too: `Kind("Reports")`.
    """

    NOTE = "note"
    SESSION_CONTEXT = "session_context"
    INPUT_PROMPT = "input_prompt"
    SYSTEM_MEMORY = "system_memory"
    REPORT = "report"
    REPORT_OBSERVATION = "report_observation"
    WORKING_MEMORY = "working_memory"
    KNOWLEDGE_BASE = "knowledge_base"
    DISCOVERY = "discovery"
    INSIGHT = "insight"
    DEADEND = "deadend"
    FEEDBACK = "feedback"
    PLAN = "plan"
    CONTEXT = "context"
    QUERY_RESULT = "query_result"
    ENTITY = "entity"
    ITEM = "item"

    @classmethod
    def _missing_(cls, value: object) -> Kind | None:
        """Accept plurals and capitals, as `kind` does."""
        if not isinstance(value, str) or (name := singular(value)) == value:
            return None
        return cls(name)


PREFERENCE = "preference"
CATEGORIES = ("decision", "bug", "pattern", "learning", "context", PREFERENCE)
"""What a note may be about."""


class KindRule(NamedTuple):
    """
    What a kind requires and allows.

    Attributes:
        required: Fields of a draft that must be set.
        forbidden: Fields that must not be set, because they mean nothing for the kind.
        chunked: Whether a long body is cut into chunks; otherwise it is one chunk.
        repeats: Whether the same content may be saved twice in the same scope.
        categories: The categories it may have; None allows any.
        told: Whether a context may include it as a recent memory, without a match. Prompts, reports and results of
            tools are only for agents that resume their session or run.
        one: Fields that identify the one active memory of the kind: a draft with the same values means that memory.
        renewed: Such a draft replaces that memory's content; otherwise the memory counts as already known.
        unique: Whether there is only one in the whole store, active or not; it is then never superseded.
    """

    family: Literal["note", "session", "research", "graph", "keyed"]
    required: tuple[str, ...]
    chunked: bool = False
    repeats: bool = False
    categories: tuple[str, ...] | None = None
    told: bool = True
    forbidden: tuple[str, ...] = ()
    one: tuple[str, ...] = ()
    renewed: bool = False
    unique: bool = False


_SESSION = ("session_id", "body")
_RUN = ("query_id", "body")
_SCOPE = ("project", "session_id", "session_iter", "task_code", "query_id")  # not for entities

BY_AUTHOR = ("agent_id", "query_id")
"""The author, and the research run."""

BY_KEY = ("namespace", "key")
"""The place of an item; see `memory.schema.item`."""


RULES: Mapping[Kind, KindRule] = MappingProxyType(
    {
        Kind.NOTE: KindRule("note", ("title",), chunked=True, categories=CATEGORIES),
        Kind.SESSION_CONTEXT: KindRule("session", ("session_iter", *_SESSION), told=False),
        # The same prompt may be saved twice: people do say "continue" again.
        Kind.INPUT_PROMPT: KindRule("session", ("session_iter", *_SESSION), repeats=True, told=False),
        Kind.SYSTEM_MEMORY: KindRule("session", ("agent_id", *_SESSION)),
        Kind.REPORT: KindRule("session", ("agent_id", *_SESSION), chunked=True),
        Kind.REPORT_OBSERVATION: KindRule("session", ("agent_id", *_SESSION)),
        Kind.WORKING_MEMORY: KindRule("session", ("agent_id", *_SESSION), chunked=True),
        Kind.KNOWLEDGE_BASE: KindRule(
            "session", ("title", "body"), chunked=True, forbidden=("session_id", "session_iter", "task_code")
        ),
        Kind.DISCOVERY: KindRule("research", _RUN, told=False),
        Kind.INSIGHT: KindRule("research", _RUN, told=False),
        Kind.DEADEND: KindRule("research", _RUN, told=False),
        # A supervisor writes feedback every few seconds, so it replaces the former one.
        Kind.FEEDBACK: KindRule("research", _RUN, told=False, one=BY_AUTHOR, renewed=True),
        Kind.PLAN: KindRule("research", _RUN, repeats=True, told=False),
        Kind.CONTEXT: KindRule("research", _RUN, told=False),
        Kind.QUERY_RESULT: KindRule("research", _RUN, repeats=True, told=False),
        Kind.ENTITY: KindRule(
            "graph", ("title",), chunked=True, told=False, one=("title",), forbidden=_SCOPE, unique=True
        ),
        Kind.ITEM: KindRule("keyed", (), chunked=True, told=False, one=BY_KEY, renewed=True, unique=True),
    }
)


GENERAL = "general"
"""The category of knowledge base entries without one."""

SESSION_KINDS = tuple(kind for kind, rule in RULES.items() if rule.family == "session")

RESEARCH_KINDS = tuple(kind for kind, rule in RULES.items() if rule.family == "research")

OF_NO_RUN = frozenset(RULES) - frozenset(RESEARCH_KINDS)
"""The kinds that any context may find: findings of a research run are only for that run."""

TOOL_TYPES = ("builtin", "http", "mcp")
"""The ways in which an agent can call a tool."""

TOLD = frozenset(kind for kind, rule in RULES.items() if rule.told)
"""The kinds that a context may include as recent memories."""


NEVER = "never"
"""Written in place of a size: bodies of the kind are not cut."""


def sizes(text: str) -> Mapping[Kind, int | None]:
    """
    The most tokens of a chunk for each kind, from a text such as "report = 512, note = never"; None means never cut.

    Raises:
        ValueError: The text has another form.
    """
    found: dict[Kind, int | None] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, size = (piece.strip() for piece in part.partition("="))
        try:
            named = kind(name)
        except Invalid as error:
            raise ValueError(f"{error}. {error.hint}") from error
        if size != NEVER and not (size.isascii() and size.isdigit() and 16 <= int(size) <= 100_000):
            raise ValueError(
                f"{part!r} is not a kind and a size: write `report = 512` (16 to 100,000) or `note = never`"
            )
        found[named] = None if size == NEVER else int(size)
    return MappingProxyType(found)


def singular(name: str) -> str:
    """The name of a kind from its plural or in capitals; any other name is returned unchanged."""
    low = name.strip().lower()
    candidates = (low, low.removesuffix("s"), f"{low.removesuffix('ies')}y")
    return next((one for one in candidates if one in RULES), name)


def kind(name: str, among: Collection[Kind] = tuple(RULES)) -> Kind:
    """
    The kind of a name; a plural such as "reports" and capitals work too.

    Args:
        among: The kinds that may be suggested.

    Raises:
        Invalid: There is no such kind; the error suggests the nearest.
    """
    if (found := singular(name)) in RULES:
        return Kind(found)
    raise Invalid(f"no kind {name!r}", hint=did_you_mean(name, [kind.value for kind in among]))


def note_category(name: str) -> str:
    """The name of a category of notes, also in capitals; any other name is returned unchanged."""
    return low if (low := name.strip().lower()) in CATEGORIES else name


def check_kind(old: Kind, new: Kind) -> None:
    """
    Refuse a change of kind that would break a rule.

    Raises:
        Invalid: For one of the two kinds, only one memory may have certain values; see `KindRule.one`.
    """
    if old is not new and (RULES[old].one or RULES[new].one):
        raise Invalid(f"a memory of kind {old} cannot become one of kind {new}", hint="Save it again.")

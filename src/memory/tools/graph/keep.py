"""What changes entities, and embeds them."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from memory.schema.answer import Notice
from memory.schema.draft import Draft
from memory.schema.errors import BODY_LIMIT, Invalid, NotFound, check_text, clipped_repr, placed
from memory.schema.kinds import Kind
from memory.schema.memory import Memory, MemoryId
from memory.text.markdown import listed, together
from memory.tools.arguments import Parameter, brief
from memory.tools.graph import rows
from memory.tools.graph.declare import GraphTools, command, tool
from memory.tools.graph.rows import Described, Given, Name, Values, entity_rows
from memory.tools.operation import Given as Arguments, Option
from memory.tools.render import data

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from memory.engine import Engine
    from memory.engine.graph import Observed

WITHOUT = frozenset({"pending", "failed", "outdated"})
"""The states of an entity that has no vectors, or none of its current text."""

NAMES = brief("names", "ids", "Names or ids.", required=True, also=("entityNames", "entity_names"))
TEXTS = Option("TEXT...", blank=False)


class Created(NamedTuple):
    """
    What became of entities.

    Attributes:
        known: What was added to entities that existed already.
    """

    created: tuple[Memory, ...]
    known: tuple[Observed, ...]
    notices: tuple[Notice, ...]


# Entities ----------------------------------------------------------------


@tool("Create entities", "created:entities duplicates:grown", rows.ENTITIES)
def create_entities(self: GraphTools, entities: Given) -> Values:
    """
    Save things that come up again: a person, a service, a concept. Observations are short facts. Search first; an
    existing entity gains what is new.

    Args:
        entities: Each with `name`, `entityType`, `observations` and `embed`. False keeps the entity from being embedded,
            also if it exists already: it is found by keyword only, and its text goes to no model. True takes that back.
    """
    found = create_described(self, rows.described(entities))
    return {
        "created": entity_rows(self.engine, found.created, observations=False),
        "duplicates": _changed(self.engine, found.known, "added", "known"),
        "notices": data.notices(found.notices),
    }


def create_described(self: GraphTools, entities: Sequence[Described]) -> Created:
    """Create entities from checked descriptions, the new ones in one transaction; see `create_entities`."""
    wanted = _merged(entities)
    _check_room(self.engine, {one.name: one.observations for one in wanted})
    saved = self.engine.save_all([_draft(self, one) for one in wanted])
    known = [_told_again(self.engine, kept.memory, one) for one, kept in zip(wanted, saved, strict=True) if kept.known]
    made = [one for one in saved if not one.known]
    notices = (notice for one in (*made, *(one.saved for one in known)) for notice in one.notices)
    return Created(tuple(one.memory for one in made), tuple(known), tuple(dict.fromkeys(notices)))


@command(
    "add",
    Option("NAME", blank=False),
    Option("--type TEXT", "What kind of thing it is, in a word."),
    Option("--observation TEXT", "A fact about it; may be repeated.", several=True, blank=False),
    Option("--keyword-only/--embed", "Never send its text to a model; it is then found only by words."),
)
def add(graph: GraphTools, a: Arguments) -> Values:
    """
    Create an entity, or add facts to an existing one.

    \b
        memory graph add Redis --type database --observation "holds sessions"
    """
    embed = None if a["keyword_only"] is None else not a["keyword_only"]
    row = {"name": a["name"], "entityType": a["type"], "observations": list(a["observation"]), "embed": embed}
    return create_entities(graph, [row])


def _merged(found: Sequence[Described]) -> list[Described]:
    """Each name once, with all its observations. The first type counts; "never embed" wins over "embed"."""
    entities: dict[str, Described] = {}
    for one in found:
        first = entities.setdefault(one.name, one)
        if first is not one:
            embed = False if False in (first.embed, one.embed) else first.embed or one.embed
            known = (*first.observations, *one.observations)
            entities[one.name] = Described(one.name, first.type or one.type, known, embed)
    return list(entities.values())


def _check_room(engine: Engine, more: Mapping[str, Sequence[str]]) -> None:
    """
    Check that observations fit into all of these entities, given by name, before the first one is changed.

    Raises:
        Invalid: An observation is not valid, or one entity would have too many.
    """
    ids = engine.store.graph.named(list(more))
    known = engine.graph.known(list(engine.graph.there(ids.values()).values()))
    for name, texts in more.items():
        whole = dict.fromkeys((*known.get(ids.get(name, MemoryId(0)), ()), *engine.graph.worded(texts)))
        check_text(f"what is known of {clipped_repr(name)}", listed(together(tuple(whole))), BODY_LIMIT)


def _draft(graph: GraphTools, one: Described) -> Draft:
    with placed(f"entity {clipped_repr(one.name)}"):
        return Draft(
            kind=Kind.ENTITY,
            title=one.name,
            category=one.type,
            body=listed(graph.engine.graph.worded(one.observations)),
            agent_id=graph.agent,
            source=graph.source,
            keyword_only=one.embed is False,
        )


def _told_again(engine: Engine, memory: Memory, one: Described) -> Observed:
    """Add to an existing entity. If it must not be embedded, that is set first: no model may see the new text."""
    if one.embed is not None and one.embed is memory.keyword_only:
        engine.documents.update(memory.id, keyword_only=not one.embed)
    return engine.graph.observe(memory.id, one.observations)


# Observations ------------------------------------------------------------


@tool("Add observations", "results:entities", rows.OBSERVATIONS)
def add_observations(self: GraphTools, observations: Given) -> Values:
    """Add facts to existing entities."""
    wanted = _told(self.engine, rows.OBSERVATIONS, observations)
    texts: dict[str, tuple[str, ...]] = {}
    for entity, more in wanted:
        texts[entity.title] = texts.get(entity.title, ()) + more
    _check_room(self.engine, texts)
    found = [self.engine.graph.observe(entity.id, more) for entity, more in wanted]
    notices = tuple(dict.fromkeys(notice for one in found for notice in one.saved.notices))
    return {"results": _changed(self.engine, found, "added", "known"), "notices": data.notices(notices)}


def _told(engine: Engine, taken: Parameter, given: Given) -> list[tuple[Memory, tuple[str, ...]]]:
    """The named entities, all of which must exist, each with the observations given for it."""
    wanted = rows.told(taken, given)
    entities = engine.graph.entities([name for name, _ in wanted])
    return [(entity, texts) for entity, (_, texts) in zip(entities, wanted, strict=True)]


def _changed(engine: Engine, found: Sequence[Observed], changed: str, others: str) -> list[Values]:
    """Entity rows, each with the observations that were changed and those that were not."""
    named = entity_rows(engine, [one.saved.memory for one in found], observations=False)
    return [row | {changed: list(one.changed), others: list(one.others)} for row, one in zip(named, found, strict=True)]


@command("observe NAME", TEXTS)
def observe(graph: GraphTools, a: Arguments) -> Values:
    """
    Add facts to an entity, one per TEXT.

    \b
        memory graph observe Redis "runs on two machines" "has no replica"
    """
    return add_observations(graph, [{"entityName": a["name"], "contents": a["text"]}])


# More of entities --------------------------------------------------------


@tool(
    "Rename an entity",
    "entity:entity former_name",
    brief("name", "id", "Its name or id.", required=True),
    brief("new_name", "string", "The new name; no other entity may have it.", required=True),
)
def rename_entity(self: GraphTools, name: Name, new_name: str) -> Values:
    """
    Rename an entity.

    Raises:
        Invalid: The new name is in use, blank, too long, or not one line.
    """
    entity = self.engine.graph.entity(name)
    if not isinstance(new_name, str):
        raise Invalid(f"new_name must be text, not {clipped_repr(new_name)}")
    saved = self.engine.documents.update(entity.id, title=rows.called("new_name", new_name))
    (row,) = entity_rows(self.engine, [saved.memory], observations=False)
    return {"entity": row, "former_name": entity.title, "notices": data.notices(saved.notices)}


@command("rename NAME NEW")
def rename(graph: GraphTools, a: Arguments) -> Values:
    """
    Rename an entity. Its facts, relations and memories stay.

    \b
        memory graph rename Redis Valkey
    """
    return rename_entity(graph, a["name"], a["new"])


# What is removed ---------------------------------------------------------


@tool("Delete entities", "deleted:names unknown:references", NAMES, destroys=True)
def delete_entities(self: GraphTools, names: Sequence[Name]) -> Values:
    """Delete entities. Memories about them stay."""
    entities, unknown = rows.looked_up(self.engine, names)
    deleted = []
    for name, one in entities:
        try:
            self.engine.trash.delete(one.id)
        except NotFound:  # another process deleted it first
            unknown.append(name)
        else:
            deleted.append(data.row(one, "id=uid memory_id=id:number uid name=title"))
    return {"deleted": deleted, "unknown": unknown, "notices": rows.unknown(self.engine, unknown)}


@command("delete NAME")
def delete(graph: GraphTools, a: Arguments) -> Values:
    """
    Delete an entity, with its facts and relations. Memories about it stay.

    \b
        memory graph delete Valkey
    """
    return delete_entities(graph, [graph.engine.graph.entity(a["name"]).id])


@tool("Remove observations", "results:entities", rows.DELETIONS, destroys=True)
def delete_observations(self: GraphTools, deletions: Given) -> Values:
    """
    Remove facts from entities by their exact text.

    The entity's history keeps them.
    """
    wanted = _told(self.engine, rows.DELETIONS, deletions)
    found = [self.engine.graph.forget(entity.id, texts) for entity, texts in wanted]
    return {"results": _changed(self.engine, found, "deleted", "unknown"), "notices": []}


@command("forget NAME", TEXTS)
def forget(graph: GraphTools, a: Arguments) -> Values:
    """
    Remove facts from an entity, by their exact text.

    \b
        memory graph forget Redis "has no replica"
    """
    return delete_observations(graph, [{"entityName": a["name"], "observations": a["text"]}])


# Vectors -----------------------------------------------------------------


@tool(
    "Embed entities",
    "generated:number failed:failed unchanged:number excluded:number model:text?",
    brief("entity_ids", "ids", "Names or ids; all entities if empty."),
    brief("force_refresh", "boolean", "Also those that have vectors; default false."),
)
def generate_embeddings(
    self: GraphTools,
    entity_ids: Sequence[Name] = (),
    force_refresh: bool = False,  # noqa: FBT001, FBT002  # as it is documented
    *,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Values:
    """
    Create missing vectors. Searches do it too; call it after saving thousands.

    Args:
        entity_ids: Names or ids; empty means all entities.
        force_refresh: Also embed those that have vectors; the old vectors answer until the new ones exist.
        progress: Called with the number of chunks done and the number of all.

    Raises:
        EmbedError: The model cannot be used. Vectors made until then are saved.
        SpaceMismatch: The stored vectors are from another model; `memory reindex` replaces them all.
    """
    rows.check_flag("force_refresh", force_refresh)
    engine, chosen = self.engine, rows.references("entity_ids", entity_ids)
    entities = {one.id: one for one in (engine.graph.entities(chosen) if chosen else engine.graph.every())}
    before = rows.states(engine, list(entities.values()))
    wanted = [id for id, state in before.items() if state in WITHOUT or (force_refresh and state == "generated")]
    result = engine.vectors.embed(progress, memories=wanted)
    there = list(engine.graph.there(wanted).values())
    after = engine.vectors.embeddings(there)
    failed = [one for one in there if after[one.id].state == "failed"]
    untaken = Notice(f"the model refused {result.failed:,} of the texts: {result.error}")
    counts = Counter(before.values())
    return {
        "generated": sum(found.state == "generated" for found in after.values()),
        "failed": [
            {"id": one.uid, "memory_id": one.id, "name": one.title, "error": after[one.id].error} for one in failed
        ],
        "unchanged": 0 if force_refresh else counts["generated"],
        "excluded": counts["excluded"],
        "model": result.model or None,
        "notices": data.notices((untaken,) if result.failed else ()),
    }

"""Laws of what is read of other programs: front matter, JSON a piece at a time, and imports in any order."""

from __future__ import annotations

import io
import json
import string
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings, strategies as st

from memory import Draft, Engine, Kind
from memory.carry.formats import reading
from memory.carry.formats.formats import told
from memory.carry.formats.items import About, Item, LeftOut, NamedRelation, line, moment_of, own_uid, tags_of, uid_of
from memory.carry.formats.notes import note
from memory.carry.formats.reading import Source, elements, lines, objects
from memory.config import load
from memory.config.front_matter import split
from memory.engine.importing import Importer
from memory.engine.markdown import front_matter
from memory.schema.errors import Invalid
from memory.schema.memory import Document
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MOMENT = datetime(2026, 3, 1, 10, 30, tzinfo=UTC)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
LINES = TEXT.map(lambda text: " ".join(text.split())).filter(bool)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.lists(st.dictionaries(TEXT, JSON, max_size=4), max_size=6)


@given(LINES, st.lists(LINES.filter(lambda tag: "," not in tag and not tag.startswith("#")), max_size=4), TEXT)
@example("a: b", ["null", "1"], "\n\n# x\n")
def test_what_our_front_matter_says_is_read_back(title: str, tags: list[str], body: str) -> None:
    draft = Draft(kind=Kind.KNOWLEDGE_BASE, title=title, body=body + "x", tags=tuple(dict.fromkeys(tags)), category="c")
    memory = line(Item(draft, "0" * 32, MOMENT, MOMENT), MOMENT).memory

    found = note(split(front_matter(Document(memory, draft.body, chunks=1)) + draft.body), "", str)

    assert found.body == draft.body
    assert found.title == " ".join(title.split())
    assert found.tags == tags_of(str, list(draft.tags))
    assert (found.category, found.created) == ("c", MOMENT)


@given(TEXT)
@example("---\n---\n")
@example("---\na: [\n---\nbelow")
@example("---\na: *b\n---\nbelow")
@example("---\nno end: here\n")
def test_no_text_is_lost_between_front_matter_and_body(text: str) -> None:
    found = note(split(text), "", str)

    whole = text.endswith(found.body) or not found.body.strip()
    assert whole or (found.body, found.metadata) != ("", {})


def test_aliases_of_aliases_in_front_matter_are_kept_as_text() -> None:
    bomb = "".join(f"{chr(97 + n)}: &{chr(97 + n)} [{', '.join([f'*{chr(96 + n)}'] * 9)}]\n" for n in range(1, 9))
    yaml = f"a: &a [x, x, x, x, x, x, x, x, x]\n{bomb}"

    found = note(split(f"---\n{yaml}---\nbelow\n"), "", str)

    assert found.body == "below\n"
    assert found.metadata["i"] == "&i [*h, *h, *h, *h, *h, *h, *h, *h, *h]"


@settings(max_examples=60)
@given(OBJECTS, st.integers(1, 40), st.sampled_from(["", "memories"]), st.sampled_from([None, 0, 2]))
def test_an_array_is_read_an_element_at_a_time_as_it_would_be_whole(rows, size, key, indent) -> None:
    whole = {"first": [1, {"memories": []}], key: rows, "last": "x"} if key else rows
    text = json.dumps(whole, indent=indent, ensure_ascii=size % 2 == 0).encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "PIECE", size)
        found = list(elements(io.BytesIO(text), "x", *([key] if key else [])))

    assert found == rows


@settings(max_examples=60)
@given(OBJECTS.filter(bool), st.data())
def test_what_is_cut_short_gives_what_came_before_and_a_sentence(rows, data) -> None:
    text = json.dumps(rows).encode()
    cut = data.draw(st.integers(1, len(text) - 1))

    *found, last = elements(io.BytesIO(text[:cut]), "x")

    assert found == rows[: len(found)]
    assert isinstance(last, LeftOut)
    assert "x: " in last.notice.text


@given(st.lists(st.text(string.ascii_letters + " ", max_size=12), max_size=8), st.integers(1, 12))
def test_lines_are_those_of_the_file_and_the_long_ones_are_counted(texts: list[str], most: int) -> None:
    found = list(lines(io.BytesIO("\n".join(texts).encode()), most))

    whole = [(n, text) for n, text in enumerate(texts, 1) if text.strip() or len(text) > most]
    assert [number for number, _ in found] == [number for number, _ in whole]
    for (_, got), (_, text) in zip(found, whole, strict=True):
        assert got is None if len(text) > most else got.rstrip(b"\n") == text.encode()


@given(st.binary(max_size=300))
@example(b'{"type": "user", "sessionId": 1}')
@example(b"[" * 5000)
@example(b'{"a":' * 5000)
def test_no_bytes_stop_a_reader(content: bytes) -> None:
    @contextmanager
    def opened():
        yield io.BytesIO(content)

    source = Source("x.json", opened)
    with suppress(Invalid):  # a web page
        told("x.json", content, source)

    for found in (*objects(io.BytesIO(content), "x"), *elements(io.BytesIO(content), "x", "memories")):
        assert isinstance(found, dict | tuple | LeftOut)


@given(JSON)
def test_no_value_of_another_program_is_no_time_and_no_tag(value) -> None:
    moment = moment_of(value)
    assert moment is None or moment.tzinfo is UTC
    assert all(tag.strip() == tag != "" and "\n" not in tag for tag in tags_of(str, value))
    assert own_uid(value) is None or len(own_uid(value)) == 32


# What is stored ---------------------------------------------------------------


def kept(engine: Engine) -> set[tuple]:
    found = {(one.memory.kind, one.memory.title, one.memory.what, one.body) for one in engine.maintenance.exported()}
    edges = {(one.type, *names(engine, one.source, one.target)) for one in engine.graph.all_relations()}
    return found | edges


def names(engine: Engine, *ids: int) -> list[str]:
    there = engine.graph.there(ids)
    return [there[id].title for id in ids]


NOTES = st.builds(
    lambda key, what: Item(Draft(title=key, what=what, project="p"), uid_of("program", key), MOMENT, MOMENT),
    st.sampled_from("abc"),
    st.just("said"),
)
THINGS = st.builds(
    lambda name, facts: Item(Draft(kind=Kind.ENTITY, title=name, body="\n".join(f"- {one}" for one in sorted(facts)))),
    st.sampled_from("xyz"),
    st.frozensets(st.sampled_from(["f", "g"])),
)
ENDS = st.builds(NamedRelation, st.sampled_from("xyz"), st.sampled_from("xyz"), st.just("t"), st.just(value=True))
LINKS = st.builds(lambda name, key: About(name, uid_of("program", key)), st.sampled_from("xyz"), st.sampled_from("abc"))


@settings(max_examples=25, deadline=None)
@given(st.lists(NOTES | THINGS | ENDS | LINKS, max_size=8), st.randoms())
def test_an_import_twice_or_in_another_order_keeps_the_same(tmp_path_factory, read: Sequence, random) -> None:
    mixed = list(read)
    random.shuffle(mixed)
    found = []
    for order in (read, [*read, *read], mixed):
        home: Path = tmp_path_factory.mktemp("home")
        config = load(flags={"home": str(home)})
        with Engine.open(config, embedder=HashedEmbedder(8)) as engine:
            Importer(engine, "p").take(order)
            before = kept(engine)
            again = Importer(engine, "p").take(order)
            assert kept(engine) == before
            assert (again.sum.saved, again.sum.updated, again.joined) == (0, 0, 0)
            observed = {(one.title, frozenset(facts)) for one, facts in facts_of(engine)}
            found.append(({row[:2] for row in before if row[0] != Kind.ENTITY}, observed))

    assert found[0] == found[1] == found[2]


def facts_of(engine: Engine):
    every = list(engine.graph.every())
    known = engine.graph.known(every)
    return [(one, known[one.id]) for one in every]

"""Strangers that are carried from one store to another arrive as they were, and whatever else is a sentence."""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
import pytest
from entries import embedded, kept, note
from hypothesis import given, strategies as st
from profiles import examples

from memory import Config
from memory.keep.jsonl import parsed
from memory.schema.errors import Invalid
from memory.schema.space import Space
from memory.store.export import StrangersLine, strangers, strangers_line
from memory.store.narrow import rounded
from memory.vectors.baseline import STAMP, STRANGERS, take_strangers
from memory.vectors.registry import Embedders
from oracle.ram import RamStore

if TYPE_CHECKING:
    from memory.keep.jsonl import Line
    from memory.schema.space import Vectors

NOW = datetime(2026, 1, 1, tzinfo=UTC)
ENOUGH = 20
NONE = replace(Config().embedding, provider="none")

names = st.text(st.characters(exclude_categories=["C"]), min_size=1, max_size=20).filter(str.strip)
spaces = st.builds(Space, names, names, st.integers(0, 2**40), st.integers(1, 9))
cosines = st.floats(-1, 1)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)


def directions(count: int, dimension: int, seed: int = 0) -> Vectors:
    """Of length 1, at random."""
    rows = np.random.default_rng(seed).normal(size=(count, dimension))
    return rounded(rows / np.linalg.norm(rows, axis=1, keepdims=True))


@st.composite
def lines(draw: st.DrawFn) -> StrangersLine:
    space = draw(spaces)
    rows = directions(len(STRANGERS) + 1, space.dimension, seed=draw(st.integers(0, 99)))
    fingerprint = rows[-1].tobytes() if draw(st.booleans()) else b""
    return StrangersLine(space, fingerprint, draw(cosines), draw(st.integers(0, 2**32)), rows[:-1].tobytes())


def written(line: StrangersLine) -> str:
    return json.dumps(strangers(line))


@examples(0.5)
@given(lines())
def test_a_line_says_what_was_written(line: StrangersLine) -> None:
    assert parsed(written(line), place="x") == line


@examples(0.3)
@given(lines())
def test_a_store_that_takes_them_exports_the_same_and_judges_by_its_own_vectors(line: StrangersLine) -> None:
    line = line._replace(stamp=STAMP)
    store = RamStore()
    generation = store.generations.begin(line.space, NOW)
    if line.fingerprint:
        store.generations.mark(generation.id, line.fingerprint)
    rows = directions(ENOUGH, line.space.dimension, seed=100)
    kept(store, *(note(str(n), embedded=embedded(rows[[n]], space=line.space)) for n in range(ENOUGH)))
    embedders = Embedders(NONE, store)

    assert take_strangers(store, embedders, line) is None

    assert strangers_line(store) == line
    known = store.generations.every()[0].strangers
    store.vectors.set_strangers(
        generation.id, store.generations.strangers(generation.id), right=line.right, stamp=STAMP
    )
    assert store.generations.every()[0].strangers == known
    assert take_strangers(store, embedders, line) is None
    assert store.generations.every()[0].strangers == known


@examples(1)
@given(lines(), st.dictionaries(st.sampled_from([*Space._fields, *StrangersLine._fields, "x"]), values, max_size=2))
def test_whatever_stands_in_a_line_it_is_taken_or_refused_with_its_place(line: StrangersLine, changes) -> None:
    found = read(json.dumps(strangers(line) | changes))

    if isinstance(found, StrangersLine):
        assert parsed(written(found), place="x") == found
    else:
        assert found.startswith("here:7: ")


def read(text: str) -> Line | str:
    """What a line says, or why it is refused."""
    try:
        return parsed(text, place="here:7")
    except Invalid as error:
        return str(error)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("embeddings", "AAAA", "has 3 bytes, which do not make vectors of 2 dimensions"),
        ("embeddings", "", "embeddings are empty"),
        ("embeddings", "\u00e9", "is not Base64"),
        ("embeddings", "A B=", "is not Base64"),
        ("embeddings", b64encode(bytes(8)).decode(), "whose length is not 1"),
        ("embeddings", b64encode(b"\x00\x00\xc0\x7f" * 2).decode(), "whose length is not 1"),
        ("fingerprint", b64encode(b"\x00\x00\x80\x3f\x00\x00\x00\x00" * 2).decode(), "more than one vector"),
        ("right", True, "right is a cosine"),
        ("right", 1.5, "right is a cosine"),
        ("right", float("nan"), "right is a cosine"),
        ("dimension", 0, "dimension is a whole number from 1"),
        ("dimension", 2**60, "dimension is a whole number from 1"),
        ("recipe", -1, "recipe is a whole number"),
        ("stamp", "7", "stamp is a whole number"),
        ("provider", " ", "provider is blank"),
        ("model", None, "model must be text"),
        ("weight", 1, "no field 'weight'"),
    ],
)
def test_a_line_that_makes_no_sense_is_refused_with_a_sentence(field: str, value: object, said: str) -> None:
    line = StrangersLine(Space("p", "m", 2, 2), b"", 0.4, 7, directions(3, 2).tobytes())

    with pytest.raises(Invalid, match=said):
        parsed(json.dumps(strangers(line) | {field: value}), place="x")


@pytest.mark.parametrize("field", sorted(strangers(StrangersLine(Space("p", "m", 2, 2), b"", 0.4, 7, b""))))
def test_a_field_that_is_missing_is_named(field: str) -> None:
    line = strangers(StrangersLine(Space("p", "m", 2, 2), b"", 0.4, 7, directions(3, 2).tobytes()))
    del line[field]

    with pytest.raises(Invalid, match=field if field != "schema" else "no field"):
        parsed(json.dumps(line), place="x")

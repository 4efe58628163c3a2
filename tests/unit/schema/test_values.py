"""Values check themselves on the way in."""

from dataclasses import fields

import pytest

from memory import Draft, Engine, Kind, Query
from memory.config import Config, EmbeddingSettings
from memory.schema.errors import Invalid
from memory.store.sqlite import SqliteStore


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "needs a title"),
        ({"title": " "}, "needs a title"),
        ({"title": "a\nb"}, "one line"),
        ({"title": "x" * 201}, "the limit is 200"),
        ({"title": "x", "body": "x" * 500_001}, "500,001 characters"),
        ({"title": "x", "what": "a\0b"}, "NUL at position 1"),
        ({"title": "x", "what": "a\ud800"}, "lone surrogate at position 1"),
        ({"title": 7}, "title must be text"),
        ({"title": "x", "kind": 7}, "must be the name of a kind"),
        ({"title": "x", "kind": "nots"}, "no kind 'nots'"),
        ({"title": "x", "category": "gossip"}, "no category 'gossip'"),
        ({"title": "x", "project": " "}, "project is blank"),
        ({"title": "x", "tags": "auth"}, "tags must be a list"),
        ({"title": "x", "tags": ("",)}, "tags has a blank entry"),
        ({"title": "x", "metadata": {"a": float("nan")}}, "metadata must be JSON"),
        ({"title": "x", "metadata": {"a": object()}}, "metadata must be JSON"),
        ({"title": "x", "session_iter": 0}, "session_iter"),
        ({"title": "x", "session_iter": True}, "session_iter"),
        ({"title": "x", "session_iter": 10**30}, "session_iter"),
        ({"kind": Kind.REPORT, "body": "x", "session_id": "s"}, "needs an agent_id"),
        ({"kind": Kind.PLAN, "body": "x"}, "needs a query_id"),
    ],
)
def test_a_draft_says_what_is_wrong_with_it(fields, said):
    with pytest.raises(Invalid, match=said.replace("(", r"\(")):
        Draft(**fields)


@pytest.mark.parametrize("field", fields(Draft)[1:], ids=lambda field: field.name)
def test_none_in_any_field_of_a_draft_is_the_same_as_leaving_it_out(field):
    """Programs hand on what they were not given; of a note only the title is needed."""
    given = {"title": "a title", "what": "is the case"}

    assert Draft(**given | {field.name: None}) == Draft(
        **{name: value for name, value in given.items() if name != field.name}
    )


@pytest.mark.parametrize(
    ("field", "other"),
    [
        *((name, "another") for name in ("title", "what", "why", "impact", "description", "body", "source")),
        *(("category", "bug"), ("tags", ("one",)), ("related_files", ("one.py",)), ("metadata", {"one": 1})),
    ],
)
def test_notes_that_differ_in_one_field_are_two(tmp_path, field, other):
    with Engine.open(Config(home=str(tmp_path), embedding=EmbeddingSettings(provider="none"))) as engine:
        engine.save(Draft(title="a title"))

        assert not engine.save(Draft(**{"title": "a title", field: other})).known
        assert engine.save(Draft(title="a title")).known


def test_none_is_kept_as_nothing(tmp_path):
    with Engine.open(Config(home=str(tmp_path), embedding=EmbeddingSettings(provider="none"))) as engine:
        saved = engine.save(Draft(title="a title", **dict.fromkeys(("why", "impact", "tags", "metadata", "project"))))

        found = engine.details(saved.memory.id).memory
        assert engine.update(found.id, why=None).known

    assert (found.why, found.impact, found.tags, dict(found.metadata), found.project) == ("", "", (), {}, None)


def test_none_in_an_update_never_lets_a_model_see_what_was_kept_from_it(tmp_path):
    with Engine.open(Config(home=str(tmp_path), embedding=EmbeddingSettings(provider="hashed"))) as engine:
        id = engine.save(Draft(kind=Kind.ENTITY, title="Closed", body="secret", keyword_only=True)).memory.id

        engine.update(id, keyword_only=None, kind=None, body="still secret")

        found = engine.get(id)
    assert (found.keyword_only, found.kind) == (True, Kind.ENTITY)


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ""},
        {"text": " \0 "},
        {"text": "x" * 10_001},
        {"text": "\ud800"},
        {"text": 7},
        {"text": "x", "limit": 0},
        {"text": "x", "limit": 10_001},
        {"text": "x", "limit": True},
        {"text": "x", "limit": 2.5},
        {"text": "x", "mode": "fast"},
        {"text": "x", "granularity": "huge"},
    ],
)
def test_a_query_refuses_what_it_cannot_answer(fields):
    with pytest.raises(Invalid):
        Query(**fields)


def test_an_engine_refuses_limits_that_are_none(tmp_path):
    with Engine(SqliteStore(tmp_path / "memory.db"), Config()) as engine:
        for call in (
            lambda: engine.search("x", limit=0),
            lambda: engine.recent(limit=-1),
            lambda: engine.context(limit=0),
            lambda: engine.context(tokens=0),
        ):
            with pytest.raises(Invalid):
                call()


@pytest.mark.parametrize("levels", [65, 500, 900])
def test_metadata_nested_too_deep_is_refused_in_a_sentence(levels):
    value = "x"
    for _ in range(levels):
        value = [value]

    with pytest.raises(Invalid, match="nested more than 64 deep"):
        Draft(title="x", metadata={"deep": value})

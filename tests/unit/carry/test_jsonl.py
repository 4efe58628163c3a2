"""Lines that a person or another program wrote for `memory import`."""

from __future__ import annotations

import json

import pytest

from memory.keep.jsonl import MemoryLine, parsed
from memory.schema.errors import Invalid


def line(**values: object) -> MemoryLine:
    found = parsed(json.dumps({"title": "t"} | values), place="x.jsonl:1")
    assert isinstance(found, MemoryLine)
    return found


@pytest.mark.parametrize("name", ["body", "details", "content"])
def test_the_long_text_has_the_names_that_it_has_elsewhere(name: str) -> None:
    assert line(**{name: "all of it"}).draft.body == "all of it"


def test_of_two_names_of_one_text_none_wins() -> None:
    with pytest.raises(Invalid, match="body and details mean the same field"):
        line(body="one", details="two")
    assert line(body="", details="two").draft.body == "two"


@pytest.mark.parametrize("name", ["project", "source", "category", "agent_id", "session_id"])
def test_an_empty_name_is_none(name: str) -> None:
    assert getattr(line(**{name: ""}).draft, name) is None


def test_a_kind_and_a_category_may_be_in_capitals() -> None:
    draft = line(kind="Note", category="DECISION").draft

    assert (draft.kind, draft.category) == ("note", "decision")


def test_a_field_that_is_not_known_gets_the_nearest_or_all() -> None:
    with pytest.raises(Invalid) as near:
        line(detials="x")
    with pytest.raises(Invalid) as far:
        line(zzz="x")

    assert near.value.hint == "Did you mean 'details'?"
    assert "details" in far.value.hint
    assert "related_files" in far.value.hint

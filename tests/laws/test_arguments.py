"""What holds of the arguments of every tool, whatever an agent passes."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from profiles import examples

from memory.schema.errors import NAME_LIMIT, Invalid
from memory.tools.arguments import LONG, checked
from memory.tools.operation import chosen

EVERY = chosen(["all"])
FEW = chosen(["core", "sessions", "research", "graph"])
"""As agents see them, without what only the toolset care shows."""
TOOLS = st.sampled_from(EVERY)
LISTING = st.sampled_from([tool for tool in EVERY if any(one.sort == "objects" for one in tool.parameters)])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
NAMES = st.sampled_from(sorted({one.name for tool in EVERY for one in tool.parameters})) | st.text()

IDS = st.text() | st.integers(max_value=LONG - 1)  # a longer one is taken as text: see test_mcp.py


def right(one):
    """Values that an argument takes."""
    if one.choices:
        return st.sampled_from(one.choices)
    if one.named:  # who or what it is, which a blank does not say; a NUL is no text
        return st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=NAME_LIMIT).filter(str.strip)
    takes = {
        "string": st.text(),
        "integer": st.integers(one.low, one.high),
        "boolean": st.booleans(),
        "strings": st.lists(st.text()),
        "number": st.floats(allow_nan=False) | st.integers(-(2**53), 2**53),
        "id": IDS,
        "ids": st.lists(IDS),
        "object": st.dictionaries(st.text(), st.text() | st.integers() | st.booleans()),
    }
    return st.lists(records(one.fields)) if one.sort == "objects" else takes[one.sort]


def records(fields):
    """Objects with the fields that they need, and some of the others."""
    required = {one.name: right(one) for one in fields if one.required}
    return st.fixed_dictionaries(required, optional={one.name: right(one) for one in fields if not one.required})


def plain(value):
    """As JSON has it."""
    match value:
        case tuple():
            return [plain(item) for item in value]
        case dict():
            return {name: plain(item) for name, item in value.items()}
    return value


@given(TOOLS, st.dictionaries(NAMES, VALUES))
@examples(1)  # a tool, an argument and a value that go together are few of them
def test_anything_is_either_taken_as_the_schema_says_or_refused_with_a_sentence(tool, arguments):
    try:
        found, notices = checked(tool, arguments)
    except Invalid:
        return

    called = {name: one.name for one in tool.parameters for name in (one.name, *one.also)}
    assert set(found) == {called[name] for name, value in arguments.items() if value is not None}
    are_as_the_schema_says(found, tool.parameters)
    given = {called[name]: value for name, value in arguments.items()}
    whole = {one.name for one in tool.parameters if one.sort == "integer"} & set(found)
    assert not any(isinstance(given[name], bool) for name in whole)
    numbers = {name for name in whole if not isinstance(given[name], str)}
    assert sum(found[name] != given[name] for name in numbers) <= len(notices) <= len(whole)


def are_as_the_schema_says(found, parameters):
    known = {one.name: one for one in parameters}
    assert all(one.name in found for one in parameters if one.required)
    for name, value in found.items():
        one = known[name]
        match one.sort:
            case "integer":
                assert one.low <= value <= one.high
            case "boolean":
                assert isinstance(value, bool)
            case "strings":
                assert all(isinstance(text, str) for text in value)
            case "number":
                assert isinstance(value, float)
            case "id" | "ids":
                assert all(type(id) in {str, int} for id in (value if one.sort == "ids" else (value,)))
            case "objects":
                for row in value:
                    are_as_the_schema_says(row, one.fields)
            case "string":
                assert isinstance(value, str)
                assert not one.choices or value in one.choices


@given(TOOLS, st.data())
@examples(1)
def test_what_the_schema_allows_is_taken_as_it_is(tool, data):
    arguments = {one.name: data.draw(right(one)) for one in tool.parameters if one.required or data.draw(st.booleans())}

    found, notices = checked(tool, arguments)

    assert plain(found) == arguments
    assert notices == ()


@pytest.mark.parametrize("tool", [tool for tool in EVERY if any(one.named for one in tool.parameters)])
def test_a_name_has_no_nul(tool):
    (name, *_) = (one.name for one in tool.parameters if one.named)

    with pytest.raises(Invalid, match=f"{name} has a NUL at position 1"):
        checked(tool, {name: "a\0"})


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize(
    "name", sorted({tool.name for tool in EVERY if any(one.sort == "integer" for one in tool.parameters)})
)
def test_true_and_false_are_no_numbers(name, value):
    (tool,) = (tool for tool in EVERY if tool.name == name)
    (whole, *_) = (one.name for one in tool.parameters if one.sort == "integer")

    with pytest.raises(Invalid, match=f"{whole} must be a whole number"):
        checked(tool, {whole: value})


@given(LISTING, st.data())
@examples(1)
def test_objects_are_taken_as_the_schema_says_or_refused_with_the_place(tool, data):
    (listed,) = (one for one in tool.parameters if one.sort == "objects")
    names = st.sampled_from([name for one in listed.fields for name in (one.name, *one.also)])
    rows = data.draw(st.lists(records(listed.fields) | st.dictionaries(names, VALUES) | VALUES, max_size=4))

    found, said = {}, ""
    try:
        found, _ = checked(tool, {listed.name: rows})
    except Invalid as refused:
        said = str(refused)

    if said:
        assert f"{listed.name}[" in said
    else:
        are_as_the_schema_says(found, tool.parameters)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"entities": "Ada"}, "entities must be a list of objects, not 'Ada' (a text)"),
        ({"entities": [{"name": "Ada"}, "Bob"]}, "entities[1] must be an object, not 'Bob' (a text)"),
        ({"entities": [{"entityType": "person"}]}, "entities[0] needs 'name'"),
        ({"entities": [{"name": None}]}, "entities[0] needs 'name'"),
        ({"entities": [{"name": "Ada"}, {"name": 5}]}, "entities[1].name must be text, not '5' (a number)"),
        (
            {"entities": [{"name": "Ada", "obs": 5}]},
            'entities[0].obs must be a list of texts, ["a", "b"], not \'5\' (a number)',
        ),
        ({"entities": [{"name": "Ada", "colour": 1}]}, "entities[0] has no field 'colour'"),
        ({"entities": [{"name": "A", "obs": [], "observations": []}]}, "entities[0] has 'observations' twice"),
        ({"entities": {}}, "entities[0] needs 'name'"),
        ({"entities": "[5"}, "entities must be a list of objects, not '[5' (a text)"),
    ],
)
def test_what_is_wrong_in_an_object_is_named_with_its_place(arguments, said):
    (tool,) = (tool for tool in EVERY if tool.name == "create_entities")

    with pytest.raises(Invalid) as refused:
        checked(tool, arguments)

    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("name", "arguments", "taken"),
    [
        ("memory_search", {"query": "q", "tags": '["a", "b, c"]'}, {"tags": ("a", "b, c")}),
        ("memory_search", {"query": "q", "tags": "a, b ,,"}, {"tags": ("a", "b")}),
        ("memory_search", {"query": "q", "tags": "a"}, {"tags": ("a",)}),
        ("memory_search", {"query": "q", "limit": " 5 "}, {"limit": 5}),
        ("memory_search", {"query": "q", "limit": "7.0"}, {"limit": 7}),
        ("memory_search", {"query": "q", "superseded": "True"}, {"superseded": True}),
        ("memory_search", {"query": "q", "superseded": 0}, {"superseded": False}),
        ("memory_search", {"query": "q", "mode": "Keyword "}, {"mode": "keyword"}),
        ("memory_save", {"title": "t", "category": "BUG", "tags": ""}, {"category": "bug", "tags": ()}),
        ("memory_store", {"agent": "a", "type": "Discoveries", "content": "c"}, {"type": "discovery"}),
        ("delete_entities", {"names": '["Paris, France", "7"]'}, {"names": ("Paris, France", "7")}),
        ("delete_entities", {"names": "a,b"}, {"names": ("a", "b")}),
        ("link_memories", {"entity": "e", "memory_ids": 5}, {"memory_ids": (5,)}),
        (
            "create_entities",
            {"entities": '[{"name": "Ada", "observations": "born in London, 1815"}]'},
            {"entities": ({"name": "Ada", "observations": ("born in London, 1815",)},)},
        ),
        (
            "create_entities",
            {"entities": {"name": "Ada", "observations": '["one", "two"]', "embed": "no"}},
            {"entities": ({"name": "Ada", "observations": ("one", "two"), "embed": False},)},
        ),
        ("search_hybrid", {"query": "q", "vector_weight": "0.5"}, {"vector_weight": 0.5}),
    ],
)
def test_lists_and_numbers_may_be_text_and_names_of_choices_in_capitals(name, arguments, taken):
    (tool,) = (tool for tool in EVERY if tool.name == name)

    found, notices = checked(tool, arguments)

    assert {one: found[one] for one in taken} == taken
    assert all(type(found[one]) is type(value) or isinstance(value, str) for one, value in taken.items())
    assert notices == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"limit": "five"}, "limit must be a whole number from 1 to 100, not 'five' (a text)"),
        ({"limit": "5.5"}, "limit must be a whole number from 1 to 100, not '5.5' (a text)"),
        ({"limit": ""}, "limit must be a whole number from 1 to 100, not '' (a text)"),
        ({"superseded": "maybe"}, "superseded must be true or false, not 'maybe' (a text)"),
        ({"superseded": 2}, "superseded must be true or false, not '2' (a number)"),
        ({"tags": "[a, b]"}, 'tags must be a list of texts, ["a", "b"], not \'[a, b]\' (a text)'),
        ({"tags": "[1, 2]"}, 'tags must be a list of texts, ["a", "b"], not \'[1, 2]\' (a text)'),
        ({"mode": "fast"}, "mode must be one of tiered, keyword, vector, hybrid, not 'fast' (a text)"),
    ],
)
def test_what_a_text_does_not_say_is_refused_by_name(arguments, said):
    (tool,) = (tool for tool in EVERY if tool.name == "memory_search")

    with pytest.raises(Invalid) as refused:
        checked(tool, {"query": "q"} | arguments)

    assert said in str(refused.value)


def test_what_other_servers_call_a_field_is_taken_and_not_offered():
    (tool,) = (tool for tool in EVERY if tool.name == "create_relations")

    found, _ = checked(tool, {"relations": [{"source": "a", "target": 2, "type": "uses"}]})

    assert found == {"relations": ({"from": "a", "to": 2, "relationType": "uses"},)}
    assert set(tool.input["properties"]["relations"]["items"]["properties"]) == {"from", "to", "relationType"}


@pytest.mark.parametrize("tool", FEW, ids=lambda tool: tool.name)
def test_a_schema_names_what_must_be_given_and_nothing_that_is_not_taken(tool):
    taken = {one.name for one in tool.parameters}

    assert {one.name for one in tool.parameters if one.required} == set(tool.input.get("required", ()))
    assert set(tool.input.get("required", ())) <= set(tool.input["properties"]) <= taken


@pytest.mark.parametrize("tool", FEW, ids=lambda tool: tool.name)
def test_no_two_arguments_of_a_tool_share_a_name(tool):
    for parameters in (tool.parameters, *(one.fields for one in tool.parameters)):
        names = [name for one in parameters for name in (one.name, *one.also)]

        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("name", "guessed", "right"),
    [
        ("memory_search", {"q": "jwt", "top_k": 3, "kind": "note"}, {"query": "jwt", "limit": 3, "type": "note"}),
        ("memory_context", {"task": "jwt", "budget": 900}, {"query": "jwt", "tokens": 900}),
        ("memory_context", {"about": "jwt"}, {"query": "jwt"}),
        (
            "memory_save",
            {"name": "x", "content": "y", "type": "bug"},
            {"title": "x", "details": "y", "category": "bug"},
        ),
        ("memory_details", {"memory_id": 3, "offset": 10}, {"id": 3, "start": 10}),
        ("memory_delete", {"uid": "0123abcd"}, {"id": "0123abcd"}),
        ("delete_memory", {"id": 3}, {"memory_id": 3}),
        ("search_system_memory", {"question": "port"}, {"query": "port"}),
        ("search_nodes", {"task": "port", "max_results": 2}, {"query": "port", "limit": 2}),
    ],
)
def test_names_that_models_guess_are_taken_and_not_offered(name, guessed, right):
    (tool,) = (tool for tool in FEW if tool.name == name)

    found, notices = checked(tool, guessed)

    assert (found, notices) == (right, ())
    assert not {guess for guess in guessed if guess not in right} & set(tool.input["properties"])


def test_a_guessed_name_beside_the_right_one_is_refused_with_both():
    (tool,) = (tool for tool in FEW if tool.name == "memory_search")

    with pytest.raises(Invalid, match="memory_search has 'query' twice, once as 'task'") as refused:
        checked(tool, {"query": "jwt", "task": "auth"})

    assert refused.value.hint == "Give one of them."

"""What holds of the arguments of every tool, whatever an agent passes."""

from __future__ import annotations

from hypothesis import given, strategies as st

from memory.errors import Invalid
from memory.mcp.tool import checked
from memory.mcp.toolsets import EVERY

TOOLS = st.sampled_from(EVERY)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
NAMES = st.sampled_from(sorted({one.name for tool in EVERY for one in tool.parameters})) | st.text()


def right(one):
    """Values that an argument takes."""
    match one.sort:
        case "integer":
            return st.integers(one.low, one.high)
        case "boolean":
            return st.booleans()
        case "strings":
            return st.lists(st.text())
        case "number":
            return st.floats(allow_nan=False) | st.integers(-(2**53), 2**53)
        case "id":
            return st.text() | st.integers()
    return st.sampled_from(one.choices) if one.choices else st.text()


@given(TOOLS, st.dictionaries(NAMES, VALUES))
def test_anything_is_either_taken_as_the_schema_says_or_refused_with_a_sentence(tool, arguments):
    try:
        found, notices = checked(tool, arguments)
    except Invalid:
        return

    known = {one.name: one for one in tool.parameters}
    assert set(found) == {name for name, value in arguments.items() if value is not None}
    assert all(one.name in found for one in tool.parameters if one.required)
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
            case "id":
                assert isinstance(value, (str, int))
                assert not isinstance(value, bool)
            case "string":
                assert isinstance(value, str)
                assert not one.choices or value in one.choices
    changed = [name for name in found if known[name].sort == "integer" and found[name] != arguments[name]]
    assert len(notices) == len(changed)


@given(TOOLS, st.data())
def test_what_the_schema_allows_is_taken_as_it_is(tool, data):
    arguments = {one.name: data.draw(right(one)) for one in tool.parameters if one.required or data.draw(st.booleans())}

    found, notices = checked(tool, arguments)

    assert {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()} == arguments
    assert notices == ()


@given(TOOLS)
def test_no_schema_allows_more_than_it_names(tool):
    assert tool.input["additionalProperties"] is False
    assert set(tool.input.get("required", ())) <= set(tool.input["properties"])

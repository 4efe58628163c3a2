"""Whatever plain settings file there is: one setting changes, and nothing else."""

from __future__ import annotations

import re
from collections import Counter

import pytest
import yaml
from hypothesis import example, given, strategies as st

from memory.config import Config, keys, tree, value
from memory.config.edit import changed, example as example_file, unset
from memory.schema.errors import ConfigError

BEHIND = ["", "", " ", "  # Anna wants it", " # limit: 3", " #home: 'x'"]
OWN = [
    "",
    "\n",
    "# a comment\n",
    "  # inside\n",
    "# limit: was 3, never go below 5\n",
    "#   limit: 7\n",
    "  # mode: keyword\n",
    "# home: is where the heart is\n",
    "# search:\n# as Bob said\n",
]
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=20)


@st.composite
def settings(draw) -> tuple[str, object]:
    """Some setting and a value of its type."""
    key = draw(st.sampled_from(keys()))
    kind = type(value(Config(), key))
    values = {bool: st.booleans(), int: st.integers(0, 10**6), float: st.floats(0, 1e6), str: TEXTS}
    return key, draw(values[kind])


@st.composite
def files(draw) -> str:
    """
    A file as people leave it: sections in any order, some commented, odd indents and blank lines, comments above and
    behind, the line endings of Windows, a byte order mark, no end of the last line.
    """
    chosen = dict(draw(st.lists(settings(), max_size=6, unique_by=lambda pair: pair[0])))
    sections: dict[str, list[str]] = {}
    for key, said in chosen.items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append(f"{name}: {yaml.safe_dump(said, allow_unicode=True).splitlines()[0]}")
    lines = draw(st.sampled_from(["", "# mine\n", example_file()]))
    for section, own in sorted(sections.items(), key=lambda _: draw(st.integers())):
        indent = draw(st.sampled_from(["  ", "    "])) if section else ""
        lines += f"{section}:\n" * bool(section) + "".join(
            f"{indent}{line}{draw(st.sampled_from(BEHIND))}\n" for line in own
        )
        lines += draw(st.sampled_from(OWN))
    lines = lines.removesuffix("\n") if draw(st.booleans()) else lines
    return draw(st.sampled_from(["", "\ufeff"])) + lines.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def twice(text: str) -> list[str]:
    """The keys that a mapping of a file has more than once; YAML forbids it, and the library does not say so."""
    tops = getattr(yaml.compose(text, Loader=yaml.SafeLoader), "value", [])
    names = [tops, *(value.value for _, value in tops if isinstance(value, yaml.MappingNode))]
    return [key for mapping in names for key, count in Counter(k.value for k, _ in mapping).items() if count > 1]


@given(files(), settings())
@example("", ("search.slow_seconds", 1e-05))
@example("graph:\n  threshold: \xa0\n", ("graph.threshold", "A"))
def test_one_setting_changes_and_no_other(text: str, setting: tuple[str, object]) -> None:
    key, said = setting

    new = changed(text, key, said)

    assert dict(tree(new, "f")) == dict(tree(text, "f")) | {key: said}


@given(files(), settings())
def test_every_other_line_stays(text: str, setting: tuple[str, object]) -> None:
    section, _, name = setting[0].rpartition(".")
    examples = {line for line in example_file().splitlines() if re.match(rf"# *({name}|{section or name}):", line)}

    before, after = (Counter(of.removeprefix("\ufeff").splitlines()) for of in (text, changed(text, *setting)))

    gone, new = before - after, after - before
    spoken = [line for line in gone.elements() if line not in examples]
    assert all(re.match(rf" *{name}:", line) for line in spoken)
    assert len(spoken) <= 1
    assert gone.total() - len(spoken) <= 2  # the commented section and setting of the example become what they show
    for was in spoken:
        behind = max((said for said in BEHIND if was.endswith(said)), key=len)
        assert any(line.endswith(behind) for line in new)


@given(files(), settings())
def test_line_endings_and_a_byte_order_mark_stay(text: str, setting: tuple[str, object]) -> None:
    new = changed(text, *setting)

    assert new.startswith("\ufeff") == text.startswith("\ufeff")
    assert set(re.findall("\r?\n", new)) == (set(re.findall("\r?\n", text)) or set(re.findall("\n", new)))


@given(files(), settings())
def test_no_key_is_there_twice(text: str, setting: tuple[str, object]) -> None:
    assert twice(changed(text, *setting)) == []


@given(files(), settings())
def test_changing_again_to_the_same_changes_nothing(text: str, setting: tuple[str, object]) -> None:
    once = changed(text, *setting)

    assert changed(once, *setting) == once


@given(files(), settings())
def test_a_setting_that_is_taken_out_leaves_all_others(text: str, setting: tuple[str, object]) -> None:
    key, _ = setting

    new = unset(text, key)

    assert dict(tree(new, "f")) == {known: said for known, said in dict(tree(text, "f")).items() if known != key}
    assert unset(new, key) == new


@given(settings())
def test_what_was_set_in_the_example_and_taken_out_reads_like_the_example(setting: tuple[str, object]) -> None:
    key, said = setting
    section = key.rpartition(".")[0]
    before = example_file().replace(f"#{section}:", f"{section}:") if section else example_file()

    assert unset(changed(example_file(), key, said), key) in (before, example_file())


@pytest.mark.parametrize(
    "text",
    [
        "search: {limit: 3, mode: hybrid}\n",
        "search: {limit: 3}\n",
        "{search: {limit: 3}}\n",
        "search: {}\n",
        "search: null\n",
        "search: ~\n",
        "? search\n: limit: 3\n",
        "search: &s\n  limit: 3\n",
        "'search':\n  limit: 3\n",
        '"search":\n',
        'search:\n  "limit": 3\n',
        'search:\n  "limit":\n',
        "search:\n  limit:\n    3\n",
        "search:\n  limit: |\n    3\n",
        "search:\n  limit: &l 3\ncontext:\n  limit: *l\n",
        "search:\n  limit: &l 3\n",
        "search:\n  limit: !!int 3\n",
        "search:\n  limit: 3\n  limit: 5\n",
        "search:\n  limit: 3\nsearch:\n  mode: keyword\n",
        "  search:\n    limit: 3\n",
    ],
)
def test_what_cannot_be_changed_line_by_line_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="line by line") as caught:
        changed(text, "search.limit", 4)
    assert caught.value.hint == "Set search.limit to 4 by hand."

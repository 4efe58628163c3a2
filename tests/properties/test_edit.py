"""Whatever plain settings file there is: one setting changes, and nothing else."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given, strategies as st

from memory.config import Config, example as example_file, keys, tree, value
from memory.edit import changed
from memory.errors import ConfigError

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
    """A file as people leave it: sections in any order, some commented, odd indents and blank lines."""
    chosen = dict(draw(st.lists(settings(), max_size=6, unique_by=lambda pair: pair[0])))
    sections: dict[str, list[str]] = {}
    for key, said in chosen.items():
        section, _, name = key.rpartition(".")
        sections.setdefault(section, []).append(f"{name}: {yaml.safe_dump(said, allow_unicode=True).splitlines()[0]}")
    lines = draw(st.sampled_from(["", "# mine\n", example_file()]))
    for section, own in sorted(sections.items(), key=lambda _: draw(st.integers())):
        indent = draw(st.sampled_from(["  ", "    "])) if section else ""
        lines += f"{section}:\n" * bool(section) + "".join(f"{indent}{line}\n" for line in own)
        lines += draw(st.sampled_from(["", "\n", "# a comment\n", "  # inside\n"]))
    return lines


@given(files(), settings())
@example("", ("store.busy_seconds", 1e-05))
def test_one_setting_changes_and_no_other(text: str, setting: tuple[str, object]) -> None:
    key, said = setting

    new = changed(text, key, said)

    assert dict(tree(new, "f")) == dict(tree(text, "f")) | {key: said}


@given(files(), settings())
def test_comments_stay(text: str, setting: tuple[str, object]) -> None:
    def comments(of: str) -> list[str]:
        return [line for line in of.splitlines() if line.lstrip().startswith("#") and not line.rstrip().endswith(":")]

    kept = comments(changed(text, *setting))

    assert len(comments(text)) - len(kept) in {0, 1}  # one that held the setting itself may have become it


@given(files(), settings())
def test_changing_again_to_the_same_changes_nothing(text: str, setting: tuple[str, object]) -> None:
    once = changed(text, *setting)

    assert changed(once, *setting) == once


@pytest.mark.parametrize("text", ["search: {limit: 3, mode: hybrid}\n", "search:\n  limit:\n    3\n"])
def test_what_cannot_be_changed_line_by_line_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="line by line") as caught:
        changed(text, "search.limit", 4)
    assert "by hand" in caught.value.hint

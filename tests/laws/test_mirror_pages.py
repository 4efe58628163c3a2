"""A page says what its memory says, whoever wrote it; two pages become one without a loss."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import example, given, strategies as st
from profiles import examples

from memory.carry.pages import LISTS, NAMES, Page, file_name, folded, link, linked, merged, parsed, rendered, versions
from memory.schema.errors import Invalid

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
words = st.sampled_from(["one", "two", "three", "null", "~", "1.10", "true", "- x", "# y", "a: b", "[[x]]", "\n---\n"])
values = texts | words
lists = st.lists(values, min_size=1, max_size=3)
NESTED = st.dictionaries(st.sampled_from("abc"), st.integers() | values | st.booleans(), min_size=1)
TYPED = {
    **dict.fromkeys(LISTS, lists),
    "pinned": st.just(True),
    "keyword_only": st.just(True),
    "session_iter": st.integers(1, 99),
    "metadata": NESTED,
}
plain = st.fixed_dictionaries({}, optional={name: TYPED.get(name, values) for name in NAMES if name != "status"})
foreign = st.sampled_from(["", "# mine\n", "aliases:\n  - a\n  - b\n", 'cssclass: "x: y"\n', "my key: 1\n\n"])
pages = st.builds(Page, plain.filter(lambda facts: "uid" in facts), texts | st.just(""), foreign)


@examples(1)
@given(pages)
@example(Page({"uid": "1", "what": "x" * 100_000}, ""))
@example(Page({"uid": "1"}, "---\nuid: 2\n---\n", "a: 1\n"))
def test_what_is_written_is_read(page: Page) -> None:
    assert parsed(rendered(page), ours=True) == page


@given(pages)
def test_front_matter_is_yaml(page: Page) -> None:
    text = rendered(page)
    front = text[: len(text) - len(page.body)].strip().removeprefix("---").removesuffix("---")

    found = yaml.safe_load(front)

    assert {name: found[name] for name in page.facts} == dict(page.facts)


@examples(1)
@given(st.text() | pages.map(rendered), st.integers(0, 400), st.text(max_size=3))
def test_any_text_is_a_page_or_a_sentence(text: str, place: int, more: str) -> None:
    try:
        read = [parsed(text[:place] + more + text[place:], ours=ours) for ours in (True, False)]
    except Invalid:
        return
    assert all(set(page.facts) <= set(NAMES) for page in read)


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("tags: auth, jwt", "tags", ["auth", "jwt"]),
        ("tags:\n  - auth\n  - '#jwt'", "tags", ["auth", "#jwt"]),
        ("tags: [auth, jwt]", "tags", ["auth", "jwt"]),
        ("title: 1.10", "title", "1.10"),
        ("title: 'it''s'", "title", "it's"),
        ("title: >-\n  two\n  lines", "title", "two lines"),
        ("created_at: 2026-11-22T10:00:00Z", "created_at", "2026-11-22T10:00:00Z"),
        ("pinned: yes", "pinned", True),
        ("session_iter: 3", "session_iter", 3),
        ("metadata:\n  a: 1\n  b: [x]", "metadata", {"a": 1, "b": ["x"]}),
        ('about: ["[[api/Billing|the service]]"]', "about", ["[[api/Billing|the service]]"]),
    ],
)
def test_what_editors_make_of_it_is_read(line: str, name: str, value: object) -> None:
    assert parsed(f"---\r\nuid: x\r\n{line}\r\n---\r\nbody\r\n", ours=True).facts[name] == value
    assert parsed(f"---\nuid: x\n{line}\n---\nbody\n", ours=True) == Page({"uid": "x", name: value}, "body\n")


@pytest.mark.parametrize(
    "line", ["category:", "category: null", "category: ~", 'category: ""', "tags: []", "pinned: no"]
)
def test_nothing_is_absent(line: str) -> None:
    assert parsed(f"---\nuid: x\n{line}\n---\n", ours=True).facts == {"uid": "x"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("---\nuid: x\nbody", "is not closed"),
        ("---\nuid: x\ntags: {a: 1}\n---\n", "tags is a list"),
        ("---\nuid: x\ntitle: [a]\n---\n", "title is a text"),
        ("---\nuid: x\npinned: maybe\n---\n", "true or false"),
        ("---\nuid: x\nsession_iter: x\n---\n", "a number"),
        ("---\nuid: x\nmetadata: x\n---\n", "names with values"),
        ('---\nuid: x\ntitle: "a\n---\n', "cannot be read"),
        ("---\nuid: x\ntitle: *a\n---\n", "cannot be read"),
        (f"---\nuid: {'x' * (1 << 16)}\n---\n", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_a_sentence(text: str, why: str) -> None:
    with pytest.raises(Invalid, match=why):
        parsed(text, ours=True)


# Links and names --------------------------------------------------------------


@given(st.lists(st.text(min_size=1), min_size=1, max_size=3), st.text())
def test_any_title_makes_a_name_that_a_link_finds(titles: list[str], type: str) -> None:
    name = "/".join(file_name(title, "page") for title in titles)

    assert len(name.encode()) <= 3 * 130
    assert not set(name) & set('\\:*?"<>|#^[]%\n\r\0')
    assert not any(part.startswith(".") or part.endswith((".", " ")) or not part for part in name.split("/"))
    type = " ".join(type.split())
    assert linked(link(name, type), "relations" if type else "about") == (type, name)


@pytest.mark.parametrize("title", ["CON", "nul.txt", "LPT1"])
def test_no_name_is_a_device_of_windows(title: str) -> None:
    assert file_name(title, "page") == f"{title} page"


@pytest.mark.parametrize(("text", "name"), [("Billing", "about"), ("[[Billing]]", "relations"), (3, "about")])
def test_what_is_no_link_is_refused(text: object, name: str) -> None:
    with pytest.raises(Invalid, match=r"A link is written|has "):
        linked(text, name)


def test_cases_and_compositions_are_one_name() -> None:
    assert folded("Caf\u00e9.md") == folded("CAFE\u0301.md")


# Merged -----------------------------------------------------------------------


@given(pages, pages)
def test_one_sides_change_is_the_result(page: Page, changed: Page) -> None:
    changed = changed._replace(facts={**changed.facts, "uid": page.uid})

    for pair in ((page, changed), (changed, page)):
        found, whole = merged(page.marks(), *pair)
        assert whole
        assert found.marks() == changed.marks()


@given(pages, pages, pages)
def test_a_fact_of_both_is_whole_or_said(page: Page, one: Page, other: Page) -> None:
    found, whole = merged(page.marks(), one, other)

    for name in set(NAMES) - {"uid", "updated_at"}:
        sides = [side.facts.get(name) for side in (one, other)]
        changed = [value for value in sides if json.dumps(value) != json.dumps(page.facts.get(name))]
        kept = found.facts.get(name)
        if name in LISTS:
            assert all(item in (kept or []) for value in changed[:1] if len(changed) == 1 for item in value or [])
        elif whole:
            assert all(value == kept for value in changed)


@given(pages, pages)
def test_without_a_former_page_both_have_their_say(one: Page, other: Page) -> None:
    found, whole = merged(None, one, other)

    both = (set(one.facts) & set(other.facts)) - {"uid", "updated_at", *LISTS}
    assert whole == (all(one.facts[name] == other.facts[name] for name in both) and one[1:] == other[1:])
    assert set(one.facts) | set(other.facts) - {"uid", "updated_at"} <= set(found.facts)


def test_both_sides_of_a_merge_of_git_are_read() -> None:
    text = "a\n<<<<<<< HEAD\nb\n||||||| base\nz\n=======\nc\nd\n>>>>>>> other\ne\n"

    assert versions(text) == ["a\nb\ne\n", "a\nc\nd\ne\n"]
    assert versions("Title\n=======\ntext") == ["Title\n=======\ntext"]

"""Front matter as people write it: nothing that it says is lost, in import or in a mirror, and none of it is rewritten."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from command import Shell
from hypothesis import given, strategies as st
from profiles import examples

from memory.carry.formats.items import moment_of
from memory.carry.formats.notes import note
from memory.config.front_matter import entries, split, values

KEYS = (
    *("title", "Title", "tags", "tag", "keywords", "aliases", "description", "summary", "name", "date", "created"),
    *("updated", "status", "pinned", "project", "kind", "parent", "uid", "about", "category", "source", "what", "why"),
    *("related_files", "metadata", "session_id", "superseded_by", "relations", "created_at", "keyword_only", "rating"),
    *("my key", "ключ", "up", "date created"),
)
VALUES = (
    *(
        "%s",
        '"%s"',
        "'it's %s'",
        "Governance: %s",
        "[%s, b]",
        "[%s",
        "{a: %s}",
        "[[%s]]",
        "[[A]], [[%s]]",
        "@%s",
        "*%s",
    ),
    *("\n  - %s\n  - b: c: d", "\n- %s\n- 2", "|\n  %s\n\n  more", ">-\n  two\n  %s", "\n  a: %s\n  b: [1, 2]", "%%%s"),
    *("2024-05-06 # %s", "yes %s", "#%s #b", "\n\tx: %s", '"%s', "{{%s}}", "!tag %s", "&a %s", "2024-05-06 07:08 %s"),
    *("- %s", "https://example.org/%s?a=b#c", '{"json": ["%s", {"a": null}]}', "%s\nno entry at all", "`%s`"),
)
FRONTS = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(VALUES)), min_size=1, max_size=6)
BODIES = st.sampled_from(["", "\n", "text\n", "# Heading\n\ntext #inline", "\r\ntext\r\n"])


def made(entries: list[tuple[str, str]]) -> tuple[str, list[str]]:
    """Front matter, and a word of each of its values."""
    words = [f"walrus{number}" for number, _ in enumerate(entries)]
    lines = (f"{key}: {value % word}\n" for (key, value), word in zip(entries, words, strict=True))
    return f"---\n{''.join(lines)}---\n", words


def comment(value: str) -> bool:
    return "# %s" in value


@examples(6)
@given(FRONTS, BODIES)
def test_each_word_of_front_matter_is_read(entries: list[tuple[str, str]], body: str) -> None:
    front, words = made(entries)

    found = note(split(front + body), "file", str)

    said = json.dumps([found.title, found.what, found.tags, dict(found.metadata)], ensure_ascii=False)
    for (key, value), word in zip(entries, words, strict=True):
        assert comment(value) or word in said, (key, value, said)
    assert found.body == (body if body.strip() else found.title)


@examples(6)
@given(st.text(), st.sampled_from(["---\n", "+++\n", "{", "---\r\n", "\ufeff---\n", ""]), st.text())
def test_the_parts_of_a_text_are_the_text(head: str, mark: str, tail: str) -> None:
    text = f"{mark}{head}{mark}{tail}"

    front = split(text)

    assert front.begin + front.text + front.end + front.body == text
    assert "".join(lines for _, lines in entries(front.text)) == front.text
    assert isinstance(values(front), dict)


@examples(0.4)
@given(st.lists(st.tuples(FRONTS, BODIES), min_size=1, max_size=4))
def test_a_mirror_takes_each_page_and_adds_one_line(pages: list[tuple[list[tuple[str, str]], str]]) -> None:
    with TemporaryDirectory() as root:
        folder = Path(root, "pages")
        folder.mkdir()
        shell = Shell(Path(root, "home"), folder, {"MEMORY_EMBEDDING_PROVIDER": "none"})
        texts = {}
        for number, (entries, body) in zip(count(), pages, strict=False):
            front, words = made(entries)
            texts[f"{number}.md"] = front, words, entries, body
            (folder / f"{number}.md").write_bytes((front + body).encode())

        shell("mirror", ".")

        memories = shell("export").out
        for name, (front, words, entries, body) in texts.items():
            after = (folder / name).read_bytes().decode()
            ours = [line for line in after.splitlines(keepends=True) if line.startswith("memory_page: ")]
            assert len(ours) == 1
            assert after.replace(ours[0], "") == front + body
            for (_, value), word in zip(entries, words, strict=True):
                assert comment(value) or word in memories
        before = {path: path.read_bytes() for path in folder.glob("*.md")}
        again = json.loads(shell("mirror", ".", "--json").out.splitlines()[-1])
        assert (again["known"], again["done"]) == (len(pages), {})
        assert {path: path.read_bytes() for path in folder.glob("*.md")} == before


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA rule.\n\n---\nmore",
        "---\ntitle: no end\n\nProse here.\n\n---\nmore",
        "---\ntitle: no end\nmore",
        "---\n- a list\n---\nmore",
        "---\n" + "a: b\n" * 1001 + "---\nmore",
        "{{ a template }}\n---\n",
        '{"a": 1} and more',
    ],
)
def test_what_is_no_front_matter_stays_in_the_text(text: str) -> None:
    assert split(text).body == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("---\n# a comment\n\ntitle: A\n---\n", {"title": "A"}),
        ("---\ntitle: A\n\n\nother: B\n...\n", {"title": "A", "other": "B"}),
        ("---\n---\n", {}),
        ("---\r\ntitle: A\r\n---\r\n", {"title": "A"}),
        ('+++\ntitle = "A"\n[more]\nb = 2024-05-06\n+++\n', {"title": "A", "more": {"b": "2024-05-06"}}),
        ("+++\ntitle = A: b\nc = 1\n+++\n", {"title": "A: b", "c": 1}),
        ('{"title": "A", "n": [1, null]}\ntext', {"title": "A", "n": [1, None]}),
        ("---\nversion: 1.10\nzip: 01234\nflag: true\nyes: no\nn: 5\n---\n", None),
    ],
)
def test_what_is_front_matter_has_its_values(text: str, found: dict[str, object] | None) -> None:
    usual = {"version": "1.10", "zip": "01234", "flag": True, "yes": "no", "n": 5}
    assert values(split(text)) == (usual if found is None else found)


def test_a_front_matter_of_blanks_is_read_in_time_that_grows_with_it() -> None:
    for text in ("a" + " " * 60_000, '"a"' + " " * 60_000, "a:" + " " * 60_000 + "#", "'" * 60_000):
        assert isinstance(values(split(f"---\nb: 1\n{text}\n---\n")), dict)


# Dates ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        *("2024-05-06", "2024-5-6", "2024/05/06", "2024.05.06", "20240506", "[[2024-05-06]]", "2024-05-06T00:00:00Z"),
        *("May 6, 2024", "6 May 2024", "May 6th, 2024", "Monday, May 6, 2024", "Mon, 6 May 2024 00:00:00 +0000"),
        *("6. May 2024", "2024-05-06 00:00", "2024-05-06 12:00 AM", "Mon May 06 2024 00:00:00 GMT+0000 (UTC)"),
        *("1714953600", "1714953600000", 1714953600, "2024-05-06T02:00:00 +0200", "2024-05-06 00:00:00 UTC"),
        *("2024-05-06T00:00:00.000000000Z", "2024年5月6日", "2024년 5월 6일"),
    ],
)
def test_a_date_as_people_write_it_is_that_date(text: object) -> None:
    assert moment_of(text) == datetime(2024, 5, 6, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("06/05/2024", None),
        ("13/05/2024", datetime(2024, 5, 13, tzinfo=UTC)),
        ("05/13/2024", datetime(2024, 5, 13, tzinfo=UTC)),
        ("05.05.2024 7:08 pm", datetime(2024, 5, 5, 19, 8, tzinfo=UTC)),
        ("2024-05-06 07:08", datetime(2024, 5, 6, 7, 8, tzinfo=UTC)),
        ("31/31/2024", None),
        ("2024-13-45", None),
        ("2024", None),
        ("yesterday", None),
        ("May 2024", None),
        ("6 May 7, 2024", None),
    ],
)
def test_a_date_that_may_be_another_is_none(text: str, moment: datetime | None) -> None:
    assert moment_of(text) == moment

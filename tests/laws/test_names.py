"""Laws of the parts of names of code, and of how a name is looked for."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given, strategies as st

from hostile import Index, hostile
from memory.config import Config
from memory.config.settings import EmbeddingSettings
from memory.engine import Engine
from memory.schema.answer import Ranking, Scored
from memory.schema.draft import Draft
from memory.schema.memory import ChunkId, MemoryId
from memory.schema.query import Query, Term
from memory.store.sqlite.keywords import expression
from memory.text import terms as names
from memory.text.lookup import folded, forms, stems
from memory.text.terms import named, other, parts, pieces, split, terms

WORDS = ["get", "set", "user", "name", "value", "index", "key", "list", "by", "from"]
spoken = st.lists(st.sampled_from(WORDS), min_size=2, max_size=4)
anything = hostile | st.text("aBCdé\u0301É9_./: 東", max_size=12)


def camel(words: list[str]) -> str:
    return words[0] + pascal(words[1:])


def pascal(words: list[str]) -> str:
    return "".join(map(str.capitalize, words))


def snake(words: list[str]) -> str:
    return "_".join(words)


WAYS = {"camelCase": camel, "PascalCase": pascal, "snake_case": snake, "SCREAMING": lambda words: snake(words).upper()}


@given(anything)
@example("HTTPServerError2")
def test_the_parts_are_the_name_without_its_separators(name: str) -> None:
    assert "".join(split(name)) == re.sub(r"[_./:]", "", name)


@given(st.text("abAB12s_ .\n", max_size=14) | anything.filter(str.isascii))
def test_a_text_of_ascii_has_the_names_that_it_has_among_others(text: str) -> None:
    assert list(names.names(text)) == list(names.names(f"{text} é"))


@given(anything)
@example("userIDsABsC")
def test_a_part_has_no_parts(name: str) -> None:
    assert [part for whole in split(name) for part in split(whole)] == split(name)


@given(anything)
def test_taken_apart_step_by_step_a_name_has_the_same_parts(name: str) -> None:
    left, found = [name], []
    while left:
        if len(steps := pieces(first := left.pop(0))) > 1:
            left = steps + left
        else:
            found += split(first)

    assert found == split(name)


@given(anything, anything)
def test_parts_are_small_and_are_no_names_themselves(one: str, two: str) -> None:
    found = parts(f"{one} {two}")

    assert found == [part.lower() for part in found]
    assert parts(" ".join(found)) == []


@given(anything)
def test_a_name_said_twice_counts_once(text: str) -> None:
    assert parts(f"{text} {text}") == parts(text)


@given(spoken, st.sampled_from([camel, pascal]))
def test_the_parts_of_a_name_in_a_text_follow_each_other(words: list[str], way) -> None:
    assert parts(f"call {way(words)}(), then {way(words).lower()}") == words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("getUserName", "get User Name"),
        ("HTTPServerError", "HTTP Server Error"),
        ("parseJSON2", "parse JSON 2"),
        ("SHA256", "SHA 256"),
        ("userIDs", "user IDs"),
        ("APIs", "APIs"),
        ("README", "README"),
        ("iPhone", "i Phone"),
        ("größeÄndern", "größe Ändern"),
        ("имяФайла", "имя Файла"),
        ("__init__", "init"),
        ("src/memory/userId.py", "src memory user Id py"),
        ("हिन्दी", "हिन्दी"),
    ],
)
def test_a_name_consists_of(name: str, expected: str) -> None:
    assert split(name) == expected.split()


@pytest.mark.parametrize(
    "text",
    ["Plain Words, HTTP and README", "user_id get_user_name", "APIs of 1990s, 10th, 3D, 2.5", "e9c4ce3 a1b2c3", ""],
)
def test_what_the_index_holds_already_is_not_indexed_twice(text: str) -> None:
    assert parts(text) == []


@pytest.mark.parametrize(
    "word",
    [
        "user_id",
        "getUser",
        "GitHub",
        "a.py",
        "os.path",
        "3.11.4",
        "E1234",
        "v2",
        "SHA256",
        "Foo::bar",
        "src/a.py",
        "_x",
    ],
)
def test_a_name_of_code_is_one(word: str) -> None:
    assert named(word)
    assert [(term.text, term.exact) for term in terms(word)] == [(word, True)]


@pytest.mark.parametrize(
    "word", ["user", "User", "HTTP", "APIs", "e.g", "2.5", "1234", "10th", "90s", "5pm", "हिन्दी", "Übung", "東京", ""]
)
def test_what_people_write_otherwise_is_no_name(word: str) -> None:
    assert not named(word)
    assert not any(term.exact for term in terms(word))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("getUserName", [("getUserName", "get User Name", ["get", "User", "Name"])]),
        ("user_id", [("user_id", "userid", ["user", "id"])]),
        ("get_userName", [("get_userName", "get user Name", ["get", "userName"])]),
        ("src/memory/search.py", [("src/memory/search.py", "", ["src", "memory", "search.py"])]),
        ("Foo::barBaz", [("Foo::barBaz", "Foo bar Baz", ["Foo", "barBaz"])]),
        ("client/server", [("client", "", []), ("server", "", [])]),
        ("E1234 v2", [("E1234", "E 1234", []), ("v2", "v 2", [])]),
        ("SHA256", [("SHA256", "SHA 256", ["SHA"])]),
        ("is_valid", [("is_valid", "isvalid", ["valid"])]),
        ("--flag-name #1234", [("flag", "", []), ("name", "", []), ("1234", "1 234", [])]),
        ('"getUserName"', [("getUserName", "", [])]),
        ("__init__", [("__init__", "", [])]),
    ],
)
def test_a_name_is_looked_for_as(query: str, expected: list[tuple[str, str, list[str]]]) -> None:
    found = [(term.text, term.other, [part.text for part in term.parts]) for term in terms(query)]

    assert found == expected


def test_names_and_quoted_phrases_are_exact() -> None:
    assert [term.exact for term in terms('login "session cookie" user_id')] == [False, True, True]


@given(anything)
def test_parts_are_not_exact_and_say_something(text: str) -> None:
    left = [part for term in terms(text) for part in term.parts]
    while left:
        part = left.pop()
        left += part.parts
        assert not part.exact
        assert len(part.text) > 1
        assert not part.text.isdigit()


def test_the_mark_of_a_prefix_stays_with_the_last_part() -> None:
    [term] = terms("getUser*")

    assert term.prefix
    assert [part.prefix for part in term.parts] == [False, True]


@given(anything)
def test_every_form_of_a_name_is_a_query(text: str) -> None:
    index = Index("something")

    for term in terms(text):
        for one in (term, *term.parts):
            index.asked(expression(forms([one])))


@given(spoken, st.sampled_from(sorted(WAYS)), st.sampled_from(sorted(WAYS)))
def test_a_name_is_found_however_it_is_written(words: list[str], kept: str, asked: str) -> None:
    index = Index("nothing of it", f"see {WAYS[kept](words)}.", f"the {' '.join(words)} of it")

    [term] = terms(WAYS[asked](words))

    assert index.asked(expression(forms([term]))) == [2, 3]


@pytest.mark.parametrize("query", ["GitHub", "github", "Github", "GITHUB"])
def test_a_capital_inside_hides_no_text_that_is_written_without(query: str) -> None:
    index = Index("pushed to github", "pushed to GitHub", "pushed to a hub")

    assert index.asked(expression(forms(terms(query)))) == [1, 2]


@pytest.mark.parametrize(
    "written", ["HTTPServer", "HttpServer", "httpServer", "HTTP_SERVER", "http_server", "http server"]
)
def test_an_engine_finds_a_name_however_it_was_kept(written: str, tmp_path) -> None:
    config = Config(home=str(tmp_path), embedding=EmbeddingSettings(provider="none"))
    with Engine.open(config, lasting=False) as engine:
        wanted = engine.save(Draft(title="start", what=f"The {written} starts first.")).memory.id
        engine.save(Draft(title="other", what="A server that speaks http starts later."))

        for asked in ("HTTPServer", "http_server", '"http server"'):
            assert [hit.memory.id for hit in engine.search(Query(asked)).hits] == [wanted], asked


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=8), st.data())
def test_either_form_counts_for_its_term(asked: list[tuple[bool, bool]], data: st.DataObject) -> None:
    some = [Term(f"t{n}", other=f"o{n}" if two else "") for n, (two, _) in enumerate(asked)]
    held = data.draw(st.sets(st.sampled_from([form.text for form in forms(some)]))) if some else set()
    bits = sum(1 << place for place, form in enumerate(forms(some)) if form.text in held)

    [one] = folded(Ranking.of([Scored(ChunkId(1), MemoryId(1), 1.0, bits)]), some)

    assert one.matched == sum(1 << n for n, term in enumerate(some) if {term.text, term.other} & held)


@pytest.mark.parametrize("text", ["a", "A", "aB", "a1", "_", "AAa", "1", "_A", "a/b.", "aB::"])
def test_each_character_of_the_longest_text_is_read_for_one_name(text: str) -> None:
    text = (text * 500_000)[:500_000]

    assert sum(len(name) for _, name in names.names(text)) <= len(text)
    assert sum(map(len, parts(text))) <= len(text)


@given(spoken)
def test_the_other_way_to_write_a_name_has_the_same_words(words: list[str]) -> None:
    assert stems(other(camel(words))) == stems(snake(words))
    assert stems(other(snake(words))) == stems(camel(words))

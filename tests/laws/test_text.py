"""Laws of what is looked for, of scripts without spaces, and of the text that is embedded."""

from __future__ import annotations

import random
import re
from itertools import pairwise
from unicodedata import normalize

import apsw
import pytest
from hypothesis import assume, example, given, strategies as st
from profiles import examples, rounds
from work import guarded, is_linear, over_and_over

from hostile import HOSTILE, Index, hostile
from memory.schema.memory import OVERLAP, Chunk, ChunkId, ChunkType, Excerpt, MemoryId
from memory.store.sqlite.keywords import expression
from memory.text import terms as questions
from memory.text.terms import STOP, indexed, pairs, terms, unspaced
from memory.text.tokens import passage, tokens

UNSPACED = "東京都人工知能研究所々〇ひらがなカタカナーｱｲｳภาษาไทยກາລາວខ្មែរမြန်မာစာ\U00020000\U0002a6d6"

plain = st.lists(
    st.sampled_from(["jwt", "cookies", "the", "why", "we", "Über", "user_id", "auth*", "3.11"]), max_size=8
)


def test_thousands_of_hostile_queries_are_no_syntax_error() -> None:
    index, dice = Index("auth NEAR AND", "東京都", "e\u0301"), random.Random(1)

    for _ in range(rounds(100)):
        query = "".join(dice.choices(HOSTILE, k=dice.randint(1, 12)))
        if terms(query):
            index.found(query)


@given(hostile)
@examples(3)
def test_each_term_alone_is_a_query_of_fts5(text: str) -> None:
    db = apsw.Connection(":memory:")
    db.execute("create virtual table t using fts5(text, tokenize='porter unicode61')")

    for term in terms(text):
        db.execute("select rowid from t where t match ?", (expression([term]),))


@given(hostile)
@example('"a\0b"')
def test_terms_are_texts_each_once(text: str) -> None:
    found = terms(text)

    assert len(set(found)) == len(found)
    assert all(term.text.strip() for term in found)
    assert not any("\0" in term.text or '"' in term.text for term in found)


@given(hostile)
def test_a_nul_is_a_blank(text: str) -> None:
    assert terms(text) == terms(text.replace("\0", " "))


@given(st.lists(st.sampled_from(sorted(STOP)), max_size=6), plain)
def test_stop_words_are_dropped_unless_nothing_else_is_left(stops: list[str], words: list[str]) -> None:
    mixed = [word for pair in zip(stops, words, strict=False) for word in pair] or [*stops, *words]

    found = [term.text.lower() for term in terms(" ".join(mixed))]

    others = [word for word in mixed if word not in STOP]
    assert not STOP & set(found) if others else found == list(dict.fromkeys(mixed))


@pytest.mark.parametrize("case", [str.upper, str.title])
def test_stop_words_are_known_in_any_case(case) -> None:
    assert [term.text for term in terms(case("what is the") + " jwt")] == ["jwt"]


@given(plain, plain)
def test_a_word_means_the_same_beside_any_other(one: list[str], other: list[str]) -> None:
    together, apart = terms(" ".join([*one, *other])), {*terms(" ".join(one)), *terms(" ".join(other))}

    assert set(together) <= apart
    assert {term for term in apart if term.text.lower() not in STOP} <= set(together)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("why did we leave session cookies", [("leave", False), ("session", False), ("cookies", False)]),
        ("auth* tok", [("auth", True), ("tok", False)]),
        ('"session cookie" jwt', [("session cookie", False), ("jwt", False)]),
        ("config.yaml user_id", [("config.yaml", False), ("user_id", False)]),
        ('say "hello', [("say", False), ("hello", False)]),
        ('"?" jwt', [("jwt", False)]),
        ("NEAR(a b)", [("NEAR", False), ("b", False)]),
        ("?!", []),
    ],
)
def test_a_query_is_looked_for_as(query: str, expected: list[tuple[str, bool]]) -> None:
    assert [(term.text, term.prefix) for term in terms(query)] == expected


HARD = ['"', '"a', "a.", "_", "\u0e31", "a_b_", "aB", "a/", '" ']


@pytest.mark.parametrize("part", HARD)
def test_a_longer_query_costs_a_character_the_same(part: str) -> None:
    is_linear(terms, part, questions)
    is_linear(lambda text: terms('"' + text), part, questions)


@pytest.mark.parametrize("part", HARD)
def test_the_longest_query_is_taken_apart(part: str) -> None:
    with guarded():
        terms(over_and_over(part, 10_000))


@pytest.mark.parametrize("word", ["résumé", "naïve", "Ångström", "Čeština"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize("other", ["NFC", "NFD"])
def test_accents_do_not_matter_however_they_are_written(word: str, form: str, other: str) -> None:
    assert Index(f"my {normalize(form, word)} is here").found(normalize(other, word)) == [1]


def test_vowel_signs_belong_to_their_word() -> None:
    assert [term.text for term in terms("हिन्दी भाषा")] == ["हिन्दी", "भाषा"]
    assert Index("हिन्दी भाषा", "हनदभष").found("हिन्दी") == [1]


@given(st.text(UNSPACED, min_size=1, max_size=30), st.data())
def test_every_part_of_a_text_without_spaces_is_found(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    part = text[start : data.draw(st.integers(start + 1, len(text)))]
    assume(any(c.isalnum() for c in part))

    index = Index("something else", f"see {text}, then")

    assert index.found(part) == [2]
    assert index.found(f'"{part}"') == [2]


def test_a_quoted_text_without_spaces_stands_together() -> None:
    index = Index("東京都に住む", "京都と東京")

    assert index.found("東京都") == [1, 2]
    assert index.found('"東京都"') == [1]


@given(st.text(UNSPACED, min_size=2, max_size=30))
@example("กินข้าว")
@example("Python入門")
def test_every_pair_of_letters_is_indexed(text: str) -> None:
    letters = [c for c in text if c.isalnum() and unspaced(c)]

    assert {a + b for a, b in pairwise(letters)} <= set(indexed(text).split())


@given(st.text(UNSPACED, min_size=1, max_size=30))
def test_pairs_hold_every_letter_in_order(run: str) -> None:
    letters = "".join(c for c in run if c.isalnum())

    found = pairs(run)

    assert "".join(gram[0] for gram in found) + "".join(gram[1:] for gram in found[-1:]) == letters


@pytest.mark.parametrize(
    "text", ["", "plain words", "Übergrößenträger", "Привет, мир", "مرحبا بالعالم", "हिन्दी", "👩‍👩‍👧"]
)
def test_a_script_with_spaces_is_not_indexed_twice(text: str) -> None:
    assert indexed(text) == ""


def test_korean_is_found_without_its_particles() -> None:
    assert indexed("게임을 했다") == "게임 임을 을 했다 다"
    assert Index("오늘 게임을 했다", "책을 읽었다").found("게임") == [1]
    assert Index("오늘 게임을 했다", "책을 읽었다").found("책") == [2]


def test_words_glued_to_another_script_are_indexed_by_themselves() -> None:
    assert indexed("see Python入門") == "Python 入門 門"
    assert Index("see Python入門").found("python") == [1]


words = st.text("ab \n#›é東", max_size=20)


def excerpt(type: ChunkType, *, text: str, before: str = "", path: tuple[str, ...] = (), **short: str) -> Excerpt:
    chunk = Chunk(1, len(before), len(before) + len(text), type, path, len(path))
    said = [short.get(name, "") for name in ("title", "what", "why", "impact")]
    return Excerpt(ChunkId(1), MemoryId(1), chunk, text, before[-OVERLAP:], *said, ("red", "blue"))


@given(words, words, words, words)
def test_the_passage_of_a_head_says_all_that_is_said_in_short(title: str, what: str, why: str, impact: str) -> None:
    head = excerpt(ChunkType.HEAD, text=what, before="", title=title, what=what, why=why, impact=impact)

    said = [part.strip() for part in (title, what, why, impact, "red blue") if part.strip()]
    assert passage(head) == "\n".join(said)


@given(words, words, st.lists(st.sampled_from(["# Guide", "## Setup", "### 100 %"]), max_size=3, unique=True))
def test_a_passage_says_where_the_chunk_stands_and_then_all_of_it(title: str, text: str, path: list[str]) -> None:
    made = passage(excerpt(ChunkType.TEXT, text=text, path=tuple(path), title=title))

    place = [title, *(header.lstrip("# ") for header in path)]
    assert made == f"{' › '.join(place)}\n{text}".strip()


@given(st.text("ab,\u6771 \n", max_size=300), words, st.integers(0, 60))
@example("a" * OVERLAP + " b ", "", 60)
@example("\u6771" * 90, "", 50)
@example("half" + " " * (OVERLAP - 2) + "b", "", 50)
def test_the_overlap_is_the_last_whole_words_that_are_few_enough(before: str, text: str, most: int) -> None:
    made = passage(excerpt(ChunkType.TEXT, text=f"|{text}|", before=before, title="title"), most)

    overlap = made.removeprefix("title\n").removesuffix(f"|{text}|")
    left_out = before[: len(before) - len(overlap)]
    assert before.endswith(overlap)
    assert tokens(overlap) <= most
    assert not overlap or not left_out or left_out[-1] in " \n\u6771" or overlap[0] == "\u6771"
    if len(before) <= OVERLAP and left_out.strip():
        more = re.search(r"(\u6771|[^\s\u6771]+)\s*\Z", left_out)
        assert more is not None
        assert tokens(more[0]) + tokens(overlap) > most

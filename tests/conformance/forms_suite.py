"""What every store promises of texts that look the same, or are typed in another way."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING
from unicodedata import normalize

import pytest
from forms import FORMS

from memory import Config, Draft, Engine
from memory.schema.query import Mode, Query, Scope
from memory.vectors.providers.inside import HashedEmbedder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memory.store import Store

SAID = (
    *("ещё один сервер", "еще один", "сервер ещё раз, ещё", "Straße und Größe", "Strasse", "die Größe der Straße"),
    *(
        "データベース",
        "ﾃﾞｰﾀﾍﾞｰｽの接続",
        "データ",
        "Zürich Büro",
        "Buero Zuerich",
        "Café ✅ done",
        "cafe",
        "الطَّالِبُ",
        "الطالب",
    ),
)

ASKED = ("ещё раз", '"ещё один"', "Größe Straße", "データベース", "Büro in Zürich", "Café ✅", "الطَّالِب", "ﾃﾞｰﾀ")


def found(engine: Engine, asked: str, project: str = "") -> Sequence[tuple[str, float]]:
    scope = Scope(projects=frozenset({project})) if project else Scope()
    answer = engine.search(Query(asked, limit=20, mode=Mode.KEYWORD, scope=scope, duplicates=True))
    return [(hit.memory.what, hit.score) for hit in answer.hits]


class FormsSuite:
    def test_every_form_is_found_alone(self, store: Store) -> None:
        engine = Engine(store, Config(), lasting=False)  # whose store others close
        engine.save_all([Draft(title="note", what=one.saved, project=f"{one.kind} {one.name}") for one in FORMS])

        missed = [one for one in FORMS if not found(engine, one.asked, f"{one.kind} {one.name}")]

        assert missed == []
        bodies = {memory.project: memory.what for memory in store.memories.page(Scope(), 1000)}
        assert bodies == {f"{one.kind} {one.name}": one.saved for one in FORMS}

    @pytest.mark.parametrize("form", ["NFC", "NFD"])
    def test_whatever_form_a_text_is_typed_in_the_same_comes_back_in_the_same_order(
        self, store: Store, form: str
    ) -> None:
        engine = Engine(store, Config(), lasting=False)  # whose store others close
        engine.save_all([Draft(title=f"note {n}", what=normalize(form, text)) for n, text in enumerate(SAID)])
        for asked in ASKED:
            first = found(engine, asked)

            assert first, asked
            for other in (normalize("NFD", asked), normalize("NFC", asked), asked.upper(), f"\u200e{asked}\u200b"):
                assert found(engine, other) == first, ascii(other)

    def test_how_a_text_was_saved_changes_no_score(self, store: Store) -> None:
        forms = ("ещё раз Größe", normalize("NFD", "ещё раз Größe"), "е\u0308ще\u0308 раз \u0301 Gr\u00ad\u00f6ße")
        engine = Engine(store, Config(), lasting=False)  # whose store others close
        engine.save_all([Draft(title=f"note {n}", what=text) for n, text in enumerate(forms)])

        for asked in ("еще", '"еще раз"', "grosse", "Groesse"):
            assert len({score for _, score in found(engine, asked)}) == 1, asked
            assert len(found(engine, asked)) == len(forms), asked

    def test_what_holds_the_whole_sign_comes_before_what_holds_the_letter(self, store: Store) -> None:
        engine = Engine(store, Config(), lasting=False)  # whose store others close
        texts = ("C++ here", "C here", "C# here", "C in C", ".NET there", "net there")
        engine.save_all([Draft(title="note", what=text) for text in texts])  # at one time: none is newer

        assert found(engine, "C++")[0][0] == "C++ here"
        assert found(engine, "c#")[0][0] == "C# here"
        assert found(engine, ".net")[0][0] == ".NET there"
        assert len(found(engine, "C")) == 4

    def test_the_vowels_of_indic_scripts_are_letters(self, store: Store) -> None:
        engine = Engine(store, Config(), lasting=False)  # whose store others close
        words = ("पानी", "पान", "पुनः", "বই", "বউ", "தமிழ்", "తెలుగు", "తలుగు")  # water, betel, again; book, wife
        engine.save_all([Draft(title="note", what=word) for word in words])

        for word in words:  # which is the beginning of another, finds that behind it
            assert [what for what, _ in found(engine, word)] == [word] + ["पानी"] * (word == "पान")
        assert {what for what, _ in found(engine, "पा*")} == {"पानी", "पान"}

    def test_what_is_excluded_is_excluded_in_any_form(self, store: Store) -> None:
        engine = Engine(store, Config(), lasting=False)  # whose store others close
        engine.save(Draft(title="note", what="сервер ещё"))
        engine.save(Draft(title="note", what="сервер тут"))

        for word in ("ещё", "еще", "е\u0308ще\u0308"):
            assert [what for what, _ in found(engine, f"сервер -{normalize('NFC', word)}")] == ["сервер тут"]

    @pytest.mark.parametrize(
        ("asked", "mode"),
        [
            *product(["games", "GAMES!", "ax19", "Straße", "c++"], [Mode.KEYWORD, Mode.TIERED, Mode.HYBRID]),
            ('"ソード・アート"', Mode.HYBRID),  # no pair of letters of the title is the one across the dot
        ],
    )
    def test_what_is_called_as_the_question_says_comes_first(self, store: Store, asked: str, mode: Mode) -> None:
        engine = Engine(store, Config(), embedder=HashedEmbedder(16), lasting=False)
        titles = ("Games", "ax19", "Strasse", "C++", "ソード アート")
        engine.save_all([Draft(title=title, what="of which nothing more was ever said by anybody") for title in titles])
        engine.save_all(
            [
                Draft(title=f"{word} {n}", what=f"{word} {word} {word}{n}", body=f"{word} " * 20)
                for word in (
                    "Game studio game",
                    "ax19 ax191",
                    "Die Straße Straße",
                    "C++ C C++",
                    "ソード・アートの ソード",
                )
                for n in range(6)
            ]
        )

        first = engine.search(Query(asked, mode=mode)).hits[0]

        other = {
            "GAMES!": "Games",
            "games": "Games",
            "Straße": "Strasse",
            "c++": "C++",
            '"ソード・アート"': "ソード アート",
        }
        assert first.memory.title == other.get(asked, asked)
        assert first.score == max(hit.score for hit in engine.search(Query(asked, mode=mode)).hits)

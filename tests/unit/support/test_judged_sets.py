"""The judged sets that the project wrote itself hold what their READMEs say."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memory.evaluate.judged import questions, read
from memory.text.lookup import stems
from memory.text.terms import STOP

if TYPE_CHECKING:
    from memory.evaluate.judged import JudgedDocument, Question

JUDGED = Path(__file__).parents[2] / "support" / "judged"
SHORT = read(JUDGED / "short_notes")
NOTES = {note.id: note for note in SHORT.documents}
ALL = (*SHORT.documents, *read(JUDGED / "developer_notes").documents)
STRANGERS = questions(JUDGED / "more_strangers")
SHARED = 1
"""Content words that a question may have in common with a note that answers it."""
STRANGE = 2
"""Content words that a question may have in common with a note that does not answer it."""


def content(text: str) -> set[str]:
    """The stems of the words that are not in the stop list."""
    return {stem for word in re.findall(r"[^\W_]+", text.lower()) if word not in STOP for stem in stems(word)}


@cache
def note_content(note: JudgedDocument) -> set[str]:
    return content(f"{note.title} {note.text}")


def test_content_words_are_compared_by_stem_and_without_stop_words() -> None:
    assert content("Why do the Builds wait?") & content("it was waiting for a build") == {"build", "wait"}


def test_every_note_and_question_of_the_short_notes_is_judged() -> None:
    answering = {note for question in SHORT.questions for note in question.relevant}

    assert (SHORT.skipped, SHORT.unknown) == (0, 0)
    assert answering == set(NOTES)


def test_the_short_notes_are_as_many_as_their_readme_says() -> None:
    readme = (JUDGED / "short_notes" / "README.md").read_text("utf-8")
    counts = {
        group: (int(notes), int(questions))
        for group, notes, questions in re.findall(r"^\| `(\w+)` \|.*\| (\d+) \| (\d+) \|$", readme, re.MULTILINE)
    }
    notes = Counter(note.group for note in SHORT.documents)
    asked = Counter(question.group for question in SHORT.questions)

    assert {group: (notes[group], asked[group]) for group in notes | asked} == counts
    assert len(counts) == 5
    assert min(notes.values()) >= 42
    assert len(NOTES) >= 200
    assert len(SHORT.questions) >= 300


def test_a_question_is_asked_in_the_project_of_its_notes() -> None:
    for question in SHORT.questions:
        assert {NOTES[note].group for note in question.relevant} == {question.group}


def test_no_note_and_no_question_is_there_twice() -> None:
    questions = Counter(" ".join(question.text.lower().split()) for question in SHORT.questions)
    titles = Counter(note.title for note in SHORT.documents)

    assert set((questions | titles).values()) == {1}


def test_a_short_note_is_short() -> None:
    for note in SHORT.documents:
        assert note.title
        assert 1 <= len(re.findall(r"[.!?](?=\s|$)", note.text)) <= 3, note.text
        assert len(note.text) <= 200, note.text


def test_as_many_questions_share_no_word_and_one_as_the_readme_says() -> None:
    shared = Counter(
        max(len(content(question.text) & note_content(NOTES[note])) for note in question.relevant)
        for question in SHORT.questions
    )

    assert f"{shared[0]} share none, {shared[1]} share one" in (JUDGED / "short_notes" / "README.md").read_text("utf-8")


def test_a_question_is_in_other_words_than_its_notes() -> None:
    for question in SHORT.questions:
        for note in question.relevant:
            shared = content(question.text) & note_content(NOTES[note])
            assert len(shared) <= SHARED, (question.id, NOTES[note].title)


def test_the_rows_have_no_field_that_is_not_read() -> None:
    for file, fields in [
        ("corpus.jsonl", {"id", "title", "text", "group"}),
        ("queries.jsonl", {"id", "text", "group"}),
    ]:
        rows = (JUDGED / "short_notes" / file).read_text("utf-8").splitlines()

        assert {frozenset(json.loads(row)) for row in rows} == {frozenset(fields)}


def kind(question: Question) -> str:
    return question.id.partition("-")[0]


def test_the_strangers_are_as_many_as_their_readme_says() -> None:
    readme = (JUDGED / "more_strangers" / "README.md").read_text("utf-8")
    counts = Counter(
        {name: int(count) for name, count in re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", readme, re.MULTILINE)}
    )

    assert Counter(map(kind, STRANGERS)) == counts
    assert set(counts) == {"far", "near", "half"}
    assert min(counts.values()) >= 70
    assert f"{len(STRANGERS)} questions" in readme
    assert len(STRANGERS) >= 210


def test_each_project_has_strangers_of_its_own() -> None:
    groups = Counter((kind(question), question.group) for question in STRANGERS)
    projects = {note.group for note in SHORT.documents}

    assert groups == {("far", None): 72} | {(name, group): 15 for name in ("near", "half") for group in projects}


def test_no_stranger_is_there_twice() -> None:
    older = questions(JUDGED / "strangers")
    asked = Counter(question.text.lower() for question in (*STRANGERS, *older, *SHORT.questions))

    assert set(asked.values()) == {1}


def test_a_stranger_shares_little_with_any_note() -> None:
    said = [(note.title, note_content(note)) for note in ALL]
    for question in STRANGERS:
        words = content(question.text)
        for title, note in said:
            assert len(words & note) <= STRANGE, (question.id, title)
            assert words & note < words, (question.id, title)

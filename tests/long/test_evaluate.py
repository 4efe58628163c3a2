"""Judged sets: read, kept, asked, added up."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from judged_asked import CONFIG, nobody, opened, unwatched
from judged_made import THINGS, documents, jsonl, judged, judgments, questions

from memory import Config
from memory.config import EmbeddingSettings, SearchSettings
from memory.evaluate import Plan, evaluate, judged as reading, line
from memory.evaluate.judged import JudgedDocument, Question
from memory.evaluate.systems import SYSTEMS, System, answers, chosen, document_id
from memory.schema.errors import Error, Invalid, StoreError
from memory.schema.query import EVERYTHING, Mode, Query

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from memory import Engine
    from memory.evaluate import Line

NAMED = {system.name: system for system in SYSTEMS}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return judged(tmp_path / "notes")


# Reading ----------------------------------------------------------------------


def test_a_set_is_its_documents_and_the_questions_that_they_answer(folder):
    found = reading.read(folder)

    assert (found.name, len(found.documents), len(found.questions)) == ("notes", 30, 10)
    assert (found.skipped, found.unknown) == (0, 0)
    text = "Nobody had looked at postgres connections before the outage of spring."
    assert found.documents[1] == JudgedDocument("d-pool-1", text, "pool 1", None, f"{folder / 'corpus.jsonl'}:2")
    assert found.questions[0].relevant == {"d-pool-0": 2.0, "d-pool-1": 1.0}


def test_judgments_need_no_names_of_columns_and_end_their_lines_as_they_like(folder):
    usual = reading.read(folder)
    (folder / "qrels.tsv").write_bytes("\r\n".join(judgments()[1:]).encode("utf-8-sig"))

    assert reading.read(folder) == usual


def test_only_line_feeds_end_a_line_for_json_may_hold_other_separators(folder):
    jsonl(folder / "corpus.jsonl", [*documents(), {"id": 7, "text": "one\u2028two\x85three"}])

    last = reading.read(folder).documents[-1]

    assert (last.id, last.text, last.title, last.group) == ("7", "one\u2028two\x85three", "", None)


def test_what_is_judged_and_not_there_and_what_is_there_and_not_judged_is_counted(folder):
    asked = [*questions(), {"id": "lonely", "text": "who"}, {"id": "wrong", "text": "what"}]
    jsonl(folder / "queries.jsonl", asked)
    more = ["q-pool\tgone\t1", "gone\td-pool-0\t1", "wrong\td-pool-0\t0", "wrong\td-pool-1\t-1"]
    (folder / "qrels.tsv").write_text("\n".join([*judgments(), *more]), "utf-8")

    found = reading.read(folder)

    assert (found.skipped, found.unknown) == (2, 2)
    assert [one.id for one in found.questions] == [one["id"] for one in questions()]


BROKEN = [
    ("corpus.jsonl", '{"id": "x", "text": }', "corpus.jsonl:1: not JSON: "),
    ("corpus.jsonl", "[" * 100_000, "corpus.jsonl:1: not JSON: "),
    ("corpus.jsonl", '["x"]', "corpus.jsonl:1: expected an object, not ['x']"),
    ("corpus.jsonl", '{"_id": "x", "text": "y"}', 'corpus.jsonl:1: "id" must be a text, not None'),
    ("corpus.jsonl", '{"id": true, "text": "y"}', 'corpus.jsonl:1: "id" must be a text, not True'),
    ("corpus.jsonl", '\n{"id": "x", "text": 3}', 'corpus.jsonl:2: "text" must be a text, not 3'),
    ("corpus.jsonl", '{"id": "x", "text": "y", "group": 3}', 'corpus.jsonl:1: "group" must be a text, not 3'),
    ("corpus.jsonl", '{"id": "x", "text": "a\\u0000b"}', 'corpus.jsonl:1: "text" has a NUL at position 1'),
    ("corpus.jsonl", '{"id": "x", "text": "a\\ud800"}', 'corpus.jsonl:1: "text" has a lone surrogate'),
    ("corpus.jsonl", '{"id":"x","text":"y"}\n{"id":"x","text":"z"}', "corpus.jsonl:2: the id 'x' is used twice"),
    ("queries.jsonl", '{"id": "q"}', 'queries.jsonl:1: "text" must be a text, not None'),
    ("queries.jsonl", '{"id": "q", "text": " "}', "queries.jsonl:1: a question has no text"),
    ("queries.jsonl", '{"id":"q","text":"y"}\n{"id":"q","text":"z"}', "queries.jsonl:2: the id 'q' is used twice"),
    ("qrels.tsv", "q d 1", "qrels.tsv:1: expected two ids and a grade, not 'q d 1'"),
    ("qrels.tsv", "q-pool\td-pool-0\t1\nq-pool\td-pool-1\tgood", "qrels.tsv:2: expected two ids and a grade"),
    ("qrels.tsv", "q-pool\td-pool-0\tnan\nq-pool\td-pool-1\tnan", "qrels.tsv:2: expected two ids and a grade"),
    ("qrels.tsv", "q-pool\tQ0\td-pool-0\t1", "qrels.tsv:1: expected two ids and a grade"),
    ("qrels.tsv", "q\td\t1", "qrels.tsv matches no question in queries.jsonl with a document in corpus.jsonl"),
]


@pytest.mark.parametrize(("file", "text", "said"), BROKEN)
def test_an_error_is_a_sentence_with_the_place_and_what_would_be_right(folder, file, text, said):
    (folder / file).write_text(text, "utf-8")

    with pytest.raises(Invalid) as error:
        reading.read(folder)

    assert str(error.value).startswith(f"{folder}/{said}")
    assert error.value.hint or "twice" in said or "NUL" in said or "surrogate" in said


@pytest.mark.parametrize("file", ["corpus.jsonl", "queries.jsonl", "qrels.tsv"])
def test_a_file_that_is_missing_or_no_text_is_named(folder, file):
    (folder / file).write_bytes(b"\xff\xfe")
    with pytest.raises(Invalid, match=rf"{file} is not UTF-8 text: invalid start byte at byte 0"):
        reading.read(folder)

    (folder / file).unlink()
    with pytest.raises(Invalid, match=f"{file}: No such file or directory") as error:
        reading.read(folder)
    assert "corpus.jsonl, queries.jsonl and qrels.tsv" in error.value.hint


def test_a_folder_is_a_set_or_holds_some(tmp_path, folder):
    other = judged(tmp_path / "letters")
    (tmp_path / "empty").mkdir()

    assert reading.folders([folder]) == [folder]
    assert reading.folders([tmp_path, folder]) == [other, folder]
    for nothing in ("empty", "gone"):
        with pytest.raises(Invalid, match=f"there is no judged set in {tmp_path / nothing}"):
            reading.folders([tmp_path / nothing])
    with pytest.raises(Invalid, match="two sets are called notes"):
        reading.folders([folder, judged(tmp_path / "more" / "notes")])


def test_a_sample_is_always_the_same():
    asked = [Question(str(number), "what") for number in range(100)]

    assert reading.sample(asked, 10) == reading.sample(list(asked), 10)
    assert len({one.id for one in reading.sample(asked, 10)}) == 10
    assert reading.sample(asked, None) == reading.sample(asked, 200) == asked


# Keeping ----------------------------------------------------------------------


def test_a_document_is_a_memory_with_its_id_and_its_group_as_project(tmp_path):
    with opened(judged(tmp_path / "notes", groups=True)) as engine:
        kept = sorted(engine.recent(EVERYTHING, 100), key=lambda memory: memory.id)
        status = engine.status()

    assert [(document_id(memory), memory.title, memory.what, memory.project) for memory in kept] == [
        (row["id"], row["title"], row["text"], row["group"]) for row in documents(groups=True)
    ]
    assert (status.counts.queued, status.generations[0][1]) == (0, 60)


def test_a_long_text_is_found_to_its_end_and_a_long_title_is_cut(folder):
    text = "word " * 5_000 + "xylophone"
    jsonl(folder / "corpus.jsonl", [{"id": "d-pool-0", "title": "a\nb " * 100, "text": text}, {"id": "e", "text": ""}])

    with opened(folder) as engine:
        found = engine.search(Query("xylophone", mode=Mode.KEYWORD)).hits[0].memory
        long, empty = engine.details(found.id), engine.get(2)

    assert (long.body, long.memory.what, len(long.memory.title)) == (text, text[:200], 200)
    assert (empty.title, empty.what) == ("-", "")


def test_a_document_that_cannot_be_kept_is_named_with_its_line(folder):
    rows = documents()
    jsonl(folder / "corpus.jsonl", [*rows[:4], {"id": "x", "text": "<redacted>" * 2 + "x</redacted>"}, *rows[4:]])
    with pytest.raises(Invalid, match=r"corpus\.jsonl:5: "), opened(folder):
        pass

    jsonl(folder / "corpus.jsonl", [*rows, {"id": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789ABCD", "text": "x"}])
    with pytest.raises(Invalid, match=r"corpus\.jsonl:31: the id looks like a secret"), opened(folder):
        pass


def test_a_cached_store_is_made_once_and_never_mistaken_for_another(tmp_path, folder):
    cache, done = tmp_path / "cache", []

    @contextmanager
    def watch(label: str):
        yield lambda *_: done.append(label)

    for _ in "ab":
        with opened(folder, cache, watch=watch) as engine:
            assert engine.status().counts.memories == 30
    assert set(done) == {"notes: keeping", "notes: embedding", "notes: word vectors"}
    assert done.count("notes: keeping") == 1
    first = [path.name for path in cache.iterdir()]
    assert first == [f"notes-{reading.read(folder).fingerprint}"]

    with (folder / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "new", "text": "one more"}\n')
    with opened(folder, cache) as engine:
        assert engine.status().counts.memories == 31
        engine.delete(1)
    assert len(list(cache.iterdir())) == 2

    with pytest.raises(StoreError, match="does not hold the documents of notes"), opened(folder, cache):
        pass


@pytest.mark.parametrize("at", ["keeping", "embedding"])
def test_what_was_interrupted_goes_on_where_it_was(tmp_path, folder, at):
    rows = [*documents(), *({"id": f"more-{number}", "text": f"number {number}"} for number in range(600))]
    jsonl(folder / "corpus.jsonl", rows)
    config = replace(CONFIG, embedding=EmbeddingSettings(provider="hashed", model="hashed-64", batch_size=100))
    done: list[tuple[str, int]] = []

    @contextmanager
    def watch(label: str):
        def report(count: int, _total: int) -> None:
            done.append((label, count))
            if label == f"notes: {at}" and len(done) < 5:
                raise KeyboardInterrupt

        yield report

    with pytest.raises(KeyboardInterrupt), opened(folder, tmp_path / "cache", config=config, watch=watch):
        pass
    stopped = len(done)
    assert done[-1] == (f"notes: {at}", 256 if at == "keeping" else 100)

    done += [("", 0)] * 5
    with opened(folder, tmp_path / "cache", config=config, watch=watch) as engine:
        names = sorted(document_id(memory) for memory in engine.recent(EVERYTHING, 1_000))
        status = engine.status()
    assert names == sorted(str(row["id"]) for row in rows)
    assert (status.counts.queued, status.generations[0][1]) == (0, 630)
    went_on = [count for label, count in done[stopped:] if label.endswith(at)]
    assert went_on[0] == (512 if at == "keeping" else 100)
    assert went_on[-1] == (630 if at == "keeping" else 530)


def test_another_model_comes_beside_the_first_and_none_embeds_twice(tmp_path, folder):
    models = ["hashed-64", "hashed-32", "hashed-16"]
    texts = []
    for model in models * 2:
        config = replace(CONFIG, embedding=EmbeddingSettings(provider="hashed", model=model))
        with opened(folder, tmp_path / "cache", config=config) as engine:
            answer = engine.search(Query("why", mode=Mode.VECTOR))
            texts.append(sum(call.texts for call in engine.ledger() if call.purpose in ("fill", "reindex")))
            assert len(answer.hits) == 5

    assert texts[:3] == [30, 60, 90]
    assert texts[5] - texts[2] < 30


def test_only_what_a_system_needs_is_made(folder):
    with opened(folder, embeds=False) as engine:
        assert engine.status().counts.queued == 30


# Asking -----------------------------------------------------------------------


def asked(engine: Engine, name: str, asked: Sequence[Question]) -> Line:
    return line(name, asked, answers(engine, NAMED[name], asked, nobody))


def test_questions_of_a_group_are_asked_among_its_documents(tmp_path):
    found = reading.read(judged(tmp_path / "notes", groups=True))
    with opened(found.folder) as engine:
        for name in ("keywords", "vectors", "hybrid minmax", "tiered"):
            assert asked(engine, name, found.questions).quality.mrr10.mean == 1, name


def test_a_call_is_an_answer_that_needed_its_questions_vector(folder):
    found = reading.read(folder)
    twice = [*found.questions, *found.questions]  # a vector that is remembered was needed all the same
    with opened(folder) as engine:
        calls = {name: asked(engine, name, twice).calls for name in ("keywords", "vectors", "hybrid minmax", "no call")}
        always = System("always", Mode.TIERED, {"gate": "always", "distilled": "off"})
        calls["always"] = line("always", twice, answers(engine, always, twice, nobody)).calls

    assert {name: calls[name] for name in calls} == {
        "keywords": (0, 0, 0),
        "no call": (0, 0, 0),
        "vectors": (1, 1, 1),
        "hybrid minmax": (1, 1, 1),
        "always": (1, 1, 1),
    }


def test_no_system_profits_from_the_vectors_that_another_one_made(folder):
    asked = reading.read(folder).questions
    with opened(folder) as engine:
        for times in (1, 2, 3):
            answers(engine, NAMED["hybrid minmax"], asked, nobody)
            made = sum(call.texts for call in engine.ledger() if call.purpose == "search")
            assert made == times * (len(asked) + 1)  # the first is asked once more, before time is taken


def test_a_system_is_the_users_settings_but_for_what_it_changes():
    own = SearchSettings(gate="never", merge="rrf", candidates=50, vector_weight=0.1, effort=0.2, distilled="off")

    assert NAMED["no call"].settings(replace(own, profile="documented")).profile == "measured"
    assert NAMED["tiered"].settings(own) == NAMED["keywords"].settings(own) == own
    assert NAMED["hybrid minmax"].settings(own) == replace(own, merge="minmax", combined="off")
    assert NAMED["count gate"].settings(own) == replace(own, profile="documented", vector_weight=0.7)


def test_systems_are_chosen_by_name_in_the_order_of_the_table():
    assert [system.name for system in chosen(["tiered", "keywords"])] == ["keywords", "tiered"]
    with pytest.raises(Invalid, match="no system 'tired'") as error:
        chosen(["tired"])
    assert error.value.hint == "Did you mean 'tiered'?"
    with pytest.raises(Invalid, match="no system is named"):
        chosen([])


# The whole --------------------------------------------------------------------


def test_a_line_says_how_much_of_hybrid_it_is(folder):
    (found,) = evaluate([folder], Plan(CONFIG, systems=("keywords", "hybrid minmax")), unwatched).sets

    keywords, hybrid = found.lines
    assert hybrid.relative == 1
    assert keywords.relative == keywords.quality.ndcg10.mean / hybrid.quality.ndcg10.mean
    assert 0 < keywords.p50 <= keywords.p95
    (alone,) = evaluate([folder], Plan(CONFIG, systems=("keywords",)), unwatched).sets
    assert (alone.lines[0].quality, alone.lines[0].relative) == (keywords.quality, None)


def test_without_a_model_only_what_needs_none_is_measured(folder):
    none = Config(embedding=EmbeddingSettings(provider="none"))

    found = evaluate([folder], Plan(none), unwatched)

    assert [one.system for one in found.sets[0].lines] == ["keywords", "count gate", "no call", "tiered"]
    assert found.sets[0].model == ""
    assert "no model is configured" in found.notices[0].text
    with pytest.raises(Error, match="no embedder is configured"):
        evaluate([folder], Plan(none, systems=("vectors",)), unwatched)


def test_progress_ends_with_all_questions_of_all_systems(folder):
    told: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def watch(label: str):
        yield lambda done, total: told.setdefault(label, []).append((done, total))

    found = evaluate([folder], Plan(CONFIG), watch)

    total = len(THINGS) * len(SYSTEMS)
    assert told["notes: asking"] == [(done + 1, total) for done in range(total)]
    assert [one.system for one in found.sets[0].lines] == [system.name for system in SYSTEMS]
    assert len(THINGS) == found.sets[0].questions

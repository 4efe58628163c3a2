"""The newer of two notes that say the same thing, and near-duplicates."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st
from judged_asked import contradictions, named

from memory import Config, Draft, Engine, Mode, Query
from memory.evaluate.judged import read
from memory.evaluate.systems import draft
from memory.search.versions import news, same
from memory.tools.render import data, recall, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

JUDGED = Path(__file__).parents[2] / "support" / "judged" / "contradictions"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    config = Config(home=str(tmp_path))
    with Engine.open(replace(config, embedding=replace(config.embedding, provider="none"))) as engine:
        yield engine


def kept(engine: Engine, *titles: str, project: str | None = None) -> list[str]:
    return [engine.save(Draft(title=title, project=project)).memory.short_id for title in titles]


def titles(engine: Engine, question: str, **how: object) -> list[str]:
    return [hit.memory.title for hit in engine.search(Query(question, **how)).hits]  # type: ignore[arg-type]


# The texts alone -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Deploy on Fridays is forbidden", "Deploy on Fridays is allowed again"),
        ("The queue holds 100 jobs", "The queue holds 250 jobs"),
        ("Nora owns the mail service", "Piet owns the mail service now, Nora moved to search"),
        ("We keep secrets in a file", "Secrets are kept in Vault, the file was deleted"),
        ("Der Server steht in Köln", "Der Server ist nach Bonn umgezogen"),
        ("Le site est hébergé à Lyon", "Le site est maintenant hébergé à Nantes"),
        ("El servidor está en Sevilla", "El servidor está ahora en Cádiz"),
    ],
)
def test_what_denies_or_renews_is_news(older: str, newer: str) -> None:
    assert news(older, newer) >= 0.3


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The order service listens on port 8080", "The invoice service listens on port 8090"),
        ("Build 4711 passed on arm64", "Build 4712 passed on arm64"),
        ("Motor A turns clockwise", "Motor B turns counter-clockwise"),
        ("Prices for schools are without VAT", "Prices for companies are with VAT"),
        ("Lena decides about the layout", "Lena's deputy Farid decides about the wording"),
        ("Release 1.8. Shifts can be swapped", "Release 2.4. Swaps across workplaces"),
        ("The kitchen closes at ten", "Invoices need a number"),
    ],
)
def test_a_series_is_no_news(one: str, other: str) -> None:
    assert news(one, other) < 0.3
    assert news(other, one) < 0.3
    assert not same(one, other)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("Deploys go through Argo CD", "The deploys go through Argo CD.", True),
        ("The tests of the importer need a database", "Tests of the importer now need a database", False),
        (
            "The nightly tests of importer need running database",
            "Nightly tests of the importer need a running local database",
            True,
        ),
        ("Backups of the wiki are taken on Sunday", "Backups of the wiki are not taken on Sunday", False),
        ("The pool has 20 connections to the database", "The pool has 30 connections to the database", False),
        ("The client calls the server", "The server calls the client", False),
        ("Run the checks before the deploy", "Run the checks after the deploy", False),
        ("Build 4711 passed on arm64", "Build 4712 passed on arm64", False),
    ],
)
def test_the_same_words_in_the_same_order_are_the_same(one: str, other: str, alike: bool) -> None:
    assert same(one, other) is alike
    assert same(other, one) is alike


@given(st.text(), st.text())
def test_any_two_texts_are_compared(one: str, other: str) -> None:
    assert -1 <= news(one, other) <= 3
    assert same(one, other) == same(other, one)


# In an answer -----------------------------------------------------------------------


def test_the_newer_takes_the_place_of_the_older_and_says_so_and_nothing_else_moves(engine: Engine) -> None:
    old, *_ = kept(
        engine, "Backups of the ledger are kept in Oslo", "Oslo has a harbour and fog", "A castle in Oslo is open"
    )
    kept(engine, "The ledger's backups were moved to Bergen by the auditors last week")

    hits = engine.search(Query("where in Oslo are backups of the ledger kept")).hits

    assert [hit.memory.title.split()[-1] for hit in hits] == ["week", "Oslo", "open", "fog"]
    assert [hit.newer_than for hit in hits] == [old, "", "", ""]
    assert hits[0].score >= hits[1].score
    assert hits[0].relevance >= hits[1].relevance


def test_who_asks_for_a_name_is_led_to_what_the_same_sentence_says_now(engine: Engine) -> None:
    kept(engine, "Integration tests run against a mock of S3", "The S3 bucket is in Frankfurt")
    kept(engine, "Integration tests run against MinIO")

    assert titles(engine, "what do integration tests use for S3")[0].endswith("MinIO")
    assert titles(engine, "where is the S3 bucket")[0].endswith("Frankfurt")


def test_newer_is_what_was_changed_last(engine: Engine) -> None:
    kept(engine, "The queue holds 100 jobs", "The queue holds 250 jobs")
    (old, *_) = [one for one in engine.documents.recent(Query("x").scope, 5) if "100" in one.title]
    engine.now = lambda: old.updated_at + timedelta(days=1)
    engine.documents.now = engine.now
    engine.documents.update(old.short_id, title="The queue holds 100 jobs, again")

    assert titles(engine, "how many jobs does the queue hold")[0] == "The queue holds 100 jobs, again"


def test_notes_of_two_projects_are_not_compared(engine: Engine) -> None:
    kept(engine, "The queue holds 100 jobs", project="one")
    kept(engine, "The queue holds 250 jobs", project="two")

    assert not any(hit.newer_than for hit in engine.search(Query("how many jobs does the queue hold")).hits)


@pytest.mark.parametrize("name", ["agent_notes", "short_notes"])
def test_notes_that_are_saved_one_by_one_are_seldom_taken_for_versions(engine: Engine, name) -> None:
    judged = read(JUDGED.parent / name)
    for document in judged.documents:
        engine.save(draft(document))

    answers = [engine.search(Query(question.text)) for question in judged.questions]

    assert sum(any(hit.newer_than for hit in answer.hits) for answer in answers) <= len(answers) / 100


def test_near_duplicates_are_shown_once_and_leave_their_places_to_others(engine: Engine) -> None:
    doubles = ["The deploys of the shop go through Argo CD", "Our deploys of the shop go through Argo CD"]
    kept(
        engine, *doubles, "Deploys of the shop go through Argo CD.", "A shop in Rome has tea and cake", "Argo is a dog"
    )

    shown = engine.search(Query("deploys of the shop through Argo CD", 3)).hits

    assert [hit.memory.title for hit in shown][1:] == ["Argo is a dog", "A shop in Rome has tea and cake"]
    assert shown[0].memory.title == "Deploys of the shop go through Argo CD."  # the newest
    assert [hit.duplicates for hit in shown] == [2, 0, 0]
    assert shown[0].remarks == ("and 2 near-duplicates",)
    every = engine.search(Query("deploys of the shop through Argo CD", 3, duplicates=True)).hits
    assert {hit.memory.title for hit in every} == {*doubles, "Deploys of the shop go through Argo CD."}
    assert not any(hit.duplicates for hit in every)


def test_what_is_longer_or_has_details_is_not_hidden_for_its_beginning(engine: Engine) -> None:
    beginning = "The deploys of the shop go through Argo CD"
    for number in range(2):
        engine.save(
            Draft(title=beginning, what=f"{beginning}. {'Then they wait for a review of the team. ' * 10}{number}")
        )
        engine.save(Draft(title=f"{beginning}.", body=f"In stage {number} they wait"))

    hits = engine.search(Query("deploys of the shop through Argo CD")).hits

    assert len(hits) == 4
    assert not any(hit.duplicates for hit in hits)


def test_every_face_says_what_is_newer_and_how_many_are_the_same(engine: Engine) -> None:
    old, *_ = kept(engine, "API tokens expire after 24 hours", *(f"Unrelated matter {n}" for n in range(5)))
    kept(engine, "API tokens now expire after 15 minutes", "The API tokens now expire after 15 minutes.")

    found = engine.search(Query("when do API tokens expire"))

    said = f"newer than {old}", "and 1 near-duplicate"
    assert found.hits[0].remarks == said
    assert f"{said[0].capitalize()}, {said[1]}\n" in recall.answer(found, elsewhere="")
    assert all(f"({remark})" in text.answer(found) for remark in said)
    assert [(hit["newer_than"], hit["duplicates"]) for hit in data.answer(found)["hits"][:2]] == [(old, 1), (None, 0)]


def test_the_documented_profile_moves_and_hides_nothing(tmp_path: Path) -> None:
    config = Config(home=str(tmp_path))
    config = replace(config, search=replace(config.search, profile="documented"))
    with Engine.open(replace(config, embedding=replace(config.embedding, provider="none"))) as engine:
        kept(engine, "The queue holds 100 jobs", "The queue holds 250 jobs", "The queue holds 250 jobs.")

        hits = engine.search(Query("how many jobs does the queue hold")).hits

    assert len(hits) == 3
    assert not any(hit.newer_than or hit.duplicates for hit in hits)


def test_ties_go_to_what_was_saved_last(engine: Engine) -> None:
    kept(engine, "alpha one", "alpha two", "alpha six")

    assert titles(engine, "alpha") == ["alpha six", "alpha two", "alpha one"]


# At a save and in a review -------------------------------------------------------------


def test_the_older_one_is_named_at_a_save_and_in_a_review(engine: Engine) -> None:
    for n in range(5):
        kept(engine, f"Unrelated matter number {n} of the kitchen")
    old = engine.save(Draft(title="API tokens expire after 24 hours")).memory
    new = engine.save(Draft(title="API tokens now expire after 15 minutes")).memory

    told = engine.outdated(new)

    assert told is not None
    assert told.id == old.id
    assert [pair[:2] for pair in engine.renewed([old, new])] == [(old.id, new.id)]


# The judged pairs -----------------------------------------------------------------------


def first(engine: Engine, pairs: Sequence[Sequence[str]]) -> int:
    """How many questions have the newer note before the older one."""
    for place in (0, 1):
        kept(engine, *(pair[place] for pair in pairs))
    found = 0
    for older, newer, question in pairs:
        shown = titles(engine, question, mode=Mode.TIERED)
        found += newer in shown and (older not in shown or shown.index(newer) < shown.index(older))
    return found


def test_without_a_model_most_newer_notes_come_first_and_are_named_at_save(engine: Engine) -> None:
    assert first(engine, contradictions("pairs.tsv")) >= 40  # of 60


def test_without_a_model_few_different_things_are_taken_for_one(engine: Engine) -> None:
    assert named(engine, contradictions("different.tsv")) <= 10  # of 200

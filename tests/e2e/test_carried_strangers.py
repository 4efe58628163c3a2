"""What tells whether an answer fits, carried by `memory export --all` from one home to another."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from asking import config
from command import Shell
from notes_made import drafts
from provider import Provider

from memory import Config, Draft, Engine, Mode, Query
from memory.keep.jsonl import parsed
from memory.store.export import strangers_line
from memory.store.sqlite import SqliteStore
from memory.vectors.baseline import ANSWERS, STAMP, STRANGERS, take_strangers

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MANY = 15
SCHEMA = "memory.strangers/1"
LEFT_OUT = "the baseline questions of the export are not used: "
ASKED = (*STRANGERS[:3], drafts(1)[0].title)


def engine(home: Path, provider: str = "hashed", **more: Any) -> Engine:
    embedding = replace(Config().embedding, provider=provider, model="hashed-64", **more)
    return Engine.open(replace(Config(), home=str(home), embedding=embedding), lasting=False)


def shell_of(home: Path, provider: str = "hashed", model: str = "hashed-64") -> Shell:
    settings = {"MEMORY_EMBEDDING_PROVIDER": provider, "MEMORY_EMBEDDING_MODEL": model}
    return Shell(home, home.parent, settings=settings)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A home with memories and strangers."""
    with engine(tmp_path / "home") as made:
        made.save_all(drafts(MANY))
        made.embed()
        assert made.store.generations.active().strangers is not None
    return shell_of(tmp_path / "home")


@pytest.fixture
def other(shell: Shell, tmp_path: Path) -> Shell:
    return shell_of(tmp_path / "other")


def lines(exported: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in exported.splitlines()]


def judged(home: Path) -> list[tuple[str, str]]:
    with engine(home) as there:
        return [
            (found.outcome, found.worth) for found in (there.search(Query(text, mode=Mode.HYBRID)) for text in ASKED)
        ]


def test_all_of_it_arrives_exports_the_same_and_answers_the_same(shell: Shell, other: Shell) -> None:
    exported = shell("export", "--all").out

    imported = other("import", "-", "--json", stdin=exported).json

    assert (imported["kept"], imported["notices"]) == (MANY, [])
    assert other("export", "--all").out == exported
    assert [line["schema"] for line in lines(exported)].count(SCHEMA) == 1
    assert judged(other.home) == judged(shell.home)
    texts = sum(line["texts"] for line in other("ledger", "--json").json["lines"] if line["purpose"] == "probe")
    assert texts < len(STRANGERS)


def test_once_more_it_changes_nothing(shell: Shell) -> None:
    exported = shell("export", "--all").out

    again = shell("import", "-", "--json", stdin=exported).json

    assert (again["kept"], again["known"], again["notices"]) == (0, MANY, [])
    assert shell("export", "--all").out == exported


def test_without_all_an_export_is_what_every_reader_knows(shell: Shell) -> None:
    exported = shell("export").out

    assert {line["schema"] for line in lines(exported)} == {"memory.memory/1"}
    assert shell("export", "--all").out.startswith(exported)
    assert shell("export", "-o", "a.jsonl", "--json").json["strangers"] is False
    assert shell("export", "--all", "-o", "b.jsonl", "--json").json["strangers"] is True


def test_without_strangers_all_is_the_same(tmp_path: Path) -> None:
    with engine(tmp_path / "home") as made:
        made.save(Draft(title="alone", keyword_only=True))
    few = shell_of(tmp_path / "home")

    assert few("export", "--all").out == few("export").out


@pytest.mark.parametrize(
    ("provider", "model", "why"),
    [
        ("hashed", "hashed-32", "they are of hashed:hashed-64 (64 dimensions), and nothing is embedded"),
        ("none", "", "they are of hashed:hashed-64 (64 dimensions), and nothing is embedded"),
        ("openai", "hashed-64", "they are of hashed:hashed-64 (64 dimensions), and nothing is embedded"),
        ("hashed", "nothing", "the hashed provider has no model 'nothing'"),
    ],
)
def test_where_another_model_is_used_it_says_why_and_the_memories_come(shell, tmp_path, provider, model, why) -> None:
    other = shell_of(tmp_path / "other", provider, model)

    imported = other("import", "-", "--json", stdin=shell("export", "--all").out).json

    assert imported["kept"] == MANY
    assert imported["notices"][0]["text"].startswith(LEFT_OUT + why)
    assert "memory embed" in imported["notices"][0]["hint"]


def test_where_another_model_answers_already_it_says_which(shell: Shell, tmp_path: Path) -> None:
    other = shell_of(tmp_path / "other", model="hashed-32")
    other("save", "something else")

    told = other("import", "-", "--json", stdin=shell("export", "--all").out).json["notices"][0]["text"]

    assert told.endswith("and here answers hashed:hashed-32 (32 dimensions)")


@pytest.mark.parametrize(
    "changes", [{"stamp": STAMP + 1}, {"embeddings": "AACAPwAAAAA=", "dimension": 2}], ids=["texts", "number"]
)
def test_those_of_another_version_are_left_out(shell: Shell, other: Shell, changes: dict[str, Any]) -> None:
    changed = [line | (changes if line["schema"] == SCHEMA else {}) for line in lines(shell("export", "--all").out)]

    imported = other("import", "-", "--json", stdin="\n".join(map(json.dumps, changed))).json

    assert imported["notices"][0]["text"] == f"{LEFT_OUT}another version of memory has other ones"
    assert imported["kept"] == MANY


def test_a_line_that_makes_no_sense_changes_nothing(shell: Shell, other: Shell) -> None:
    changed = [
        line | ({"right": 7} if line["schema"] == SCHEMA else {}) for line in lines(shell("export", "--all").out)
    ]

    refused = other("import", "-", "--json", stdin="\n".join(map(json.dumps, changed)), code=2).error

    assert refused["message"] == f"-:{MANY + 1}: right is a cosine, from -1 to 1, not 7"
    assert other("list", "--json").json["memories"] == []


# A server ------------------------------------------------------------------------


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as one:
        yield one


def asked(provider: Provider) -> list[str]:
    return [str(text) for one in provider.seen for text in one.body["input"]]


def served(path: Path, provider: Provider) -> Engine:
    return Engine(SqliteStore(path), config("ollama", provider, fill="lazy"), lasting=False)


def test_a_server_is_not_asked_for_what_another_store_has(tmp_path: Path, provider: Provider) -> None:
    with served(tmp_path / "one.db", provider) as one:
        one.save_all(drafts(MANY))
        one.embed()
        line = strangers_line(one.store)
    with served(tmp_path / "two.db", provider) as two:
        two.save_all(drafts(MANY))
        two.search(Query("anything", mode=Mode.HYBRID))
        provider.seen.clear()

        assert take_strangers(two.store, two.vectors.embedders, line) is None
        two.embed()

        assert asked(provider) == []
        assert strangers_line(two.store) == line


def test_a_server_whose_model_was_exchanged_has_strangers_of_its_own(tmp_path: Path, provider: Provider) -> None:
    with served(tmp_path / "one.db", provider) as one:
        one.save_all(drafts(MANY))
        one.embed()
        line = strangers_line(one.store)
    provider.weights["nomic-embed-text"] = "others"
    with served(tmp_path / "two.db", provider) as two:
        two.save_all(drafts(MANY))
        two.search(Query("anything", mode=Mode.HYBRID))

        told = take_strangers(two.store, two.vectors.embedders, line)
        two.embed()

        assert told.text.startswith(f"{LEFT_OUT}they are of another model under the same name, ollama:")
        assert strangers_line(two.store).embeddings != line.embeddings
        assert sum(text.endswith(tuple(ANSWERS.values())) for text in asked(provider)) == 2 * len(ANSWERS)


def test_a_server_is_not_asked_by_an_import(tmp_path: Path, provider: Provider) -> None:
    with served(tmp_path / "one.db", provider) as one:
        one.save_all(drafts(MANY))
        one.embed()
        line = strangers_line(one.store)
    provider.seen.clear()
    with served(tmp_path / "two.db", provider) as two:
        told = take_strangers(two.store, two.vectors.embedders, line)

        assert "nothing is embedded here with that" in told.text
        assert two.store.generations.active() is None
    assert provider.seen == []


def test_a_line_of_any_store_is_parsed_again(shell: Shell) -> None:
    (line,) = (text for text in shell("export", "--all").out.splitlines() if SCHEMA in text)

    with engine(shell.home) as there:
        assert parsed(line, place="x") == strangers_line(there.store)

"""The distilled tier and what an answer is worth, as a person and an agent meet them."""

from __future__ import annotations

import json
import shutil
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from agent import ERAS, Agent
from command import Shell
from notes_made import drafts, words

from memory.config.settings import SearchSettings

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

COUNT = 500
KNOWN = " ".join([*words(1)[:3], *words(2)[:2]])
"""Each word stands in several notes, all of them in none."""
UNKNOWN = f"{words(1)[0]} unheard utterances of nobody"
EFFORT = "0.25"
"""At a half, words that the model does not know are not known well enough by so few notes for the store's own vectors to answer."""


@contextmanager
def untaught() -> Generator[None]:
    """Commands in this process that learn nothing, and use nothing of what was learned."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(SearchSettings, "distilled", "off")
        yield


@pytest.fixture(scope="session")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with notes that have vectors, and no term vectors yet."""
    folder = tmp_path_factory.mktemp("imported")
    shell = Shell(folder / "home", folder)
    lines = [json.dumps({"title": note.title, "what": note.what}) for note in drafts(COUNT)]
    with untaught():
        shell("import", "-", stdin="\n".join(lines))
        shell("embed")
    shell("config", "set", "search.effort", EFFORT)
    return shell.home


@pytest.fixture
def shell(tmp_path: Path, imported: Path) -> Shell:
    shutil.copytree(imported, tmp_path / "home")
    (tmp_path / "folder").mkdir()
    return Shell(tmp_path / "home", tmp_path / "folder")


@pytest.fixture
def taught(shell: Shell) -> Shell:
    shell("embed")
    return shell


@pytest.fixture
def large(taught: Shell) -> Shell:
    """With so many more notes that a word among many tells little."""
    lines = [json.dumps({"title": note.title, "what": note.what}) for note in drafts(400, first=COUNT)]
    taught("import", "-", stdin="\n".join(lines))
    return taught


def tier(shell: Shell, query: str = KNOWN) -> str:
    return shell("search", query, "--json").json["tier"]


def test_a_save_teaches_what_it_embeds(shell: Shell) -> None:
    new = replace(shell, home=shell.home.parent / "new")
    lines = [json.dumps({"title": note.title, "what": note.what}) for note in drafts(COUNT)]
    new("config", "set", "search.effort", EFFORT)

    new("import", "-", stdin="\n".join(lines))

    assert tier(new) == "distilled"


@pytest.mark.parametrize("command", ["embed", "reindex"])
def test_embedding_teaches_and_searching_does_not(shell: Shell, command: str) -> None:
    assert [tier(shell), tier(shell)] == ["hybrid", "hybrid"]
    with untaught():
        shell(command)
    assert tier(shell) == "hybrid"

    shell(command)

    assert tier(shell) == "distilled"
    with untaught():
        assert tier(shell) == "hybrid"


def test_an_answer_says_what_it_is_worth(taught: Shell) -> None:
    never = replace(taught, settings={"MEMORY_SEARCH_GATE": "never"})
    name, known = (taught("search", query, "--json").json for query in ("n17x", KNOWN))
    unknown = never("search", UNKNOWN, "--json").json

    assert [one["tier"] for one in (name, known, unknown)] == ["keyword", "distilled", "keyword"]
    assert (name["outcome"], unknown["outcome"]) == ("answered", "weak")
    assert all(one["worth"].startswith("the first result matches ") for one in (name, known, unknown))
    assert taught("search", "n17x", "--project", "none", "--json").json["outcome"] == "nothing_saved"
    assert "Possible matches, found by keywords in " in never("search", UNKNOWN).err


def test_explain_says_how_far_it_went_and_what_it_is_worth(taught: Shell) -> None:
    said = taught("search", KNOWN, "--explain").out

    assert "Keywords: not enough, on to the distilled tier" in said
    assert "Tier: distilled\nOutcome: " in said


@pytest.mark.parametrize("query", ["n17x", words(1)[0]])
def test_an_answer_by_keyword_needs_no_term_vectors_though_there_are_some(taught: Shell, query: str) -> None:
    assert tier(taught, query) == "keyword"

    names = taught.imports("search", query)

    assert "memory.search.gate" in names
    assert not [name for name in names if name.startswith(("numpy", "memory.vectors.term_vectors", "memory.evaluate"))]


def test_an_answer_of_the_distilled_tier_imports_neither_numpy_nor_a_model(taught: Shell) -> None:
    assert tier(taught) == "distilled"

    names = taught.imports("search", KNOWN)

    assert {name for name in names if name.startswith("memory.vectors.")} == {
        "memory.vectors.term_vectors",
    }
    heavy = ("numpy", "sqlite_vec", "pathlib", "memory.evaluate")
    assert not [name for name in names if name.startswith(heavy)]


def test_an_agent_is_told_that_nothing_relevant_is_saved(large: Shell) -> None:
    settings = {"MEMORY_SEARCH_GATE": "never", "MEMORY_CONTEXT_TOPUP_RECENT": "false"}
    with Agent(replace(large, settings=settings), ERAS[-1]) as agent:
        said = agent.said("memory_search", query=UNKNOWN, project="*")
        found = agent.call("memory_search", query="n17x", project="*")
        context = agent.call("memory_context", query=UNKNOWN, project="*")
        about = agent.call("memory_context", query="n17x", project="*")

    assert said.startswith("Nothing saved fits this. ")
    assert "which likely do not answer:\n" in said
    assert (found["outcome"], found["worth"]) == ("answered", "the first result matches 100% of the words by weight")
    assert (context["outcome"], context["memories"]) == ("nothing_relevant", [])
    assert "nothing saved seems to be about the task" in context["notices"][0]["text"]
    assert about["outcome"] == "answered"
    assert about["memories"]

"""`embedding.dimensions` refuses a model of another width, and costs nothing but the vectors."""

from __future__ import annotations

from dataclasses import replace

import pytest
from asking import config
from provider import Provider

from memory import Config, Draft, Engine, Mode, Query
from memory.config.config import load
from memory.schema.errors import Refused


def test_the_documented_variable_sets_it() -> None:
    assert load("/dev/null", env={"EMBEDDING_DIM": "384"}).embedding.dimensions == 384


def kept(settings: Config, tmp_path) -> tuple[str, type[Exception] | None]:
    """What a save says, and what a search by meaning raises."""
    with Engine.open(replace(settings, home=str(tmp_path)), key="sk-test") as engine:
        notices = engine.save(Draft(title="Pool", what="The pool has 40 connections")).notices
        assert engine.search("pool connections").hits
        try:
            engine.search(Query("something else", mode=Mode.VECTOR))
        except Refused as error:
            return " ".join(notice.text for notice in notices), type(error)
        return " ".join(notice.text for notice in notices), None


@pytest.mark.parametrize(("expected", "refused"), [(0, False), (256, False), (384, True)])
def test_a_model_of_another_width_is_refused(tmp_path, expected: int, refused: bool) -> None:
    embedding = replace(Config().embedding, provider="hashed", dimensions=expected)

    said, raised = kept(replace(Config(), embedding=embedding), tmp_path)

    assert ("256 dimensions, not 384" in said) is refused
    assert raised is (Refused if refused else None)


@pytest.mark.parametrize("name", ["ollama", "openai"])
@pytest.mark.parametrize("right", [True, False])
def test_so_is_the_model_of_a_server_once_it_has_answered(tmp_path, name: str, right: bool) -> None:
    with Provider() as provider:
        width = len(provider.vectors(config(name, provider).embedding.model, ["x"])[0])
        settings = config(name, provider, dimensions=width + (not right), fill="eager")

        said, raised = kept(settings, tmp_path)

    words = {"ollama": f"{width} dimensions, not {width + 1}", "openai": "Must be less than or equal to"}
    assert (words[name] in said) is not right
    assert raised is None if right else issubclass(raised or Exception, Refused)

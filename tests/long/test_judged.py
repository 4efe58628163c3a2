"""Judged sets put to a store with the real model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from dated import judged
from judged_asked import contradictions, named

from memory import Config, Draft, Engine, Query
from memory.vectors.local import model_folder

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(model_folder() is None, reason="the local model is not installed")


def test_questions_about_time_are_answered(tmp_path: Path, zoned: Any) -> None:
    right, plain, trapped = judged(tmp_path, "local", zoned)

    assert right >= 110  # of 120
    assert plain <= 20
    assert trapped == []


def test_with_stored_vectors_four_of_five_are_named_at_save(tmp_path: Path) -> None:
    with Engine.open(Config(home=str(tmp_path / "pairs"))) as engine:
        assert named(engine, contradictions("pairs.tsv")) >= 53  # of 60
    with Engine.open(Config(home=str(tmp_path / "different"))) as engine:
        assert named(engine, contradictions("different.tsv")) <= 10  # of 200


def test_notes_that_share_no_word_are_versions_if_each_is_nearest_to_the_other(tmp_path: Path) -> None:
    with Engine.open(Config(home=str(tmp_path))) as engine:
        old, rest, new = (
            engine.save(Draft(title=title)).memory
            for title in (
                "Parcels go out on Tuesday",
                "The lamp in the hall is broken",
                "We send packages each Friday, the courier asked for it",
            )
        )

        told, hits = engine.replaceable(new), engine.search(Query("when do parcels go out")).hits

    assert told is not None
    assert told.id == old.id
    assert [hit.memory.id for hit in hits][:2] == [new.id, old.id]
    assert hits[0].newer_than == old.short_id
    assert all(not hit.newer_than for hit in hits if hit.memory.id == rest.id)

"""The judged questions about time, asked of their notes as of the moment of each."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memory import Config, Draft, Engine, Query
from memory.schema.query import Scope

JUDGED = Path(__file__).with_name("judged") / "dated_notes"
ZONES = {"survey": "America/New_York"}


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (JUDGED / name).read_text("utf-8").splitlines()]


def opened(folder: Path, provider: str) -> Engine:
    config = Config(home=str(folder))
    return Engine.open(replace(config, embedding=replace(config.embedding, provider=provider)))


def at(engine: Engine, moment: datetime) -> None:
    engine.now = engine.documents.now = lambda: moment


def judged(folder: Path, provider: str, zoned: Any) -> tuple[int, int, list[str]]:
    """Right first of what asks for a time, with and without reading it; and traps that were read."""
    right = plain = 0
    trapped: list[str] = []
    wanted = dict(line.split("\t")[:2] for line in (JUDGED / "qrels.tsv").read_text("utf-8").splitlines()[1:])
    with opened(folder, provider) as engine:
        names = {}
        for one in lines("corpus.jsonl"):
            at(engine, datetime.fromisoformat(one["created"]))
            saved = engine.save(Draft(title=one["title"], what=one["text"], category=one["kind"], project=one["group"]))
            names[saved.memory.id] = one["id"]
            if "updated" in one:
                at(engine, datetime.fromisoformat(one["updated"]))
                engine.documents.update(saved.memory.short_id, why="Revised.")
        for one in lines("queries.jsonl"):
            zoned(ZONES.get(one["group"], "Europe/Berlin"))
            at(engine, datetime.fromisoformat(one["now"]))
            query = Query(one["text"], scope=Scope(projects=frozenset({one["group"]})))
            answer, without = engine.search(query), engine.search(replace(query, time=False))
            if one["about_time"]:
                right += [names[hit.memory.id] for hit in answer.hits[:1]] == [wanted[one["id"]]]
                plain += [names[hit.memory.id] for hit in without.hits[:1]] == [wanted[one["id"]]]
            elif [hit.memory.id for hit in answer.hits] != [hit.memory.id for hit in without.hits]:
                trapped.append(one["text"])
    return right, plain, trapped

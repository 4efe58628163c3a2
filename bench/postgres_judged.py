"""Keyword answers of a server beside those of a file, on judged sets: a part of `postgres.py`."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean
from typing import TYPE_CHECKING

from memory import Config, Draft, Engine, Mode, Query
from memory.engine.move import Move
from memory.evaluate import ndcg
from memory.schema.query import Scope
from memory.store.postgres import PostgresStore
from memory.store.sqlite import SqliteStore
from report import Figure, barred

if TYPE_CHECKING:
    from pathlib import Path

    from memory.evaluate.judged import Judged, JudgedDocument


def draft(document: JudgedDocument) -> Draft:
    title = " ".join(document.title.split())[:200] or "-"
    return Draft(
        title=title, what=document.text[:500], body=document.text, project=document.group, metadata={"id": document.id}
    )


def judged(url: str, folder: Path, one: Judged, most: int) -> list[Figure]:
    """Keyword answers of both sides: how many of the first ten are the same, and how good they are."""
    config = replace(Config(), home=str(folder), embedding=replace(Config().embedding, provider="none"))
    documents = [draft(document) for document in one.documents]
    with Engine(SqliteStore(config.database), config) as file, Engine(PostgresStore(url), config) as own:
        for first in range(0, len(documents), 500):
            file.save_all(documents[first : first + 500])
        Move.of(Config(), str(folder), url).run(lambda _done, _total: None)
        for side in (file, own):
            side.store.derive()
        shared, good = [], {"file": [], "server": []}
        for question in one.questions[:most]:
            scope = Scope(projects=frozenset({question.group})) if question.group else Scope()
            query = Query(question.text, mode=Mode.KEYWORD, scope=scope)
            found = {
                name: [str(hit.memory.metadata.get("id")) for hit in side.search(query).hits]
                for name, side in (("file", file), ("server", own))
            }
            if wanted := {*found["file"]}:
                shared.append(len(wanted & {*found["server"]}) / len(wanted))
            for name, ranking in found.items():
                good[name].append(ndcg(ranking, question.relevant, 10))
    overlap, ratio = mean(shared), mean(good["server"]) / mean(good["file"])
    note = f"nDCG@10 {mean(good['server']):.4f} and {mean(good['file']):.4f}, {len(good['file'])} questions"
    return [
        barred(
            Figure(f"{one.name}: first ten of a file", len(documents), ratio=overlap, note=note),
            "≥ .98",
            met=overlap >= 0.98,
        ),
        barred(
            Figure(f"{one.name}: nDCG@10", len(documents), ratio=ratio, beside="a file"),
            "within .5 %",
            met=abs(ratio - 1) <= 0.005,
        ),
    ]

"""A judged set for tests: thirty notes on ten things, and a question for each that one of them answers best."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

THINGS = {
    "pool": ("postgres connections", "raised", "checkout traffic"),
    "tokens": ("signed logins", "replaced", "session cookies"),
    "retries": ("failed requests", "delayed", "random jitter"),
    "cache": ("rendered pages", "stored", "regional nodes"),
    "queue": ("waiting jobs", "drained", "worker threads"),
    "backup": ("nightly snapshots", "encrypted", "cold storage"),
    "parser": ("nested brackets", "rejected", "depth limits"),
    "metrics": ("slow handlers", "counted", "dashboard panels"),
    "deploy": ("container images", "promoted", "canary hosts"),
    "search": ("keyword rankings", "merged", "vector neighbours"),
}


def documents(groups: bool = False) -> list[dict[str, Any]]:
    """Three a thing: what was done, why, and what came of it. With groups, all of them once in each of two."""
    rows = []
    for group in ("north", "south") if groups else (None,):
        for name, (what, done, by) in THINGS.items():
            texts = (
                f"The {what} were {done} because of {by}.",
                f"Nobody had looked at {what} before the outage of spring.",
                f"Since then {by} are reviewed every quarter by the platform team.",
            )
            for number, text in enumerate(texts):
                row = {"id": f"{group or 'd'}-{name}-{number}", "title": f"{name} {number}", "text": text}
                rows.append(row | ({"group": group} if group else {}))
    return rows


def questions(groups: bool = False) -> list[dict[str, Any]]:
    rows = []
    for group in ("north", "south") if groups else (None,):
        for name, (what, done, _) in THINGS.items():
            row = {"id": f"{group or 'q'}-{name}", "text": f"why were the {what} {done}"}
            rows.append(row | ({"group": group} if group else {}))
    return rows


def judgments(groups: bool = False) -> list[str]:
    lines = ["query-id\tcorpus-id\tscore"]
    for group in ("north", "south") if groups else (None,):
        for name in THINGS:
            lines.append(f"{group or 'q'}-{name}\t{group or 'd'}-{name}-0\t2")
            lines.append(f"{group or 'q'}-{name}\t{group or 'd'}-{name}-1\t1")
    return lines


def judged(folder: Path, *, groups: bool = False) -> Path:
    """Write the set; its name is the folder's."""
    folder.mkdir(parents=True)
    jsonl(folder / "corpus.jsonl", documents(groups))
    jsonl(folder / "queries.jsonl", questions(groups))
    (folder / "qrels.tsv").write_text("\n".join(judgments(groups)) + "\n", "utf-8")
    return folder


def jsonl(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")

"""
Keyword searches of a process that stays for them only and has no copy of the index, as a single command: a part of `postgres.py`.

It reads questions as JSON from its input, and prints the seconds of each step of each.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace

from memory import Config, Engine, Mode, Query
from memory.store.postgres.store import PostgresStore


def main() -> None:
    url, folder = sys.argv[1:]
    config = replace(Config(), home=folder, embedding=replace(Config().embedding, provider="none"))
    with Engine(PostgresStore(url), config, lasting=False) as engine:
        asked = [Query(text, mode=Mode.KEYWORD) for text in json.load(sys.stdin)]
        engine.search(Query("a connection, and what is read once", mode=Mode.KEYWORD))
        steps = [[step.seconds for step in engine.search(one).steps] for one in asked]
    assert "numpy" not in sys.modules  # with it, it would read postings
    json.dump(steps, sys.stdout)

"""Run by EchoVault's own Python: its vault and its database, in the folder that is named."""

import os
import sqlite3
import sys
from pathlib import Path

import pysqlite3

sys.modules["sqlite3"] = pysqlite3  # some Pythons have an SQLite that loads no extension
home = sys.argv[1]
os.environ["MEMORY_HOME"] = home

from memory.core import MemoryService  # noqa: E402  # EchoVault's package has this name too
from memory.models import RawMemoryInput  # noqa: E402

service = MemoryService(home)
DETAILS = "Context:\nThe gauge sent a reading twice when the radio link came back.\n\n### Options\n- drop the second\n- number them\n"
ids = []
for raw, project in (
    (
        RawMemoryInput(
            title="Readings carry a number",
            what="Each tide reading has a sequence number",
            why="The radio link repeats what it could not confirm",
            impact="The store drops what it has already",
            tags=["tide", "radio"],
            category="decision",
            related_files=["src/gauge.py"],
            details=DETAILS,
            source="claude-code",
        ),
        "harbour",
    ),
    (
        RawMemoryInput(
            title="Clock drift of the buoy",
            what="The buoy's clock loses two seconds a day",
            tags=["buoy"],
            category="bug",
            source="codex",
        ),
        "harbour",
    ),
    (
        RawMemoryInput(title="Charts are drawn at night", what="Rendering runs after 2 a.m.", category="context"),
        "charts",
    ),
    (
        RawMemoryInput(title="Readings are sent hourly", what="The gauge sends once an hour", category="decision"),
        "harbour",
    ),
):
    ids.append(service.save(raw, project=project)["id"])
service.archive_memory(ids[-1], reason="the gauge was replaced", superseded_by=ids[0])

service.db.conn.close()
known = sqlite3.connect(Path(home) / "index.db")
known.execute("update memories set file_path = replace(file_path, ?, '/home/keeper/.memory')", (home,))
known.commit()
known.execute("vacuum")

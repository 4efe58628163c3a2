"""Run by mcp-memory-service's own Python: its database without vectors, and its export, in the folder that is named."""

import asyncio
import sys
from pathlib import Path

import pysqlite3

sys.modules["sqlite3"] = pysqlite3  # some Pythons have an SQLite that loads no extension
folder = Path(sys.argv[1])

from mcp_memory_service.models.memory import Memory  # noqa: E402
from mcp_memory_service.storage.sqlite_vec import SqliteVecMemoryStorage  # noqa: E402
from mcp_memory_service.sync.exporter import MemoryExporter  # noqa: E402
from mcp_memory_service.utils.hashing import generate_content_hash  # noqa: E402


async def main() -> None:
    storage = SqliteVecMemoryStorage(str(folder / "sqlite_vec.db"))
    await storage.initialize()
    for text, tags, type, facts in (
        ("The gauge is read every six minutes", ["tide", "sensor"], "observation", {"unit": "min"}),
        ("Readings carry a sequence number", ["radio"], "decision", {}),
        ("The harbour has three cranes", [], "note", {}),
    ):
        hash = generate_content_hash(text)
        await storage.store(Memory(content=text, content_hash=hash, tags=tags, memory_type=type, metadata=facts))
    await storage.delete(generate_content_hash("The harbour has three cranes"))
    exporter = MemoryExporter(storage)
    exporter.storage.db_path = "/home/keeper/sqlite_vec.db"
    await exporter.export_to_json(folder / "export.json")
    storage.conn.execute("drop table memory_embeddings")  # nothing reads them, and they are most of the file
    storage.conn.commit()
    storage.conn.execute("vacuum")
    storage.conn.execute("pragma journal_mode = delete")
    storage.conn.close()


asyncio.run(main())

"""Run by mem0's own Python: its history, and what `get_all` answers, in the folder that is named."""

import json
import os
import sys
from pathlib import Path

folder = Path(sys.argv[1])
os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "not-a-key", "MEM0_DIR": str(folder / "dir")}

from mem0 import Memory  # noqa: E402
from mem0.embeddings.mock import MockEmbeddings  # noqa: E402

vectors = {"path": str(folder / "vectors"), "embedding_model_dims": 10, "on_disk": True}
memory = Memory.from_config(
    {"vector_store": {"provider": "qdrant", "config": vectors}, "history_db_path": str(folder / "history.db")}
)
memory.embedding_model = MockEmbeddings()


def add(text: str, **more: object) -> str:
    return memory.add(text, user_id="keeper", infer=False, **more)["results"][0]["id"]


first = add("The gauge is read every six minutes", metadata={"tags": ["tide"], "pier": "north"})
memory.update(first, "The gauge is read every five minutes")
add("The lamp is lit at dusk")
memory.delete(add("The harbour has three cranes"))
(folder / "export.json").write_text(json.dumps(memory.get_all(filters={"user_id": "keeper"}), indent=1) + "\n")
